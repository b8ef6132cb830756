import { isObject } from '../../../channel/json-object.ts';
import type { JsonSchema } from '../tool.ts';

/** Maximum size of a file that a model gives, in bytes. */
export const MAX_FILE_BYTES = 65_536;

const HINT = 'The file: its content as `text`, or as `base64` if it is not text. At most 64 KiB.';
const FILE = {
  type: 'object',
  properties: {
    text: { type: 'string', maxLength: MAX_FILE_BYTES },
    base64: { type: 'string', maxLength: 4 * Math.ceil(MAX_FILE_BYTES / 3) },
    file_name: { type: 'string', maxLength: 255 },
    content_type: { type: 'string', maxLength: 150, description: 'For example `image/png`.' },
  },
  additionalProperties: false,
};

/** Whether a model gives a value as a file, even if the file is not complete. */
export function isGivenAsFile(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && Object.keys(value).every((name) => Object.hasOwn(FILE.properties, name));
}

/** The schema of a body that is one file of one of these media types. */
export function fileSchema(content_types: readonly string[], own_description: string | null): JsonSchema {
  const { text, base64, content_type } = FILE.properties;
  const types = concreteTypes(content_types);
  const isGiven = types.length === 1 && content_types.length === 1;
  const named = types.length === content_types.length ? { type: 'string', enum: types } : content_type;
  return {
    ...FILE,
    properties: { text, base64, ...(isGiven ? {} : { content_type: named }) },
    description: withHint(own_description),
  };
}

/** Whether a schema of a document describes the content of a file (OpenAPI 3.0.4 and 3.1.1, "File Uploads"). */
export function describesFile({ type, format, contentMediaType, contentEncoding }: JsonSchema): boolean {
  const isText = type === undefined || [type].flat().includes('string');
  const isData =
    typeof contentMediaType === 'string' && contentEncoding === undefined && !/json/i.test(contentMediaType);
  return isText && (format === 'binary' || isData);
}

function withHint(description: string | null): string {
  const own = description?.trim() ?? '';
  if (own === '') return HINT;
  return `${own}${/[.!?:;)]$/.test(own) ? '' : '.'} ${HINT}`;
}

/** The schema of a form, in which each file is an object that a model can fill in. */
export function withFiles(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withFiles);
  if (!isObject(schema)) return schema;
  if (!isObject(schema.properties) && describesFile(schema)) {
    const { description } = schema;
    return { ...FILE, description: withHint(typeof description === 'string' ? description : null) };
  }
  return Object.fromEntries(Object.entries(schema).map(([name, member]) => [name, withFiles(member)]));
}

export function isJson(type: string): boolean {
  return /^(?:application|text)\/json$|^[a-z]+\/[\w.+-]+\+json$/.test(parseEssence(type));
}

/** A media type without its parameters. */
export function parseEssence(type: string): string {
  return (type.split(';', 1)[0] ?? '').trim().toLowerCase();
}

/** Whether servers read a body of this type as named fields. */
export function hasFields(type: string): boolean {
  const essence = parseEssence(type);
  return isJson(type) || essence === 'application/x-www-form-urlencoded' || essence.startsWith('multipart/');
}

/** Whether a value of this type is written as text. */
export function isText(type: string): boolean {
  return /^text\/|[+/](?:x-)?(?:xml|yaml|ndjson|jsonl|csv|graphql|sql)$/.test(parseEssence(type));
}

/** The media types without the ranges, such as `image/*`. */
export function concreteTypes(types: readonly string[]): readonly string[] {
  return types.filter((type) => !type.includes('*'));
}
