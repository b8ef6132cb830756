import { readFile, stat } from 'node:fs/promises';
import { CORE_SCHEMA, load, mergeTag, YAMLException } from 'js-yaml';
import { isObject } from '../../../channel/json-object.ts';
import { treeFault } from '../../syntax/json.ts';
import { readMember, unescapeSegment } from '../../syntax/json-path.ts';
import { createLineFinder, type DocumentPath, type LineFinder } from '../../syntax/yaml-lines.ts';

/** Maximum number of references that lead from one to the next. */
const MAX_CHAIN = 100;

/** A problem that makes a document unusable. */
export class DocumentProblem extends Error {
  readonly at: DocumentPath;
  /** Completes a sentence about the location, for example `has no parameter \`id\``. */
  readonly problem: string;
  readonly right: string;
  /** Set for a reference to another file or to an address, which is not opened. */
  readonly outside: string | null;

  constructor(at: DocumentPath, problem: string, right: string, outside: string | null = null) {
    super(problem);
    this.name = 'DocumentProblem';
    this.at = at;
    this.problem = problem;
    this.right = right;
    this.outside = outside;
  }
}

/** An OpenAPI document after it was read. Only its top level and its version are checked. */
export interface OpenApiDocument {
  /** Path of the file. */
  readonly path: string;
  readonly version: '3.0' | '3.1';
  readonly root: DocumentNode;
  readonly findLine: LineFinder;
}

/** What the locations of one document share. */
interface Whole {
  readonly value: unknown;
  /** The locations that references name. A large document names the same ones thousands of times. */
  readonly targets: Map<string, DocumentNode>;
}

/** A location in a document, with the value at this location. */
export class DocumentNode {
  readonly value: unknown;
  readonly at: DocumentPath;
  readonly #whole: Whole;
  #pointer: string | null = null;

  private constructor(value: unknown, at: DocumentPath, whole: Whole) {
    this.value = value;
    this.at = at;
    this.#whole = whole;
  }

  static root(value: Readonly<Record<string, unknown>>): DocumentNode {
    return new DocumentNode(value, [], { value, targets: new Map() });
  }

  /** The location as a JSON pointer, for example `#/paths/~1orders/get`. */
  get pointer(): string {
    this.#pointer ??= formatPointer(this.at);
    return this.#pointer;
  }

  /** The member with this name or index. Its value is undefined if there is no such member. */
  child(key: string | number): DocumentNode {
    return new DocumentNode(readMember(this.value, key), [...this.at, key], this.#whole);
  }

  /** The members of an object, in order; none if the value is not an object. */
  members(): [name: string, node: DocumentNode][] {
    return isObject(this.value) ? Object.keys(this.value).map((name) => [name, this.child(name)]) : [];
  }

  /** The items of a list; none if the value is not a list. */
  items(): DocumentNode[] {
    return Array.isArray(this.value) ? this.value.map((_item, index) => this.child(index)) : [];
  }

  text(key: string): string | null {
    const value = readMember(this.value, key);
    return typeof value === 'string' && value.trim() !== '' ? value : null;
  }

  /** The location that `$ref` names, without following further references; null if the value is not a reference. */
  referred(): DocumentNode | null {
    const reference = readMember(this.value, '$ref');
    if (reference === undefined) return null;
    if (typeof reference !== 'string')
      return this.refuse('has a `$ref` that is not a text', 'a reference within the document');
    if (!reference.startsWith('#')) this.#refuseOutside(reference.slice(0, 100));
    const known = this.#whole.targets.get(reference);
    if (known !== undefined) return known;
    const segments = parsePointer(reference);
    let target = new DocumentNode(this.#whole.value, [], this.#whole);
    for (const segment of segments ?? []) {
      target = target.child(Array.isArray(target.value) ? Number(segment) : segment);
    }
    if (segments === null || target.value === undefined)
      return this.refuse(
        `refers to \`${reference.slice(0, 100)}\`, which is not in the document`,
        'a place that exists',
      );
    this.#whole.targets.set(reference, target);
    return target;
  }

  /** This location or, if it is a reference, the location at the end of the chain of references. */
  resolved(): DocumentNode {
    const seen = new Set<string>();
    let node: DocumentNode = this;
    for (;;) {
      const next = node.referred();
      if (next === null) return node;
      if (seen.has(next.pointer)) return this.refuse('refers to itself', 'a reference that ends');
      if (seen.size === MAX_CHAIN)
        return this.refuse(
          `is a chain of more than ${MAX_CHAIN} references`,
          'a reference to the place itself',
        );
      seen.add(next.pointer);
      node = next;
    }
  }

  #refuseOutside(reference: string): never {
    const problem = `refers to \`${reference}\`, which is outside of the document`;
    const right = 'a reference within the document (#/components/…); bundle the files into one document';
    throw new DocumentProblem(this.at, problem, right, reference);
  }

  refuse(problem: string, right: string): never {
    throw new DocumentProblem(this.at, problem, right);
  }
}

/** The path as a JSON pointer in a URI fragment (RFC 6901, section 6). */
export function formatPointer(at: DocumentPath): string {
  return `#${at.map((segment) => `/${String(segment).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')}`;
}

/** The segments of a JSON pointer; null if the reference is not a JSON pointer. */
export function parsePointer(reference: string): string[] | null {
  const pointer = reference.slice(1);
  if (pointer !== '' && !pointer.startsWith('/')) return null;
  try {
    return decodeURIComponent(pointer).split('/').slice(1).map(unescapeSegment);
  } catch {
    return null;
  }
}

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
  const findLine = createLineFinder(text);
  if (!isObject(value)) throw new UnreadableDocument('is not an object at its top level');
  const root = DocumentNode.root(value);
  return { path, version: readVersion(root), root, findLine };
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

function readVersion(root: DocumentNode): '3.0' | '3.1' {
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
