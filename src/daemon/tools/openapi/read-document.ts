import { readFile, stat } from 'node:fs/promises';
import { CORE_SCHEMA, load, mergeTag, YAMLException } from 'js-yaml';
import { isObject } from '../../../channel/json-object.ts';
import { treeFault } from '../../syntax/json.ts';
import { linesOf } from '../../syntax/yaml-lines.ts';
import { DocumentNode, DocumentProblem, type OpenApiDocument } from './openapi-document.ts';

/** Maximum size of a document. The largest documents of public APIs have about 12 MB. */
const MAX_BYTES = 64 * 1_048_576;
const MAX_DEPTH = 500;
/** Maximum number of values, more than a document of `MAX_BYTES` usually has. Aliases can repeat values without end. */
const MAX_VALUES = 10_000_000;
const RIGHT = 'an OpenAPI document of version 3.0 or 3.1, JSON or YAML';
const SCHEMA = CORE_SCHEMA.withTags(mergeTag);

/** The document cannot be read. `line` is the line of the mistake; null if it is not known. */
export class UnreadableDocument extends Error {
  readonly problem: string;
  readonly line: number | null;
  readonly right: string;

  constructor(problem: string, line: number | null = null, right = RIGHT) {
    super(problem);
    this.name = 'UnreadableDocument';
    this.problem = problem;
    this.line = line;
    this.right = right;
  }
}

/**
 * Reads an OpenAPI document from this file. It reads no other file.
 * @throws UnreadableDocument; DocumentProblem if the version is not supported.
 */
export async function readDocument(path: string): Promise<OpenApiDocument> {
  const text = await readText(path);
  const value = parse(text);
  const fault = treeFault(value, MAX_VALUES);
  if (fault !== null) throw new UnreadableDocument(fault);
  const lineOf = linesOf(text);
  if (!isObject(value)) throw new UnreadableDocument('is not an object at its top level');
  const root = DocumentNode.root(value);
  return { path, version: versionOf(root), root, lineOf };
}

async function readText(path: string): Promise<string> {
  try {
    const found = await stat(path);
    if (!found.isFile()) throw new UnreadableDocument('is not a file');
    if (found.size > MAX_BYTES) throw new UnreadableDocument(`is larger than ${MAX_BYTES / 1_048_576} MiB`);
    return (await readFile(path, 'utf8')).replace(/^\u{feff}/u, '');
  } catch (error) {
    if (error instanceof UnreadableDocument) throw error;
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    const problem = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    throw new UnreadableDocument(
      problem,
      null,
      'the path of a readable file, relative to the configuration file',
    );
  }
}

function parse(text: string): unknown {
  if (/^\s*\{/.test(text)) {
    try {
      return JSON.parse(text);
    } catch {
      // The YAML parser reports the line of the mistake. It also accepts flow mappings that are not valid JSON.
    }
  }
  try {
    return load(text, { schema: SCHEMA, maxDepth: MAX_DEPTH });
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const line = error.mark === undefined ? null : error.mark.line + 1;
    throw new UnreadableDocument(`cannot be parsed: ${error.reason}`, line);
  }
}

function versionOf(root: DocumentNode): '3.0' | '3.1' {
  const { value } = root.child('openapi');
  const version = /^3\.([01])(?:\.|$)/.exec(String(value))?.[1];
  if (version === undefined) {
    const swagger = root.child('swagger').value !== undefined;
    const problem = swagger
      ? 'is a Swagger 2.0 document'
      : value === undefined
        ? 'has no `openapi`, which names the version'
        : `has the OpenAPI version ${JSON.stringify(value)}`;
    throw new DocumentProblem(
      [swagger ? 'swagger' : 'openapi'],
      problem,
      `${RIGHT}; convert the document first`,
    );
  }
  if (!isObject(root.child('paths').value))
    throw new DocumentProblem(['paths'], 'has no `paths`', 'an object with the paths of the API');
  return version === '0' ? '3.0' : '3.1';
}
