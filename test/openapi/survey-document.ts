import { basename } from 'node:path';
import { isObject } from '../../src/channel/json-object.ts';
import { describeSource } from '../../src/daemon/tools/describe-source.ts';
import { isFileLike } from '../../src/daemon/tools/downstream/form-file.ts';
import { type OpenApiDocument, readDocument } from '../../src/daemon/tools/openapi/document.ts';
import {
  type FoundOperation,
  findOperations,
  operationKey,
} from '../../src/daemon/tools/openapi/find-operation.ts';
import { readOpenApiTools, toolsOfDocument } from '../../src/daemon/tools/openapi/openapi-source.ts';
import { BODY } from '../../src/daemon/tools/openapi/read-body.ts';
import { type Operation, readOperation } from '../../src/daemon/tools/openapi/read-operation.ts';
import { admitTool } from '../../src/daemon/tools/registry.ts';
import { checkArguments } from '../../src/daemon/tools/schema/check-arguments.ts';
import { compileSchema } from '../../src/daemon/tools/schema/compile-schema.ts';
import type { OpenApiEntry, ToolEntry } from '../../src/daemon/tools/source-entry.ts';
import type { Tool } from '../../src/daemon/tools/tool.ts';
import { findNameProblem, toolName } from '../../src/daemon/tools/tool-names.ts';
import { toolTokens } from '../../src/daemon/tools/tool-size.ts';
import { PlainReading } from './plain-reading.ts';
import { type RequestExample, requestExamples } from './request-examples.ts';

/** Maximum number of examples of one document that are checked. */
const MAX_EXAMPLES = 20_000;
const API = 'https://api.example.com';
/** A value for path parameters, so that the request of an example can be built. */
const IN_PATH = '1';

/** Something that is refused, with the reason. */
export interface Refused {
  readonly operation: string;
  readonly reason: string;
}

export interface RefusedExample extends Refused {
  readonly at: string;
  /** Why Ajv alone refuses the example, too; null if it accepts it. */
  readonly plain: string | null;
}

/** What agentd makes of a document. */
export interface DocumentSurvey {
  readonly document: string;
  /** Version of OpenAPI, and of the API. */
  readonly openapi: string;
  readonly version: string;
  readonly operations: number;
  readonly tools: number;
  readonly refused: readonly Refused[];
  /** Tools that need `as`, because several operations would have their name, or it is too long. */
  readonly renamed: number;
  readonly tokens: { readonly median: number; readonly largest: number; readonly over_4000: number };
  readonly examples: {
    readonly found: number;
    readonly accepted: number;
    readonly refused: readonly RefusedExample[];
  };
  /** How long a start with all tools of the document computes, and how much memory they keep. */
  readonly start_cpu_ms: number;
  readonly heap_mib: number;
  /** How long it takes to compile the schemas of all tools, which a daemon does only for the tools that are called. */
  readonly compile_cpu_ms: number;
}

/** Reads every operation of a document as the daemon does, and checks the examples of their requests. */
export async function surveyDocument(path: string): Promise<DocumentSurvey> {
  const document = await readDocument(path);
  const { operations, problems } = findOperations(document);
  const refused: Refused[] = problems.map(({ at, problem }) => ({
    operation: at.slice(1).join(' '),
    reason: problem,
  }));
  const { made, renamed } = await toolsOfEach(document, operations, refused);
  const started = await measureStart(path, made);

  const compileStart = process.cpuUsage();
  for (const one of made) {
    const problem = problemOfSchema(one.tool);
    if (problem !== null) refused.push({ operation: operationKey(one.found), reason: problem });
  }
  const compile_cpu_ms = cpuMsSince(compileStart);

  return {
    document: basename(path).replace(/\.(?:json|ya?ml)$/, ''),
    openapi: String(document.root.child('openapi').value),
    version: String(document.root.child('info').child('version').value),
    operations: operations.length + problems.length,
    tools: operations.length + problems.length - new Set(refused.map(({ operation }) => operation)).size,
    refused,
    renamed,
    tokens: tokensOf(made.map(({ tool }) => tool)),
    examples: checkExamples(document, made),
    ...started,
    compile_cpu_ms,
  };
}

interface Made {
  readonly found: FoundOperation;
  readonly tool: Tool;
  readonly told: ToolEntry;
}

