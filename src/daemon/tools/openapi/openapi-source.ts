import { relative } from 'node:path';
import { nearest } from '../../settings/nearest.ts';
import { ConfigurationError, type SettingProblem } from '../../settings/problem.ts';
import { unknownArguments } from '../confirmation/confirm-policy.ts';
import { BEARER, credentialHeader } from '../downstream/credential-form.ts';
import { checkSchema } from '../schema/compile-schema.ts';
import type { EntryLocation, OpenApiEntry, ToolEntry } from '../source-entry.ts';
import type { Tool, ToolSourceInfo } from '../tool.ts';
import { findNameProblem } from '../tool-names.ts';
import { argumentsSchema, operationArguments } from './arguments-schema.ts';
import { checkStructure } from './check-structure.ts';
import {
  DocumentProblem,
  formatPointer,
  type OpenApiDocument,
  readDocument,
  UnreadableDocument,
} from './document.ts';
import { type FoundOperation, findOperation, findOperations, operationKey } from './find-operation.ts';
import { createOpenApiTool } from './openapi-tool.ts';
import { BODY } from './read-body.ts';
import { type Operation, readOperation } from './read-operation.ts';

/**
 * The tools of an OpenAPI document: one for each of its operations that the entry lists (agentd-agent(7), "OpenAPI").
 * @throws ConfigurationError with all problems of the document.
 */
export async function loadOpenApiTools(entry: OpenApiEntry, info: ToolSourceInfo): Promise<readonly Tool[]> {
  const { tools, problems } = await readOpenApiTools(entry, info);
  if (problems.length > 0) throw new ConfigurationError(problems);
  return tools;
}

export interface ReadTools {
  tools: readonly Tool[];
  /** The problems. Each one names the entry or the operation and, if possible, the line of the document. */
  problems: readonly SettingProblem[];
}

/** Reads the document of an entry, and makes a tool of each operation that the entry lists. Opens no other file. */
export async function readOpenApiTools(entry: OpenApiEntry, info: ToolSourceInfo): Promise<ReadTools> {
  try {
    return await toolsOfDocument(await readDocument(entry.path), entry, info);
  } catch (error) {
    return { tools: [], problems: [describeUnreadable(error, entry)] };
  }
}

/** Makes a tool of each operation of a document that the entry lists. */
export async function toolsOfDocument(
  document: OpenApiDocument,
  entry: OpenApiEntry,
  info: ToolSourceInfo,
): Promise<ReadTools> {
  const problems: SettingProblem[] = [];
  const { locations } = entry;
  const listed = findListed(entry, document, problems);
  const mistakes = await checkStructure(
    document,
    listed.map(({ found }) => found),
  );
  problems.push(...mistakes.map((problem) => describe(problem, locations.document, document)));
  // If an operation does not have the form of OpenAPI, it would be misread.
  if (mistakes.length > 0) return { tools: [], problems };
  const made = listed.flatMap((one) => {
    const tool = readTool(entry, one, document, info, problems);
    return tool === undefined ? [] : [{ found: one.found, tool }];
  });
  refuseRepeatedNames(made, locations.document, problems);
  return { tools: problems.length > 0 ? [] : made.map(({ tool }) => tool), problems };
}

/** The problem of a document that could not be read. Throws any other error. */
function describeUnreadable(error: unknown, { path, locations }: OpenApiEntry): SettingProblem {
  if (error instanceof DocumentProblem)
    return describe(error, locations.document, { path, findLine: () => null });
  if (!(error instanceof UnreadableDocument)) throw error;
  const line = error.line === null ? '' : `, line ${error.line},`;
  return problemAt(locations.document, `${shownPath(path)}${line} ${error.problem}`, error.right);
}

/** @param key the key below the location that is wrong, if it is one */
function problemAt(location: EntryLocation, problem: string, right: string, key?: string): SettingProblem {
  const setting = key === undefined ? location.setting : `${location.setting}.${key}`;
  return { ...location, setting, value: null, problem, right };
}

interface ListedOperation {
  found: FoundOperation;
  options: ToolEntry;
  location: EntryLocation;
}

