import type { SettingRecord, SettingValue } from '../../channel/index.ts';
import { isObject, jsonObjectOrNull } from '../../channel/json-object.ts';
import type { KnownRecord } from './records/record.ts';
import { Secret } from './secret.ts';

/** A value after validation, or what is wrong with it. */
type Reading = { ok: true; value: SettingValue } | { ok: false; problem: string };

const TRUE = ['true', 'yes', 'on', '1'];
const FALSE = ['false', 'no', 'off', '0'];

/**
 * Checks one value against its record. In the environment all values are strings; in a configuration file numbers,
 * booleans and lists may be native. Secrets are returned as `Secret`.
 */
export function readValue(record: KnownRecord, raw: unknown): Reading {
  const reading = readPlain(record, raw);
  if (!reading.ok || !record.secret) return reading;
  // White space may belong to a secret, so no character is removed.
  return { ok: true, value: new Secret(typeof raw === 'string' ? raw : String(reading.value)) };
}

/** What a value of this record looks like, in words. */
export function rightForm(record: KnownRecord): string {
  switch (record.kind) {
    case 'string':
      if (record.json) return 'a JSON object; in the configuration file, also an object';
      if (record.several) return 'a string, or several: one per line, or a list in the configuration file';
      return record.pattern ? `a string of the form ${record.pattern.source}` : 'a string';
    case 'integer':
    case 'number': {
      const what = record.kind === 'integer' ? 'a whole number' : 'a number';
      return `${what} from ${record.min} to ${record.max}${record.unit ? `, in ${record.unit}` : ''}`;
    }
    case 'boolean':
      return 'true or false (also yes/no, on/off, 1/0)';
    case 'choice':
      return record.choices.length === 1 ? `${record.choices[0]}` : `one of ${record.choices.join(', ')}`;
    case 'list':
      return 'a list, separated by commas';
    case 'url':
      return rightUrl(record);
  }
}

function readPlain(record: KnownRecord, raw: unknown): Reading {
  switch (record.kind) {
    case 'string':
      return readText(record, asText(record, raw));
    case 'integer':
    case 'number':
      return readNumber(record, raw);
    case 'boolean':
      return readBoolean(raw);
    case 'choice':
      return readChoice(record, raw);
    case 'list':
      return readList(raw);
    case 'url':
      return readUrl(record, raw);
  }
}

function readText({ pattern, json }: { pattern?: RegExp; json?: boolean }, raw: unknown): Reading {
  // `0123` and `1e3` mean one thing as a number and another as a string, so a string must be in quotes.
  if (typeof raw === 'number' || typeof raw === 'boolean')
    return wrong(`is a ${typeof raw}; put it in quotes`);
  if (typeof raw !== 'string') return wrong('is not a string');
  const value = raw.trim();
  if (pattern && !new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, '')).test(value)) {
    return wrong('does not have the right form');
  }
  if (json && jsonObjectOrNull(value) === null) return wrong('is not a JSON object');
  return { ok: true, value };
}

/** A list or an object of a configuration file as the text that it stands for. */
function asText({ several, json }: Extract<KnownRecord, { kind: 'string' }>, raw: unknown): unknown {
  if (several && Array.isArray(raw)) return joinLines(raw);
  return json && isObject(raw) ? JSON.stringify(raw) : raw;
}

/** The list as it would be written in lines; unchanged if an item is not a string. */
function joinLines(items: readonly unknown[]): unknown {
  return items.length > 0 && items.every((item) => typeof item === 'string') ? items.join('\n') : items;
}

function readNumber({ kind, min, max }: { kind: string; min: number; max: number }, raw: unknown): Reading {
  const isWhole = kind === 'integer';
  const written = isWhole ? /^\s*-?\d+\s*$/ : /^\s*-?\d+(\.\d+)?\s*$/;
  const value = typeof raw === 'string' && written.test(raw) ? Number(raw) : raw;
  if (typeof value !== 'number' || !(isWhole ? Number.isInteger(value) : Number.isFinite(value)))
    return wrong(isWhole ? 'is not a whole number' : 'is not a number');
  if (value < min) return wrong(`is less than ${min}`);
  if (value > max) return wrong(`is more than ${max}`);
  return { ok: true, value };
}

