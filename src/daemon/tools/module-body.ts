import type { ToolApiRequest } from '../../agent/index.ts';
import type { EncodedBody } from './downstream/encoded-body.ts';
import { formBody } from './form-body.ts';
import { isFileLike, readFormFile } from './form-file.ts';
import { formProblem } from './form-problem.ts';
import { type FormPart, multipartBody } from './multipart-body.ts';
import { queryPairs } from './openapi/parameter-styles.ts';

/** Maximum size of a body that a module sends as a form, in bytes. */
const MAX_BODY_BYTES = 8 * 1_048_576;

/**
 * The form that a module sends; undefined if its request has none.
 * @throws TypeError if the request is wrong. It is a defect of the module, so the message is for its author.
 */
export function moduleBody({ body, form, multipart }: ToolApiRequest): EncodedBody | undefined {
  if ([body, form, multipart].filter((one) => one !== undefined).length > 1)
    throw new TypeError('a request has only one of `body`, `form` and `multipart`');
  const encoded =
    form !== undefined
      ? formBody(given(form).flatMap(([name, value]) => pairsOf(`form.${name}`, name, value)))
      : multipart !== undefined
        ? multipartBody(given(multipart).flatMap(([name, value]) => partsOf(name, value)))
        : undefined;
  if (encoded !== undefined && Buffer.byteLength(encoded.content) > MAX_BODY_BYTES)
    throw new TypeError(`the form is larger than ${MAX_BODY_BYTES / 1_048_576} MiB`);
  return encoded;
}

/** A list repeats the name; the members of an object are written as `name[member]`. */
function pairsOf(place: string, name: string, value: unknown): string[] {
  const problem = formProblem(place, value);
  if (problem !== null) throw new TypeError(problem);
  const isDeep = Array.isArray(value)
    ? value.some((item) => typeof item === 'object')
    : typeof value === 'object';
  return queryPairs(
    { name, style: isDeep ? 'deepObject' : 'form', explode: true, allowReserved: false },
    value,
  );
}

function partsOf(name: string, value: unknown): FormPart[] {
  if (Array.isArray(value)) return value.flatMap((item) => partsOf(name, item));
  if (isFileLike(value)) {
    const file = readFormFile(value, MAX_BODY_BYTES);
    if (typeof file === 'string') throw new TypeError(`\`multipart.${name}\` ${file}`);
    return [{ name, ...file }];
  }
  if (typeof value === 'object' && value !== null)
    return [{ name, content: JSON.stringify(value), content_type: 'application/json' }];
  if (value === null) throw new TypeError(`\`multipart.${name}\` is null: leave it out`);
  return [{ name, content: String(value) }];
}

function given(fields: Readonly<Record<string, unknown>>): [name: string, value: unknown][] {
  return Object.entries(fields).filter(([, value]) => value !== undefined);
}