/** The operations that the entry lists. A name that is not in the document is a problem. */
function findListed(
  entry: OpenApiEntry,
  document: OpenApiDocument,
  problems: SettingProblem[],
): ListedOperation[] {
  const { operations, problems: unread } = findOperations(document);
  const outside = unread.filter((problem) => problem.outside !== null);
  const missing: SettingProblem[] = [];
  const listed = Object.entries(entry.operations).flatMap(([key, options]) => {
    const location = entry.locations.operations[key] ?? entry.locations.document;
    const found = findOperation(operations, key);
    if ('method' in found) return [{ found, options, location }];
    missing.push(problemAt(location, `${found.problem} ${shownPath(document.path)}`, found.right));
    return [];
  });
  if (missing.length === 0) return listed;
  // The missing operations may be in the unreadable paths. If these are in other files, nothing else needs to be said.
  const [first] = outside;
  if (first !== undefined) problems.push(leavesTheFile(first, outside.length, entry, document));
  else
    problems.push(
      ...missing,
      ...unread.map((problem) => describe(problem, entry.locations.document, document)),
    );
  return listed;
}

function leavesTheFile(
  { at, outside }: DocumentProblem,
  count: number,
  { locations }: OpenApiEntry,
  { path, findLine }: OpenApiDocument,
): SettingProblem {
  const line = findLine(at);
  const where = line === null ? '' : `, line ${line},`;
  const more = count === 1 ? '' : `, and ${count - 1} more of its paths refer to others`;
  return problemAt(
    locations.document,
    `${shownPath(path)}${where} refers to another file, \`${outside}\`${more}: only references within the document are followed`,
    'one document: bundle its files into one first',
  );
}

function readTool(
  entry: OpenApiEntry,
  { found, options, location }: ListedOperation,
  document: OpenApiDocument,
  info: ToolSourceInfo,
  problems: SettingProblem[],
): Tool | undefined {
  const form = entry.credential ?? BEARER;
  const headers = [
    credentialHeader(form),
    ...Object.keys(entry.headers).map((name) => name.toLowerCase()),
    (options.idempotency_header ?? '').toLowerCase(),
  ];
  try {
    const with_slashes = Object.entries(options.parameters ?? {}).flatMap(([name, { allow_slash }]) =>
      allow_slash ? [name] : [],
    );
    const operation = readOperation(found, {
      headers,
      cookie: 'cookie' in form ? form.cookie : null,
      with_slashes,
    });
    problems.push(
      ...unknownBindings(operation, options, location),
      ...unknownParameters(operation, options, location),
      ...changingReads(operation, options, location),
    );
    const parameters = argumentsSchema(operation, document.version, Object.keys(options.bind ?? {}));
    const tool = createOpenApiTool(entry, options, operation, { info, parameters });
    refuseInvalidSchema(tool, found);
    const wrong = findNameProblem(tool.name);
    if (wrong !== null) problems.push({ ...location, ...wrong });
    problems.push(...unconfirmable(tool, location));
    problems.push(...unknownInSummary(tool, operation, location));
    return tool;
  } catch (error) {
    if (!(error instanceof DocumentProblem)) throw error;
    problems.push(describe(error, location, document));
    return undefined;
  }
}

/** The names under `bind` of the entry that the operation does not have. */
function unknownBindings(
  operation: Operation,
  { bind }: ToolEntry,
  location: EntryLocation,
): SettingProblem[] {
  const known = operationArguments(operation);
  const right =
    known.length === 0 ? 'no binding: the operation has no parameters' : `one of ${known.join(', ')}`;
  return Object.keys(bind ?? {})
    .filter((name) => !known.includes(name))
    .map((name) => {
      const near = nearest(name, known, Math.max(2, Math.floor(name.length / 2)))?.name;
      const problem = `binds \`${name}\`, which is not a parameter of the operation`;
      return problemAt(location, problem, near === undefined ? right : `${near}? ${right}`, 'bind');
    });
}