function readBoolean(raw: unknown): Reading {
  const word = String(raw).trim().toLowerCase();
  if (TRUE.includes(word)) return { ok: true, value: true };
  if (FALSE.includes(word)) return { ok: true, value: false };
  return wrong('is neither true nor false');
}

function readChoice(
  { choices, synonyms = {} }: { choices: readonly string[]; synonyms?: Readonly<Record<string, string>> },
  raw: unknown,
): Reading {
  if (typeof raw !== 'string') return wrong('is not a string');
  const word = raw.trim().toUpperCase();
  const value = choices.find((choice) =>
    [word, synonyms[word]?.toUpperCase()].includes(choice.toUpperCase()),
  );
  return value === undefined ? wrong('is not one of the known values') : { ok: true, value };
}

function readList(raw: unknown): Reading {
  const items: unknown[] = Array.isArray(raw) ? raw : typeof raw === 'string' ? raw.split(',') : [raw];
  if (!items.every((item) => typeof item === 'string')) return wrong('is not a list of strings');
  return { ok: true, value: items.map((item) => item.trim()).filter((item) => item !== '') };
}

function readUrl(parts: UrlParts, raw: unknown): Reading {
  const text = typeof raw === 'string' ? raw.trim() : '';
  const problem = URL.canParse(text) ? findUrlProblem(text, parts) : 'is not an address';
  return problem === null ? { ok: true, value: text } : wrong(problem);
}

/** What an address may have. */
type UrlParts = Pick<KnownRecord, 'query' | 'fragment'>;

/** The right form of an address. */
export function rightUrl({ query, fragment }: UrlParts): string {
  const refused = ['credentials', ...(query ? [] : ['query']), ...(fragment ? [] : ['fragment'])];
  return `an http or https address without ${new Intl.ListFormat('en-GB').format(refused)}`;
}

/** What is wrong with an address; null if nothing is. */
export function findUrlProblem(text: string, { query, fragment }: UrlParts): string | null {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return 'is not an http or https address';
  if (url.username !== '' || url.password !== '') return 'contains credentials';
  if (text.includes('#') && !fragment) return 'has a fragment (#)';
  return text.includes('?') && !query ? 'has a query (?)' : null;
}

function wrong(problem: string): Reading {
  return { ok: false, problem };
}

/** Maximum number of characters of a value that a problem or a table shows. */
const SHOWN_MAX = 200;

/** Shown instead of a secret. */
export const SECRET_SHOWN = '[secret]';

/** A value as people may see it, after validation or as it was given. Undefined is shown as `-`. */
export function show(
  record: Pick<SettingRecord, 'secret'>,
  value: SettingValue | undefined | unknown,
): string {
  if (value === undefined) return '-';
  if (record.secret) return SECRET_SHOWN;
  const text =
    typeof value === 'string'
      ? value
      : Array.isArray(value) && value.every((item) => typeof item === 'string')
        ? value.join(',')
        : JSON.stringify(value);
  return cutShown(withoutSecrets(text));
}

/**
 * The value of a setting that is not a secret, without secrets that it should not contain: the credentials of an
 * address, or a private key. They are not shown even if the value is refused because of them.
 */
export function withoutSecrets(text: string): string {
  return text
    .replace(/(\w:\/\/)[^/?#@\s]*@/g, '$1[secret]@')
    .replace(/-----BEGIN [A-Z ]*PRIVATE KEY-----.*/s, SECRET_SHOWN);
}

function cutShown(text: string): string {
  const characters = [...text];
  return characters.length > SHOWN_MAX ? `${characters.slice(0, SHOWN_MAX).join('')}…` : text;
}
