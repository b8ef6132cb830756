import { isObject } from '../../../channel/json-object.ts';
import type { EncodedBody } from '../downstream/encoded-body.ts';
import { essenceOf, hasFields } from './media-type.ts';
import { BODY, type RequestBody } from './read-body.ts';
import { readFileArgument } from './read-file-argument.ts';
import { UnusableArgument } from './unusable-argument.ts';

/**
 * Writes the argument `body` as a body that is one text.
 * @throws UnusableArgument
 */
export function encodeText({ media_type }: RequestBody, value: unknown): EncodedBody {
  if (!['string', 'number', 'boolean'].includes(typeof value))
    throw new UnusableArgument(`The argument \`${BODY}\` must be a text, a number or a boolean.`);
  const content = String(value).toWellFormed();
  const needsCharset = essenceOf(media_type).startsWith('text/') && !/;\s*charset=/i.test(media_type);
  const content_type = needsCharset ? `${media_type}; charset=utf-8` : media_type;
  return { content_type, content, shown: content };
}

/**
 * Writes the argument `body` as a body that is one file. The model cannot choose a type in which servers look for fields:
 * one of them could change the method, or be a field that only another operation has.
 * @throws UnusableArgument
 */
export function encodeFile({ content_types }: RequestBody, value: unknown): EncodedBody {
  if (!isObject(value)) throw new UnusableArgument(`The argument \`${BODY}\` must be an object.`);
  const { content, content_type } = readFileArgument(BODY, value, content_types);
  if (hasFields(content_type))
    throw new UnusableArgument(`The argument \`${BODY}.content_type\` cannot be a form or JSON.`);
  return { content_type, content, shown: { content_type, bytes: content.byteLength } };
}
