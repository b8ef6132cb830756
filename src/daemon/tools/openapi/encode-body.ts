import { isObject } from '../../../channel/json-object.ts';
import {
  type EncodedBody,
  type FormPart,
  findFormProblem,
  formBody,
  multipartBody,
} from '../downstream/form-body.ts';
import { type FormFile, readFormFile } from '../downstream/form-file.ts';
import { concreteTypes, hasFields, isGivenAsFile, MAX_FILE_BYTES, parseEssence } from './media-type.ts';
import { cannotContain, checkSpread, haveSameRoot } from './parameter-root.ts';
import { type ParameterForm, queryPairs, UnusableArgument } from './parameter-styles.ts';
import { BODY, type FormField, type RequestBody } from './read-body.ts';

/** A field that the document does not declare, which a schema may allow. */
const UNDECLARED: FormField = { style: null, explode: true, content_types: [], is_file: false };

/**
 * Writes the argument `body` as a form. Every value that the model wrote is in the form, or the call is refused: a form
 * has no null, and no empty list or object.
 * @throws UnusableArgument
 */
export function encodeFields({ format, fields }: RequestBody, value: unknown): EncodedBody {
  if (!isObject(value)) throw new UnusableArgument(`The argument \`${BODY}\` must be an object.`);
  checkNames(fields, Object.keys(value));
  const members = Object.entries(value).map(([name, member]) => {
    const field = fields.get(name) ?? UNDECLARED;
    return { name, member, field, form: chooseForm(name, field, member) };
  });
  const names = [...fields.keys(), ...Object.keys(value)];
  for (const { name, form, member } of members) checkSpread(form, `${BODY}.${name}`, member, names);
  if (format === 'multipart') return multipartBody(members.flatMap(encodeParts));
  for (const { name, member, form } of members) if (form.style !== 'json') checkComplete(name, member);
  return formBody(members.flatMap(({ form, member }) => queryPairs(form, member)));
}

interface Member {
  name: string;
  member: unknown;
  field: FormField;
  form: ParameterForm;
}

/** The style of a field. Without one in the document, an object is written as JSON, and a list repeats the name. */
function chooseForm(name: string, { style, explode }: FormField, value: unknown): ParameterForm {
  return { name, style: style ?? (isObject(value) ? 'json' : 'form'), explode, allowReserved: false };
}

/** A field that the document does not declare must not replace one that it declares, which may be bound. */
function checkNames(fields: RequestBody['fields'], given: readonly string[]): void {
  const declared = [...fields.keys()];
  const other = given.find(
    (name) => !fields.has(name) && declared.some((known) => haveSameRoot(known, name)),
  );
  if (other !== undefined) throw cannotContain(BODY, other);
}

function checkComplete(name: string, value: unknown): void {
  const problem = findFormProblem(`${BODY}.${name}`, value);
  if (problem !== null) throw new UnusableArgument(`The argument ${problem}.`);
}

function encodeParts(one: Member): FormPart[] {
  const { name, member, field, form } = one;
  const path = `${BODY}.${name}`;
  const { is_file, content_types } = field;
  if (is_file && isGivenAsFile(member)) return [{ name, ...readFileArgument(path, member, content_types) }];
  if (is_file && Array.isArray(member) && member.length > 0 && member.every(isGivenAsFile))
    return member.map((file, at) => ({ name, ...readFileArgument(`${path}.${at}`, file, content_types) }));
  if (form.style === 'json')
    return [{ name, content: JSON.stringify(member), content_type: content_types[0] ?? 'application/json' }];
  checkComplete(name, member);
  // The encoded pairs are decoded again, since a part has no encoding.
  const type = concreteTypes(content_types)[0];
  return queryPairs(form, member).map((pair) => {
    const [key = '', text = ''] = pair.split('=').map(decodeURIComponent);
    return { name: key, content: text, ...(type === undefined ? {} : { content_type: type }) };
  });
}

/**
 * Reads a file that a model gives.
 * @param path the name of the argument, for messages.
 * @param content_types the media types that the document allows; any if there are none.
 * @throws UnusableArgument
 */
function readFileArgument(
  path: string,
  value: Readonly<Record<string, unknown>>,
  content_types: readonly string[],
): FormFile {
  const file = readFormFile(value, MAX_FILE_BYTES, concreteTypes(content_types)[0]);
  if (typeof file === 'string') throw new UnusableArgument(`The argument \`${path}\` ${file}.`);
  if (!isAllowed(file.content_type, content_types))
    throw new UnusableArgument(
      `The argument \`${path}.content_type\` must be one of ${content_types.join(', ')}.`,
    );
  return file;
}

function isAllowed(type: string, allowed: readonly string[]): boolean {
  const essence = parseEssence(type);
  return (
    allowed.length === 0 ||
    allowed.some((one) => {
      const known = parseEssence(one);
      return (
        known === '*/*' ||
        known === essence ||
        (known.endsWith('/*') && essence.startsWith(known.slice(0, -1)))
      );
    })
  );
}

/**
 * Writes the argument `body` as a body that is one text.
 * @throws UnusableArgument
 */
export function encodeText({ media_type }: RequestBody, value: unknown): EncodedBody {
  if (!['string', 'number', 'boolean'].includes(typeof value))
    throw new UnusableArgument(`The argument \`${BODY}\` must be a text, a number or a boolean.`);
  const content = String(value).toWellFormed();
  const needsCharset = parseEssence(media_type).startsWith('text/') && !/;\s*charset=/i.test(media_type);
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