async function toolsOfEach(
  document: OpenApiDocument,
  operations: readonly FoundOperation[],
  refused: Refused[],
): Promise<{ made: readonly Made[]; renamed: number }> {
  const made: Made[] = [];
  const names = new Set<string>();
  let renamed = 0;
  for (const [index, found] of operations.entries()) {
    const key = operationKey(found);
    const read = async (told: ToolEntry) => {
      const entry = entryOf(document.path, { [key]: told });
      return await toolsOfDocument(document, entry, describeSource(entry, API));
    };
    const name = toolName('api', found.operation_id ?? key);
    const told = names.has(name) || findNameProblem(name) !== null ? { as: `tool_${index}` } : {};
    const { tools, problems } = await read(told);
    const [tool] = tools;
    if (tool === undefined) {
      for (const { problem } of problems) refused.push({ operation: key, reason: withoutPlace(problem) });
      continue;
    }
    if (told.as !== undefined) renamed++;
    names.add(name);
    made.push({ found, tool, told });
  }
  return { made, renamed };
}

/** The problem without the file, the line and the pointer, so that equal problems can be counted. */
function withoutPlace(problem: string): string {
  return problem.replace(/^.*?: #\S* /, '');
}

function entryOf(path: string, operations: OpenApiEntry['operations']): OpenApiEntry {
  const place = { setting: 'tools[0]', source: 'survey' };
  return {
    kind: 'openapi',
    location: 'tools[0]',
    name: 'api',
    path,
    base_url: API,
    headers: {},
    operations,
    locations: { document: place, operations: {} },
  };
}

/** Reads the document again with all its tools in one entry, which is what a daemon does when it starts. */
async function measureStart(
  path: string,
  made: readonly Made[],
): Promise<Pick<DocumentSurvey, 'start_cpu_ms' | 'heap_mib'>> {
  const entry = entryOf(path, Object.fromEntries(made.map(({ found, told }) => [operationKey(found), told])));
  const before = heap();
  const start = process.cpuUsage();
  const { tools, problems } = await readOpenApiTools(entry, describeSource(entry, API));
  const start_cpu_ms = cpuMsSince(start);
  if (tools.length !== made.length)
    throw new Error(
      `${tools.length} tools instead of ${made.length}: ${JSON.stringify(problems.slice(0, 3))}`,
    );
  const heap_mib = Math.round((heap() - before) / 1_048_576);
  // The tools must be alive when the memory is measured.
  if (tools.some(({ name }) => name === '')) throw new Error('a tool has no name');
  return { start_cpu_ms, heap_mib };
}

/** The computing time since then. Other processes hardly change it. */
function cpuMsSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start);
  return Math.round((user + system) / 1_000);
}

function heap(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

function problemOfSchema(tool: Tool): string | null {
  try {
    compileSchema(admitTool(tool, tool.source).parameters);
    return null;
  } catch (error) {
    return `cannot be compiled: ${String(error).slice(0, 200)}`;
  }
}

function tokensOf(tools: readonly Tool[]): DocumentSurvey['tokens'] {
  const sizes = tools.map(toolTokens).sort((a, b) => a - b);
  return {
    median: sizes[Math.floor(sizes.length / 2)] ?? 0,
    largest: sizes.at(-1) ?? 0,
    over_4000: sizes.filter((size) => size > 4_000).length,
  };
}

function checkExamples(document: OpenApiDocument, made: readonly Made[]): DocumentSurvey['examples'] {
  const plain = new PlainReading(document);
  const refused: RefusedExample[] = [];
  let found = 0;
  for (const one of made) {
    const operation = readOperation(one.found, { headers: [], cookie: null, with_slashes: [] });
    const { required: _required, ...relaxed } = one.tool.parameters;
    for (const example of requestExamples(operation, document)) {
      if (found >= MAX_EXAMPLES) break;
      found++;
      const reason = refusal({ ...one.tool, parameters: relaxed }, operation, example);
      if (reason === null) continue;
      refused.push({
        operation: operationKey(one.found),
        at: example.at,
        reason,
        plain: plain.fault(example.schema, example.value),
      });
    }
  }
  return { found, accepted: found - refused.length, refused };
}

/** Why a call with this example as its only argument is refused; null if it is not. */
function refusal(tool: Tool, operation: Operation, { property, value }: RequestExample): string | null {
  const inPath = operation.parameters.filter((parameter) => parameter.in === 'path');
  const given = property === BODY && operation.body !== null ? withFiles(value, operation.body) : value;
  const checked = checkArguments(tool.parameters, { [property]: given });
  if (!checked.ok) return checked.message;
  const filled = Object.fromEntries(inPath.map((parameter) => [parameter.property, IN_PATH]));
  return tool.unusable?.({ ...filled, ...checked.args }) ?? null;
}

/** The body as a model gives it: a file is an object. In a document, it is a text. */
function withFiles(value: unknown, { format, fields }: NonNullable<Operation['body']>): unknown {
  const asFile = (member: unknown) => (typeof member === 'string' ? { text: member } : member);
  if (format === 'file') return asFile(value);
  if (format !== 'multipart' || !isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      if (!fields.get(name)?.is_file || isFileLike(member)) return [name, member];
      return [name, Array.isArray(member) ? member.map(asFile) : asFile(member)];
    }),
  );
}
