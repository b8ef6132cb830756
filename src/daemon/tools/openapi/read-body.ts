import { describesFile } from './file-schema.ts';
import type { FoundOperation } from './find-operation.ts';
import { essenceOf, isJson } from './media-type.ts';
import { type DocumentNode, isObject } from './openapi-document.ts';
import type { ParameterStyle } from './parameter-styles.ts';
import { propertiesOf } from './properties-of.ts';

/** The argument that contains the body. */
export const BODY = 'body';

export interface RequestBody {
  readonly format: 'json' | 'form' | 'multipart';
  readonly media_type: string;
  readonly required: boolean;
  readonly description: string | null;
  /** Null if any JSON is allowed. */
  readonly schema: DocumentNode | null;
  /** The fields that the document declares, by name. */
  readonly fields: ReadonlyMap<string, FormField>;
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
  const found = preferred(types);
  if (found === undefined) {
    // A DELETE request hardly ever needs a body.
    if (method === 'DELETE' && !required) return null;
    return resolved.refuse(
      `takes a body of ${types.map(([type]) => type).join(', ') || 'no media type'}, but agentd sends only JSON and forms`,
      `an operation that takes application/json, ${FORM} or ${MULTIPART}; leave this one out of the entry`,
    );
  }
  const [type, media] = found;
  const schema = media.child('schema');
  const format = formatOf(type);
  return {
    format,
    media_type: type.includes('*') ? 'application/json' : type,
    required,
    description: resolved.text('description'),
    schema: isObject(media.value) && schema.value !== undefined ? schema : null,
    fields: readFields(media, schema),
  };
}

function preferred(types: readonly [string, DocumentNode][]): [string, DocumentNode] | undefined {
  const wanted: ((type: string) => boolean)[] = [
    (type) => type === 'application/json',
    isJson,
    (type) => type === FORM,
    (type) => type === MULTIPART,
    (type) => ['*/*', 'application/*'].includes(type),
  ];
  for (const isWanted of wanted) {
    const found = types.find(([type]) => isWanted(essenceOf(type)));
    if (found !== undefined) return found;
  }
  return undefined;
}

function formatOf(type: string): RequestBody['format'] {
  const essence = essenceOf(type);
  return essence === FORM ? 'form' : essence === MULTIPART ? 'multipart' : 'json';
}

function readFields(media: DocumentNode, schema: DocumentNode): Map<string, FormField> {
  const encoding = media.child('encoding');
  const declared = schema.value === undefined ? new Map<string, DocumentNode[]>() : propertiesOf(schema);
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
