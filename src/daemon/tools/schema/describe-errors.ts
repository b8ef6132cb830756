import type { ErrorObject } from 'ajv';
import { unescapeSegment, valueAt } from '../../syntax/json-path.ts';
import type { FormsError, TagError } from './union-keyword.ts';

const MAX_CHARACTERS = 500;
/** Maximum number of mistakes, and of the forms of a union, that are described. */
const MAX_DESCRIBED = 3;
/** Maximum number of forms that are compared. */
const MAX_COMPARED = 8;
/** With more errors than this, only the outermost one is described. Forms within forms multiply. */
const MAX_ERRORS = 20_000;

type Errors = readonly ErrorObject[];
type Path = readonly string[];

/** A mistake in the arguments. If the value fits no form of a union, `forms` has the errors of each form. */
interface Mistake {
  readonly error: ErrorObject;
  readonly forms: readonly Form[];
}

interface Form {
  readonly name: string;
  readonly errors: Errors;
}

/** What the model must correct, in at most 500 characters. */
export function describeErrors(errors: Errors, args: unknown): string {
  const read = errors.length > MAX_ERRORS ? errors.slice(-1) : errors;
  const sentences = new Set(findMistakes(read).map((mistake) => describe(mistake, args, MAX_DESCRIBED)));
  return [...sentences].slice(0, MAX_DESCRIBED).join(' ').slice(0, MAX_CHARACTERS).toWellFormed();
}

/** Finds the errors of the forms of a union, which are directly before the error of the union. */
function findMistakes(errors: Errors): Mistake[] {
  const mistakes: Mistake[] = [];
  let end = errors.length;
  while (end > 0) {
    const error = errors[--end] as ErrorObject;
    const { sizes, names } = readForms(error);
    let begin = Math.max(0, end - sizes.reduce((sum, size) => sum + size, 0));
    const first = begin;
    const forms = sizes.map((size, index) => {
      const form = { name: names[index] ?? '', errors: errors.slice(begin, Math.min(begin + size, end)) };
      begin += size;
      return form;
    });
    end = first;
    // The mistake in `then` or `else` was already found.
    if (error.keyword !== 'if')
      mistakes.unshift({ error, forms: forms.filter((form) => form.errors.length > 0) });
  }
  return mistakes;
}

function readForms({ params }: ErrorObject): FormsError {
  return 'sizes' in params ? (params as FormsError) : { sizes: [], names: [] };
}

/** @param max maximum number of forms that are described. */
function describe({ error, forms }: Mistake, args: unknown, max: number): string {
  const path = splitPath(error);
  const types = describeTypes(error, forms);
  if (isRefusedNull(error, valueAt(args, path)))
    return `${subject(path)} cannot be null. Leave it out, or give it a value${types === '' ? '' : ` of type ${types}`}.`;
  if (forms.length === 0) return describeOne(error, path);
  if (types !== '') return `${subject(path)} must be of type ${types}.`;
  return describeForms(forms, path, args, max);
}

/** What to correct in a value that fits none of these forms: in the form that the model meant, if one stands out. */
function describeForms(forms: readonly Form[], path: Path, args: unknown, max: number): string {
  const closest = forms
    .map((form) => ({ ...form, depth: Math.max(...form.errors.slice(-MAX_ERRORS).map(measureDepth)) }))
    .toSorted((one, other) => other.depth - one.depth);
  const [best, next] = closest as [(typeof closest)[0], (typeof closest)[0] | undefined];
  // The other forms differ already at the top, so this one is meant.
  const isMeant = next === undefined || (best.depth > next.depth && next.depth <= path.length + 1);
  const considered = isMeant || max === 1 ? [best] : closest.slice(0, MAX_COMPARED);
  const described = considered.map(({ name, errors }) => {
    const [mistake] = findMistakes(errors);
    return { name, sentence: mistake === undefined ? '' : describe(mistake, args, 1) };
  });
  const distinct = [...new Map(described.map((form) => [form.sentence, form])).values()];
  const [only] = distinct;
  const none = `${subject(path)} fits none of its ${forms.length} forms.`;
  if (only === undefined) return none;
  // Within a form, the innermost mistake says it all.
  if (max === 1) return best.depth > path.length ? only.sentence : none;
  if (isMeant) return `${none} The closest is ${only.name}: ${only.sentence}`;
  if (distinct.length === 1) return only.sentence;
  return [none, ...distinct.slice(0, max).map(({ name, sentence }) => `${name}: ${sentence}`)].join(' ');
}

/** How deep in the arguments the error is. In the form that the model meant, it is deeper than in other forms. */
function measureDepth({ instancePath }: ErrorObject): number {
  return instancePath.split('/').length - 1;
}

function describeOne({ keyword, params, message }: ErrorObject, path: Path): string {
  const named = (name: unknown) => `\`${showPath([...path, String(name)])}\``;
  const it = subject(path);
  switch (keyword) {
    case 'required':
      return `The argument ${named(params.missingProperty)} is missing.`;
    case 'additionalProperties':
      return `There is no argument ${named(params.additionalProperty)}.`;
    case 'unevaluatedProperties':
      return `There is no argument ${named(params.unevaluatedProperty)}.`;
    case 'type':
      return `${it} must be of type ${[params.type].flat().join(' or ')}.`;
    case 'enum':
      return `${it} must be one of ${JSON.stringify(params.allowedValues)}.`;
    case 'const':
      return `${it} must be ${JSON.stringify(params.allowedValue)}.`;
    case 'maxLength':
      return `${it} must have at most ${params.limit} characters.`;
    case 'minLength':
      return `${it} must have at least ${params.limit} characters.`;
    case 'uniqueItems':
      return `${it} must not have equal items.`;
    case 'anyOf':
    case 'oneOf': {
      const { tag, allowed } = params as Partial<TagError>;
      if (tag !== undefined) return `The argument ${named(tag)} must be one of ${JSON.stringify(allowed)}.`;
      return `${it} ${message}.`;
    }
    default:
      return `${it} ${message ?? 'cannot be used'}.`;
  }
}

function isRefusedNull({ keyword }: ErrorObject, value: unknown): boolean {
  return value === null && ['type', 'enum', 'const', 'anyOf', 'oneOf'].includes(keyword);
}

/** The types that the value may have, if nothing else is wrong with it; else an empty text. */
function describeTypes(error: ErrorObject, forms: readonly Form[]): string {
  const errors = forms.length === 0 ? [error] : forms.map((form) => form.errors.at(-1));
  const isAbout = (one?: ErrorObject) => one?.keyword === 'type' && one.instancePath === error.instancePath;
  if (!errors.every(isAbout)) return '';
  return [...new Set(errors.flatMap((one) => one?.params.type))].join(' or ');
}

function subject(path: Path): string {
  return path.length === 0 ? 'The arguments' : `The argument \`${showPath(path)}\``;
}

function showPath(path: Path): string {
  return path.map((name) => name.slice(0, 64)).join('.');
}

function splitPath({ instancePath }: ErrorObject): string[] {
  return instancePath.split('/').slice(1).map(unescapeSegment);
}