/** The names under `parameters` of the entry that are not path parameters of the operation. */
function unknownParameters(
  { parameters }: Operation,
  options: ToolEntry,
  location: EntryLocation,
): SettingProblem[] {
  const known = parameters.flatMap(({ in: where, name }) => (where === 'path' ? [name] : []));
  return Object.keys(options.parameters ?? {})
    .filter((name) => !known.includes(name))
    .map((name) =>
      problemAt(
        location,
        `names \`${name}\`, which is not a path parameter of the operation`,
        known.length === 0 ? 'no parameters: the path has none' : `one of ${known.join(', ')}`,
        'parameters',
      ),
    );
}

/** The arguments under `confirm` of the entry that the operation does not have. */
function unconfirmable(tool: Tool, location: EntryLocation): SettingProblem[] {
  const known = Object.keys(tool.parameters.properties as object);
  const right =
    known.length === 0
      ? 'always or never: the operation has no arguments'
      : `one of ${known.join(', ')}, or a field of one of them, such as body.amount`;
  return unknownArguments(tool).map((name) =>
    problemAt(location, `names \`${name}\`, which is not an argument of the operation`, right, 'confirm'),
  );
}

/** Only a POST may be declared to read: many APIs search with it, but the other methods always change something. */
function changingReads(
  { found }: Operation,
  { effect }: ToolEntry,
  location: EntryLocation,
): SettingProblem[] {
  const { method } = found;
  if (effect !== 'read' || !['PUT', 'PATCH', 'DELETE'].includes(method)) return [];
  return [
    problemAt(
      location,
      `is \`read\`, but a ${method} request changes something`,
      '`write`, or leave it out; only a POST can be a read',
      'effect',
    ),
  ];
}

/**
 * The names in braces in the summary that the operation does not have: to a person, the question would not say what is
 * done. Parts of an argument are written with dots, such as `{body.note}`.
 */
function unknownInSummary(
  { summary }: Tool,
  operation: Operation,
  location: EntryLocation,
): SettingProblem[] {
  const listed = operationArguments(operation);
  const hasFields = listed.some((name) => name.startsWith(`${BODY}.`));
  const known = operation.body === null || hasFields ? listed : [...listed, BODY];
  const isKnown = (name: string) =>
    (name === BODY && hasFields) || known.some((one) => name === one || name.startsWith(`${one}.`));
  const names = [...(summary ?? '').matchAll(/\{([^{}]+)\}/g)].map(([, name = '']) => name);
  return [...new Set(names)]
    .filter((name) => !isKnown(name))
    .map((name) =>
      problemAt(
        location,
        `names \`{${name}}\`, which is not a parameter of the operation`,
        known.length === 0
          ? 'no name in braces: the operation has no parameters'
          : `one of ${known.join(', ')}, in braces`,
        'summary',
      ),
    );
}

/** Refuses an operation whose schema is invalid, because its calls could not be checked. */
function refuseInvalidSchema({ parameters }: Tool, { node }: FoundOperation): void {
  try {
    checkSchema(parameters);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    node.refuse(`has a schema that cannot be used: ${reason.slice(0, 300)}`, 'a valid JSON Schema');
  }
}

function refuseRepeatedNames(
  made: readonly { found: FoundOperation; tool: Tool }[],
  location: EntryLocation,
  problems: SettingProblem[],
): void {
  for (const [name, same] of Map.groupBy(made, ({ tool }) => tool.name)) {
    if (same.length === 1) continue;
    const keys = same.map(({ found }) => operationKey(found)).join(', ');
    const problem = `makes several tools with the name ${name}: ${keys}`;
    problems.push(problemAt(location, problem, '`as` for all but one of them'));
  }
}

function describe(
  { at, problem, right }: DocumentProblem,
  location: EntryLocation,
  { path, findLine }: Pick<OpenApiDocument, 'path' | 'findLine'>,
): SettingProblem {
  const line = findLine(at);
  const where = `${shownPath(path)}${line === null ? '' : `, line ${line}`}`;
  return problemAt(location, `${where}: ${formatPointer(at)} ${problem}`, right);
}

/** The path, relative to the working directory if it is below that directory. */
function shownPath(path: string): string {
  const seen = relative(process.cwd(), path);
  return seen.startsWith('..') ? path : seen;
}
