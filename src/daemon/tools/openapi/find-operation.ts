import { nearest } from '../../settings/nearest.ts';
import type { ToolRequest } from '../downstream/client.ts';
import { type DocumentNode, DocumentProblem, type OpenApiDocument } from './document.ts';

type Method = ToolRequest['method'];

/** Methods of a path item that a tool can use. */
const METHODS: readonly Method[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const NEAREST_NAMES = 3;

/** An operation of a document, with its location. */
export interface FoundOperation {
  readonly method: Method;
  /** The path of the operation, for example `/orders/{id}`. */
  readonly path: string;
  readonly operation_id: string | null;
  /** The path item, which may have parameters that apply to all its operations. */
  readonly item: DocumentNode;
  readonly node: DocumentNode;
}

/** All operations of a document, in its order, and the paths and operations that cannot be read. */
export function findOperations({ root }: OpenApiDocument): {
  operations: FoundOperation[];
  problems: DocumentProblem[];
} {
  const problems: DocumentProblem[] = [];
  const paths = root.child('paths').members();
  const operations = paths.flatMap(([path, member]) => {
    if (!path.startsWith('/')) return [];
    const item = followReference(member, problems);
    return METHODS.flatMap((method) => {
      const member = item?.child(method.toLowerCase());
      if (item === null || member?.value === undefined) return [];
      const node = followReference(member, problems);
      if (node === null) return [];
      return [{ method, path, operation_id: node.text('operationId'), item, node }];
    });
  });
  return { operations, problems };
}

/** What a location is or refers to; null, with a problem, if its references cannot be followed. */
export function followReference(node: DocumentNode, problems: DocumentProblem[]): DocumentNode | null {
  try {
    return node.resolved();
  } catch (error) {
    if (!(error instanceof DocumentProblem)) throw error;
    problems.push(error);
    return null;
  }
}

/** The operation that a key under `operations` names. If there is none, the problem to report. */
export function findOperation(
  operations: readonly FoundOperation[],
  key: string,
): FoundOperation | { problem: string; right: string } {
  const named = operations.filter(({ operation_id }) => operation_id === key);
  const [first] = named;
  if (first !== undefined && named.length === 1) return first;
  if (first !== undefined) {
    const keys = named.map(operationKey);
    return { problem: 'is the operationId of several operations', right: `one of ${keys.join(', ')}` };
  }
  const byPath = /^\s*([A-Za-z]+)\s+(\/\S*)\s*$/.exec(key);
  if (byPath !== null) {
    const method = byPath[1]?.toUpperCase();
    const found = operations.find((operation) => operation.method === method && operation.path === byPath[2]);
    if (found !== undefined) return found;
  }
  return { problem: 'is not an operation of the document', right: suggestion(operations, key) };
}

/** The key of an operation, for example `GET /orders/{id}`. */
export function operationKey({ method, path }: FoundOperation): string {
  return `${method} ${path}`;
}

function suggestion(operations: readonly FoundOperation[], key: string): string {
  const form = 'an operationId, or a method and a path such as "GET /orders/{id}"';
  const candidates = new Set(
    operations.map((operation) =>
      key.includes('/') ? operationKey(operation) : (operation.operation_id ?? operationKey(operation)),
    ),
  );
  const names: string[] = [];
  while (names.length < NEAREST_NAMES) {
    const near = nearest(key, candidates, Math.max(3, Math.floor(key.length / 2)));
    if (near === undefined) break;
    names.push(near.name);
    candidates.delete(near.name);
  }
  return names.length === 0 ? form : `${form}; nearest: ${names.join(', ')}`;
}

/** A path of a document in its parts. */
interface SplitPath {
  /** The path with its parameters in braces. */
  readonly template: string;
  /** The `name=value` pairs of the query that each request has. */
  readonly fixed: readonly string[];
  /** The names of the pairs that only name a parameter of the query: `id` for `?id={id}`. */
  readonly named: readonly string[];
}

const PARTS = /^((?:\{[^{}]*\}|[^?#{}])*)(?:\?([^#]*))?(?:#.*)?$/s;

/**
 * Splits a path of a document. Some documents describe several operations at one path, and tell them apart by a query
 * (`/responses?beta=true`), which is sent, or by a fragment (`/files/{id}#add_link`), which is not. A path that cannot be
 * split is the template as a whole.
 */
export function splitPath(path: string): SplitPath {
  const parts = PARTS.exec(path);
  if (parts === null) return { template: path, fixed: [], named: [] };
  const [, template = '', query = ''] = parts;
  const pairs = query.split('&').filter((pair) => pair !== '');
  const isNamed = (pair: string) => /\{[^{}]*\}/.test(pair);
  return {
    template,
    fixed: pairs.filter((pair) => !isNamed(pair)),
    named: pairs.filter(isNamed).map(pairName),
  };
}

export function pairName(pair: string): string {
  return pair.split('=', 1)[0] ?? '';
}
