import { isObject } from '../../../channel/json-object.ts';

/** The style of a parameter (OpenAPI 3.0.4 and 3.1.1, "Style Values"), or `json` for a parameter with `content`. */
export type ParameterStyle =
  | 'simple'
  | 'label'
  | 'matrix'
  | 'form'
  | 'spaceDelimited'
  | 'pipeDelimited'
  | 'deepObject'
  | 'json';

export interface ParameterForm {
  readonly name: string;
  readonly style: ParameterStyle;
  readonly explode: boolean;
  /** Whether reserved characters in a query value stay unencoded, except the characters that would end the value. */
  readonly allowReserved: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

const DELIMITERS: Readonly<Record<string, string>> = { spaceDelimited: '%20', pipeDelimited: '%7C' };
/**
 * The encoded reserved characters that are decoded again. Not included are `&`, `=`, `+`, `;`, `#` and brackets, which
 * would be read as syntax of the query.
 */
const RESERVED_KEPT = /%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C)/g;

/** The percent-encoded text of a path parameter. */
export function pathText({ name, style, explode }: ParameterForm, value: unknown): string {
  if (style === 'json') return encode(JSON.stringify(value));
  const label = encode(name);
  if (Array.isArray(value)) {
    const items = value.map(encodeValue);
    if (style === 'matrix')
      return explode ? items.map((item) => `;${label}=${item}`).join('') : matrix(label, items.join(','));
    if (style === 'label') return items.length === 0 ? '' : `.${items.join(explode ? '.' : ',')}`;
    return items.join(',');
  }
  if (isObject(value)) {
    const pairs = encodedPairs(value);
    const named = pairs.map((pair) => pair.join('='));
    const flat = pairs.flat().join(',');
    if (style === 'matrix') return explode ? named.map((pair) => `;${pair}`).join('') : matrix(label, flat);
    if (style === 'label') return pairs.length === 0 ? '' : `.${explode ? named.join('.') : flat}`;
    return explode ? named.join(',') : flat;
  }
  const text = encodeValue(value);
  if (style === 'matrix') return matrix(label, text);
  return style === 'label' ? `.${text}` : text;
}

function matrix(label: string, text: string): string {
  return text === '' ? `;${label}` : `;${label}=${text}`;
}

/** The percent-encoded `name=value` pairs of a query parameter. */
export function queryPairs(form: ParameterForm, value: unknown): string[] {
  const { name, style, explode, allowReserved } = form;
  const write = (part: unknown) => {
    const encoded = encodeValue(part);
    return allowReserved ? encoded.replace(RESERVED_KEPT, decodeURIComponent) : encoded;
  };
  const pair = (key: string, text: string) => `${encode(key)}=${text}`;
  if (style === 'json') return [pair(name, encode(JSON.stringify(value)))];
  if (style === 'deepObject') return deepPairs(name, value).map(([key, part]) => pair(key, write(part)));
  const delimiter = DELIMITERS[style] ?? ',';
  if (Array.isArray(value)) {
    if (explode) return value.map((item) => pair(name, write(item)));
    return value.length === 0 ? [] : [pair(name, value.map(write).join(delimiter))];
  }
  if (isObject(value)) {
    const entries = Object.entries(value);
    if (explode) return entries.map(([key, part]) => pair(key, write(part)));
    return entries.length === 0
      ? []
      : [
          pair(
            name,
            entries.map(([key, part]) => `${encode(key)}${delimiter}${write(part)}`).join(delimiter),
          ),
        ];
  }
  return value === null ? [] : [pair(name, write(value))];
}

/** The value of a header, which is not percent-encoded. */
export function headerText({ style, explode }: ParameterForm, value: unknown): string {
  if (style === 'json') return JSON.stringify(value);
  if (Array.isArray(value)) return value.map(toText).join(',');
  if (isObject(value)) {
    const pairs = Object.entries(value).map(([key, part]) => [key, toText(part)]);
    return explode ? pairs.map((pair) => pair.join('=')).join(',') : pairs.flat().join(',');
  }
  return toText(value);
}

/**
 * The pairs of a `deepObject` parameter. OpenAPI defines only one level. Deeper objects are written in the same way.
 * Lists are written as most servers read them: `filter[tags][]=a`, with indexes if the items are objects.
 */
function deepPairs(key: string, value: unknown): [string, unknown][] {
  if (Array.isArray(value)) {
    return value.flatMap((item, index) =>
      isObject(item) || Array.isArray(item)
        ? deepPairs(`${key}[${index}]`, item)
        : [[`${key}[]`, item] as [string, unknown]],
    );
  }
  if (isObject(value))
    return Object.entries(value).flatMap(([name, part]) => deepPairs(`${key}[${name}]`, part));
  return value === null ? [] : [[key, value]];
}

function encodedPairs(value: Fields): [string, string][] {
  return Object.entries(value).map(([key, part]) => [encode(key), encodeValue(part)]);
}

/**
 * Encodes a value. A list within a list or an object is written with commas, because OpenAPI does not define its form.
 */
function encodeValue(value: unknown): string {
  return Array.isArray(value) ? value.map((item) => encode(toText(item))).join(',') : encode(toText(value));
}

function toText(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Encodes everything except the unreserved characters of RFC 3986. */
export function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** A mistake in an argument that the model can correct. The message says what is wrong, and with which argument. */
export class UnusableArgument extends Error {}
