import { createContext, Script } from 'node:vm';
import type { JsonSchema } from '../tool.ts';
import { listParts, SchemaReferences } from './schema-parts.ts';

/** Maximum number of schemas in the schema of a tool. */
const MAX_SCHEMAS = 20_000;
/** Maximum nesting depth of schemas. */
const MAX_DEPTH = 200;
/** Maximum length of a chain of schemas that are applied to the same value. */
const MAX_CHAIN = 100;
/** Maximum number of schemas that are applied to one value. */
const MAX_ALTERNATIVES = 10_000;
/** With at most this many schemas along all references, checking the largest arguments takes little time. */
const QUICK_SCHEMAS = 2_000;
/** Formats that are compared in a time that grows with the length of the text only. */
const QUICK_FORMATS = [
  'date',
  'time',
  'date-time',
  'uuid',
  'ipv4',
  'email',
  'uri',
  'uri-reference',
  'int32',
  'int64',
  'float',
  'double',
  'byte',
  'binary',
  'password',
];

/** A schema against which arguments cannot be checked in a limited time. */
export class ExplosiveSchema extends Error {
  /** @param problem completes a sentence about the schema. */
  constructor(problem: string) {
    super(problem);
    this.name = 'ExplosiveSchema';
  }
}

/**
 * Examines how much work it is to check a value against a schema, without checking anything.
 * @returns whether every check is certainly quick. Other checks need a time limit.
 * @throws ExplosiveSchema
 */
export function examineSchema(root: JsonSchema): { is_quick: boolean } {
  limitSize(root);
  const references = new SchemaReferences(root);
  const schemas = limitAlternatives(root, references);
  // The references within a schema with an identifier of its own lead elsewhere.
  const isPlain = (schema: JsonSchema) =>
    (schema === root || schema.$id === undefined) && leadsAsItSeems(schema, references);
  return {
    is_quick:
      schemas.every((schema) => isQuickSchema(schema) && isPlain(schema)) &&
      countAlong(root, references, QUICK_SCHEMAS),
  };
}

/** Limits number and depth of the schemas. */
function limitSize(root: JsonSchema): void {
  let schemas = 0;
  const visit = (schema: JsonSchema, depth: number) => {
    if (depth > MAX_DEPTH) throw new ExplosiveSchema('is nested too deeply');
    if (++schemas > MAX_SCHEMAS)
      throw new ExplosiveSchema(`is too large: it has more than ${MAX_SCHEMAS} schemas`);
    for (const part of listParts(schema)) visit(part.schema, depth + 1);
  };
  visit(root, 0);
}

/** Whether the reference of a schema, if it has one, certainly leads where it seems to lead. */
function leadsAsItSeems(schema: JsonSchema, references: SchemaReferences): boolean {
  const { $ref, $dynamicRef } = schema;
  if ($dynamicRef !== undefined) return false;
  return $ref === undefined || references.of(schema).length === 1;
}

/** Whether no keyword of the schema itself can be slow. */
function isQuickSchema({ pattern, patternProperties, format }: JsonSchema): boolean {
  const patterns = [pattern, ...Object.keys((patternProperties as object | undefined) ?? {})];
  if (patterns.some((one) => typeof one === 'string' && !isQuickPattern(one))) return false;
  return typeof format !== 'string' || QUICK_FORMATS.includes(format);
}

/**
 * Limits the number of schemas that are applied to one value. It can double with each definition that uses the next one
 * twice.
 * @returns the schema, and all schemas that it contains or refers to.
 */
function limitAlternatives(root: JsonSchema, references: SchemaReferences): JsonSchema[] {
  /** The number of schemas; null while it is being counted. */
  const counts = new Map<JsonSchema, number | null>();
  const count = (schema: JsonSchema, chain: number): number => {
    const known = counts.get(schema);
    if (known === null) throw new ExplosiveSchema('refers to itself for the same value, without end');
    if (known !== undefined) return known;
    if (chain > MAX_CHAIN)
      throw new ExplosiveSchema(`refers to schemas that refer to schemas, more than ${MAX_CHAIN} times`);
    counts.set(schema, null);
    let total = 1;
    for (const applied of references.sameValueParts(schema)) {
      total += count(applied, chain + 1);
      if (total > MAX_ALTERNATIVES)
        throw new ExplosiveSchema(`has too many alternatives: more than ${MAX_ALTERNATIVES} for one value`);
    }
    counts.set(schema, total);
    return total;
  };
  const seen = new Set<JsonSchema>();
  const pending = [root];
  for (let schema = pending.pop(); schema !== undefined; schema = pending.pop()) {
    if (seen.has(schema)) continue;
    seen.add(schema);
    count(schema, 0);
    pending.push(...listParts(schema).map((part) => part.schema), ...references.of(schema));
  }
  return [...seen];
}

/** Whether the schemas, followed along all references, are no more than `max`. They are endless if they are recursive. */
function countAlong(root: JsonSchema, references: SchemaReferences, max: number): boolean {
  let left = max;
  const visit = (schema: JsonSchema, depth: number): boolean => {
    if (--left < 0 || depth > MAX_DEPTH) return false;
    const parts = listParts(schema).filter(({ applies }) => applies !== 'definition');
    return [...parts.map((part) => part.schema), ...references.of(schema)].every((part) =>
      visit(part, depth + 1),
    );
  };
  return visit(root, 0);
}

/**
 * Whether a pattern is certainly quick. A pattern without a repetition is quick. A pattern with one repetition is quick
 * if it does not repeat a group and can begin only at the start of the text. A pattern that can begin anywhere is tried
 * at each position of the text.
 */
function isQuickPattern(source: string): boolean {
  const repetitions = source.replace(/\(\?/g, '(').match(/[*+?{]/g) ?? [];
  if (repetitions.length === 0) return true;
  const beginsOnce = source.startsWith('^') && !source.includes('|');
  return repetitions.length === 1 && beginsOnce && !/\)[*+?{]/.test(source);
}

/** Maximum number of attempts at work that gets too little processor time. */
const TRIES = 5;

interface Sandbox {
  context: { work: (() => unknown) | null };
  script: Script;
}
let sandbox: Sandbox | null = null;

/**
 * Does work of unknown length, and interrupts it after a time limit. In the thread of the event loop, only a `node:vm`
 * script can be interrupted. That takes about half a millisecond, so work that is certainly quick should be done
 * directly.
 * @param work may be interrupted anywhere, without `finally`, and then begins again if it had too little processor time.
 * @throws ExplosiveSchema
 */
export function withinCpuTime<T>(ms: number, work: () => T): T {
  sandbox ??= {
    context: createContext({ work: null }) as Sandbox['context'],
    script: new Script('work()'),
  };
  const { context, script } = sandbox;
  for (let tries = 1; ; tries++) {
    const began = process.threadCpuUsage();
    context.work = work;
    try {
      return script.runInContext(context, { timeout: ms }) as T;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
      // The limit is wall-clock time, so on a busy machine the work may hardly have run.
      if (tries === TRIES || cpuTime(began) > ms / 2)
        throw new ExplosiveSchema('takes too long to compile or to check');
    } finally {
      context.work = null;
    }
  }
}

/** CPU time of this thread since `began`, ms. */
function cpuTime(began: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(began);
  return (user + system) / 1000;
}
