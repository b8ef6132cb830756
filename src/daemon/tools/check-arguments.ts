import { createRequire } from 'node:module';
import type { Ajv, ErrorObject, Options, ValidateFunction } from 'ajv';
import { isInexact, mayBeInexact } from '../exact-json.ts';
import { boundedPattern, PatternTimeout } from './bounded-pattern.ts';
import type { JsonSchema, ToolArguments } from './tool.ts';

type Checked = { ok: true; args: ToolArguments } | { ok: false; message: string };

const MAX_MESSAGE_CHARACTERS = 500;
/** Maximum number of nulls that are removed. They are removed one by one. */
const MAX_NULLS = 100;

/** Schemas come from other people's documents: an unknown keyword is not an error. */
const OPTIONS: Options = {
  strict: false,
  addUsedSchema: false,
  ownProperties: true,
  logger: false,
  code: { regExp: boundedPattern },
};
const validators = new WeakMap<JsonSchema, ValidateFunction>();
const load = createRequire(import.meta.url);
let compilers: ReturnType<typeof createCompilers> | null = null;

/**
 * Checks the arguments that a model filled in against the whole JSON Schema of a tool. Models write null for arguments
 * that they leave out, so a null that the schema does not allow counts as an absent argument. If the arguments are
 * wrong, `message` says what the model must correct.
 */
export function checkArguments(schema: JsonSchema, given: unknown): Checked {
  let args: unknown;
  let json: string;
  try {
    // A copy, so that the checked arguments cannot change before they are sent.
    json = JSON.stringify(given ?? {}) ?? 'null';
    args = JSON.parse(json);
  } catch {
    return refused('The arguments must be JSON.');
  }
  if (!isObject(args)) return refused('The arguments must be one JSON object.');
  if (mayBeInexact(json) && hasInexact(args))
    return refused(
      'An argument has a number with too many digits: it cannot be sent exactly. Tell the person.',
    );
  const validate = validatorOf(schema);
  try {
    for (let nulls = 0; nulls <= MAX_NULLS; nulls++) {
      if (validate(args)) return { ok: true, args };
      const errors = validate.errors ?? [];
      if (!errors.some((error) => leaveOutNull(args, error))) return refused(inWords(errors));
    }
  } catch (error) {
    if (error instanceof PatternTimeout) return refused('An argument takes too long to check.');
    throw error;
  }
  return refused('The arguments have too many nulls: leave such arguments out.');
}

/** Compiles a schema. This can take a quarter of a second for a large schema. Throws if the schema cannot be used. */
export function validatorOf(schema: JsonSchema): ValidateFunction {
  const known = validators.get(schema);
  if (known) return known;
  const { compiler, rest } = compilerOf(schema);
  const validate = compiler.compile(rest);
  validators.set(schema, validate);
  return validate;
}

/**
 * Throws if this is not a JSON Schema. The schema is not compiled, because most operations of a large document are
 * never called. References and patterns are not checked: they are up to the author of the schema.
 */
export function checkSchema(schema: JsonSchema): void {
  const { compiler, rest } = compilerOf(schema);
  if (compiler.validateSchema(rest) !== true) throw new Error(`schema is invalid: ${compiler.errorsText()}`);
}

/**
 * Loads Ajv, if no schema has been checked yet. A daemon calls this as soon as it serves: the 90 modules would slow down
 * its start, and an upgrade replaces them while it runs.
 */
export function loadCompilers(): NonNullable<typeof compilers> {
  compilers ??= createCompilers();
  return compilers;
}

function compilerOf({ $schema, ...rest }: JsonSchema): { compiler: Ajv; rest: JsonSchema } {
  const compilers = loadCompilers();
  const isDraft7 = typeof $schema === 'string' && /draft-0[4-7]/.test($schema);
  return { compiler: isDraft7 ? compilers.draft7 : compilers.draft2020, rest };
}

function createCompilers() {
  const { Ajv } = load('ajv') as typeof import('ajv');
  const { Ajv2020 } = load('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js');
  const { default: addFormats } = load('ajv-formats') as typeof import('ajv-formats');
  const withFormats = (ajv: Ajv): Ajv => {
    addFormats.default(ajv);
    // Formats of OpenAPI for numbers and texts. They do not restrict the value.
    for (const format of ['int32', 'int64', 'float', 'double', 'byte', 'binary', 'password'])
      ajv.addFormat(format, true);
    return ajv;
  };
  return { draft7: withFormats(new Ajv(OPTIONS)), draft2020: withFormats(new Ajv2020(OPTIONS)) };
}

/** Removes the null that caused an error. False if the error has a different cause. */
function leaveOutNull(args: Record<string, unknown>, { instancePath }: ErrorObject): boolean {
  const path = instancePath.split('/').slice(1).map(unescaped);
  const name = path.pop();
  if (name === undefined) return false;
  let parent: unknown = args;
  for (const segment of path)
    parent = isObject(parent) || Array.isArray(parent) ? Reflect.get(parent, segment) : null;
  return isObject(parent) && parent[name] === null && Reflect.deleteProperty(parent, name);
}

function inWords(errors: readonly ErrorObject[]): string {
  const words = [...new Set(errors.map(describe))].slice(0, 3).join(' ');
  return words.slice(0, MAX_MESSAGE_CHARACTERS).toWellFormed();
}

function describe({ instancePath, keyword, params, message }: ErrorObject): string {
  const path = instancePath.split('/').slice(1).map(unescaped);
  const named = (name?: unknown) =>
    [...path, ...(name === undefined ? [] : [String(name).slice(0, 64)])].join('.');
  const it = path.length === 0 ? 'The arguments' : `The argument \`${named()}\``;
  switch (keyword) {
    case 'required':
      return `The argument \`${named(params.missingProperty)}\` is missing.`;
    case 'additionalProperties':
      return `There is no argument \`${named(params.additionalProperty)}\`.`;
    case 'unevaluatedProperties':
      return `There is no argument \`${named(params.unevaluatedProperty)}\`.`;
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
    default:
      return `${it} ${message ?? 'cannot be used'}.`;
  }
}

/** Unescapes a segment of a JSON pointer (RFC 6901, section 4). */
function unescaped(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~');
}

/**
 * Whether the value contains a number that is too large to be exact. The digits that the model wrote are already lost,
 * and the rounded number may be the id of something else.
 */
function hasInexact(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return isInexact(value);
  return Object.values(value).some(hasInexact);
}

function refused(message: string): Checked {
  return { ok: false, message };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
