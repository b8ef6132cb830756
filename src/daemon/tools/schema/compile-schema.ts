import { createRequire } from 'node:module';
import type { Ajv, FuncKeywordDefinition, Options, ValidateFunction } from 'ajv';
import type { JsonSchema } from '../tool.ts';
import { examineSchema, withinCpuTime } from './examine-schema.ts';
import { canonicalJson } from './read-arguments.ts';
import { unionKeyword } from './union-keyword.ts';

/**
 * How long compiling one schema may take, ms. The largest schemas of public APIs take half a second on an idle machine.
 */
const COMPILE_MS = 5_000;

/** Schemas come from other people's documents: an unknown keyword is not an error. */
const OPTIONS: Options = {
  strict: false,
  addUsedSchema: false,
  ownProperties: true,
  logger: false,
  // If definitions were copied to where they are used, a small schema could become very large code.
  inlineRefs: false,
  code: {
    // Optimized code is hardly faster, and takes three times as long to make.
    optimize: false,
    // V8 compiles a function in parentheses at once. Otherwise the first check would do it, within its time limit.
    process: (code) => code.replace(/\breturn (function validate.*)$/s, 'return ($1)'),
  },
};

/** Ajv compares each item with every other one, which takes seconds for a long list of objects. */
const UNIQUE_ITEMS: FuncKeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  validate: (isUnique: boolean, items: readonly unknown[]) =>
    !isUnique || new Set(items.map(canonicalJson)).size === items.length,
};

export interface Validator {
  readonly validate: ValidateFunction;
  /** Whether every check is certainly quick, so that it needs no time limit. */
  readonly is_quick: boolean;
}

const validators = new WeakMap<JsonSchema, Validator>();
const load = createRequire(import.meta.url);
let compilers: ReturnType<typeof createCompilers> | null = null;

/**
 * Compiles a schema. This can take a quarter of a second for a large schema.
 * @throws ExplosiveSchema, or another error if the schema cannot be used.
 */
export function compileSchema(schema: JsonSchema): Validator {
  const known = validators.get(schema);
  if (known) return known;
  const { is_quick } = examineSchema(schema);
  const { rest, dialect } = withoutDialect(schema);
  let isInterrupted = false;
  const compile = () => {
    // A compiler that was interrupted has half a schema in it.
    if (isInterrupted) compilers = null;
    isInterrupted = true;
    const compiler = loadCompilers()[dialect];
    const validate = compiler.compile(rest);
    // The compiler would keep every schema that it has compiled.
    compiler.removeSchema(rest);
    isInterrupted = false;
    return validate;
  };
  try {
    const validator = { validate: withinCpuTime(COMPILE_MS, compile), is_quick };
    validators.set(schema, validator);
    return validator;
  } catch (error) {
    compilers = null;
    throw error;
  }
}

/** Drops a compiled schema. Its functions keep the errors of their last check, which can be many. */
export function dropValidator(schema: JsonSchema): void {
  validators.delete(schema);
}

/**
 * Throws if this is not a JSON Schema, or if checking a value against it could take too long. The schema is not
 * compiled, because most operations of a large document are never called. References and patterns are not checked: they
 * are up to the author of the schema.
 * @throws ExplosiveSchema, or another error if the schema is invalid.
 */
export function checkSchema(schema: JsonSchema): void {
  examineSchema(schema);
  const { rest, dialect } = withoutDialect(schema);
  const compiler = loadCompilers()[dialect];
  if (compiler.validateSchema(rest) !== true) throw new Error(`schema is invalid: ${compiler.errorsText()}`);
}

type Dialect = 'draft7' | 'draft2020';

function withoutDialect({ $schema, ...rest }: JsonSchema): { rest: JsonSchema; dialect: Dialect } {
  const isDraft7 = typeof $schema === 'string' && /draft-0[4-7]/.test($schema);
  return { rest, dialect: isDraft7 ? 'draft7' : 'draft2020' };
}

/**
 * Loads Ajv, if no schema has been checked yet. A daemon calls this as soon as it serves: the 90 modules would slow down
 * its start, and an upgrade replaces them while it runs.
 */
export function loadCompilers(): Record<Dialect, Ajv> {
  compilers ??= createCompilers();
  return compilers;
}

function createCompilers(): Record<Dialect, Ajv> {
  const ajv = load('ajv') as typeof import('ajv');
  const { Ajv2020 } = load('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js');
  const { default: addFormats } = load('ajv-formats') as typeof import('ajv-formats');
  const prepared = (compiler: Ajv): Ajv => {
    addFormats.default(compiler);
    // Formats of OpenAPI for numbers and texts. They do not restrict the value.
    for (const format of ['int32', 'int64', 'float', 'double', 'byte', 'binary', 'password'])
      compiler.addFormat(format, true);
    for (const keyword of [unionKeyword('anyOf', ajv), unionKeyword('oneOf', ajv), UNIQUE_ITEMS]) {
      compiler.removeKeyword(keyword.keyword as string);
      compiler.addKeyword(keyword);
    }
    return compiler;
  };
  return { draft7: prepared(new ajv.Ajv(OPTIONS)), draft2020: prepared(new Ajv2020(OPTIONS)) };
}
