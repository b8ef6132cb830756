import { isObject } from '../../../channel/json-object.ts';
import type { DocumentNode } from './document.ts';
import type { FoundOperation } from './find-operation.ts';
import { describesFile, hasFields, isJson, isText, parseEssence } from './media-type.ts';
import type { ParameterStyle } from './parameter-styles.ts';

/** The argument that contains the body. */
export const BODY = 'body';

export interface RequestBody {
  /** `text` and `file`: the whole body is one text or one file. */
  readonly format: 'json' | 'form' | 'multipart' | 'text' | 'file';
  readonly media_type: string;
  readonly required: boolean;
  readonly description: string | null;
  /** Null if any JSON is allowed. */
  readonly schema: DocumentNode | null;
  /** The fields that the document declares, by name. */
  readonly fields: ReadonlyMap<string, FormField>;
  /** The media types that the document allows for a file. */
  readonly content_types: readonly string[];
}

/** A field of a form, and how its value is written. */
export interface FormField {
  /** Null if the document does not say: then the value decides (OpenAPI 3.0.4 and 3.1.1, "Encoding Object"). */
  readonly style: ParameterStyle | null;
  readonly explode: boolean;
  /** The media types that the document allows for the field. */
  readonly content_types: readonly string[];
  readonly is_file: boolean;
}

const FORM = 'application/x-www-form-urlencoded';
const MULTIPART = 'multipart/form-data';
const SCALARS = ['string', 'number', 'integer', 'boolean'];
const FORM_STYLES: readonly ParameterStyle[] = ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'];

/**
 * Reads the body of an operation; null if it has none.
 * @throws DocumentProblem if the body has a type that agentd cannot send.
 */
export function readBody({ method, node }: FoundOperation): RequestBody | null {
  const body = node.child('requestBody');
  if (body.value === undefined) return null;
  const resolved = body.resolved();
  const required = resolved.child('required').value === true;
  if (method === 'GET' || method === 'HEAD') {
    if (required)
      resolved.refuse(
        `requires a body, which a ${method} request does not have`,
        'an operation without a body',
      );
    return null;
  }
  const types = resolved.child('content').members();
  const found = prefer(types);
  if (found === undefined) {
    // A DELETE request hardly ever needs a body.
    if (method === 'DELETE' && !required) return null;
    return resolved.refuse(
      `takes a body of ${types.map(([type]) => type).join(', ') || 'no media type'}, but agentd sends objects only as JSON and forms`,
      `an operation that takes application/json, ${FORM} or ${MULTIPART}; leave this one out of the entry`,
    );
  }
  const [type, media, format] = found;
  if (method === 'DELETE' && !required && (format === 'text' || format === 'file')) return null;
  const schema = media.child('schema');
  const files = format === 'file' ? types.filter(([type, media]) => mayBeOneFile(type, media)) : [];
  return {
    format,
    media_type: type.includes('*') ? (format === 'text' ? 'text/plain' : 'application/json') : type,
    required,
    description: resolved.text('description'),
    schema: isObject(media.value) && schema.value !== undefined ? schema : null,
    fields: readFields(media, schema),
    content_types: files.map(([type]) => type),
  };
}

type Format = RequestBody['format'];

/** The formats in the order of preference, and what has them. A format can be there twice. */
const FORMATS: readonly [format: Format, isOf: (type: string, media: DocumentNode) => boolean][] = [
  ['json', (type) => parseEssence(type) === 'application/json'],
  ['json', isJson],
  ['form', (type) => parseEssence(type) === FORM],
  ['multipart', (type) => parseEssence(type) === MULTIPART],
  ['json', (type, media) => ['*/*', 'application/*'].includes(parseEssence(type)) && !isOneFile(media)],
  ['text', (type, media) => isText(type) && isOneValue(media) && !isOneFile(media)],
  ['file', mayBeOneFile],
];

function prefer(types: readonly [string, DocumentNode][]): [string, DocumentNode, Format] | undefined {
  for (const [format, matches] of FORMATS) {
    const found = types.find(([type, media]) => matches(type, media));
    if (found !== undefined) return [...found, format];
  }
  return undefined;
}

/** Whether a body of this type can be one file. The parts of `multipart/mixed` and the like have a form of their own. */
function mayBeOneFile(type: string, media: DocumentNode): boolean {
  return !hasFields(type) && isOneValue(media);
}

/** Whether a body is a text, or one value that is written as text, and no object or list. */
function isOneValue(media: DocumentNode): boolean {
  const schema = media.child('schema').resolved();
  if (!isObject(schema.value)) return true;
  const { type, items } = schema.value;
  if (type === undefined) return items === undefined && collectProperties(schema).size === 0;
  return [type].flat().some((one) => SCALARS.includes(one as string));
}

/** Whether a body is the content of a file. It may be described as base64, which is not how it is sent. */
function isOneFile(media: DocumentNode): boolean {
  const { value } = media.child('schema').resolved();
  return isObject(value) && (describesFile(value) || value.format === 'byte');
}

function readFields(media: DocumentNode, schema: DocumentNode): Map<string, FormField> {
  const encoding = media.child('encoding');
  const declared = schema.value === undefined ? new Map<string, DocumentNode[]>() : collectProperties(schema);
  const names = new Set([...declared.keys(), ...encoding.members().map(([name]) => name)]);
  return new Map([...names].map((name) => [name, readField(encoding.child(name), declared.get(name) ?? [])]));
}

function readField(encoding: DocumentNode, schemas: readonly DocumentNode[]): FormField {
  const content_types = (encoding.text('contentType') ?? '')
    .split(',')
    .map((type) => type.trim())
    .filter((type) => type !== '');
  const styled = ['style', 'explode', 'allowReserved'].some((key) => encoding.child(key).value !== undefined);
  const style = styled ? ((encoding.text('style') ?? 'form') as ParameterStyle) : null;
  if (style !== null && !FORM_STYLES.includes(style))
    encoding.refuse(`has the style \`${style}\``, `one of ${FORM_STYLES.join(', ')}`);
  const explode = encoding.child('explode').value;
  const is_file = schemas.some((schema) => mayBeFile(schema, new Set()));
  const isJsonField = style === null && content_types.length > 0 && content_types.every(isJson);
  return {
    style: isJsonField ? 'json' : style,
    explode: typeof explode === 'boolean' ? explode : style === null || style === 'form',
    content_types,
    is_file,
  };
}

/** Whether a value of this schema can be a file or a list of files. */
function mayBeFile(node: DocumentNode, seen: Set<string>): boolean {
  const schema = node.resolved();
  const { value } = schema;
  if (seen.has(schema.pointer) || !isObject(value)) return false;
  seen.add(schema.pointer);
  if (!isObject(value.properties) && describesFile(value)) return true;
  if (isObject(value.items) && mayBeFile(schema.child('items'), seen)) return true;
  return ['allOf', 'anyOf', 'oneOf'].some((list) =>
    schema
      .child(list)
      .items()
      .some((branch) => mayBeFile(branch, seen)),
  );
}

/** Maximum number of schemas that together describe the fields of a body. */
const MAX_FORMS = 2_000;

/** The schemas of each property that an object can have in any of the forms that its schema allows, by name. */
export function collectProperties(schema: DocumentNode): ReadonlyMap<string, readonly DocumentNode[]> {
  const found = new Map<string, DocumentNode[]>();
  collect(schema, found, new Set());
  return found;
}

function collect(node: DocumentNode, found: Map<string, DocumentNode[]>, seen: Set<string>): void {
  const schema = node.resolved();
  if (seen.has(schema.pointer)) return;
  seen.add(schema.pointer);
  if (seen.size > MAX_FORMS)
    schema.refuse('is part of a body with too many forms', 'a body with fewer forms');
  for (const [name, member] of schema.child('properties').members())
    found.set(name, [...(found.get(name) ?? []), member]);
  for (const list of ['allOf', 'anyOf', 'oneOf'])
    for (const branch of schema.child(list).items()) collect(branch, found, seen);
}
