import type { ErrorObject } from 'ajv';
import type { FoundOperation } from './find-operation.ts';
import { type DocumentNode, DocumentProblem, type OpenApiDocument, segmentsOf } from './openapi-document.ts';

/** Members of an operation that say something about its request. */
const OF_REQUEST = ['operationId', 'summary', 'description', 'parameters', 'requestBody', 'deprecated'];
/** Members whose values are data: a `$ref` in them is no reference. */
const DATA = ['example', 'examples', 'default', 'enum', 'const'];
/** Members whose own members have names that the API chose. */
const NAMED = ['properties', 'patternProperties', 'dependentSchemas', 'content'];
/** The versions whose rules are applied; a later patch version changes none of them. */
const VERSIONS = { '3.0': '3.0.4', '3.1': '3.1.1' } as const;
const MAX_PROBLEMS = 5;

type Fields = Record<string, unknown>;

/**
 * Checks the parts of a document that these operations use: every reference leads to a place in the document, and the
 * form is that of OpenAPI. What no tool needs is not checked: answers, other operations, servers.
 */
export async function checkStructure(
  document: OpenApiDocument,
  operations: readonly FoundOperation[],
): Promise<DocumentProblem[]> {
  const problems: DocumentProblem[] = [];
  const referred = new Map<string, DocumentNode>();
  for (const { item, node } of operations) {
    for (const part of [item.child('parameters'), node.child('parameters'), node.child('requestBody')])
      collect(part, referred, problems);
  }
  return problems.length > 0
    ? problems
    : await violations(partOf(document, operations, [...referred.values()]));
}

/**
 * Finds the targets of all references below a node, and reports those that cannot be followed.
 * @param is_map its members have names of the API, which may be any words, also `$ref`.
 */
function collect(
  node: DocumentNode,
  referred: Map<string, DocumentNode>,
  problems: DocumentProblem[],
  is_map = false,
): void {
  const target = is_map ? null : followed(node, problems);
  if (target !== null && !referred.has(target.pointer)) {
    referred.set(target.pointer, target);
    collect(target, referred, problems);
  }
  for (const item of node.items()) collect(item, referred, problems);
  for (const [name, member] of node.members()) {
    if (is_map || !(DATA.includes(name) || name.startsWith('x-')))
      collect(member, referred, problems, !is_map && NAMED.includes(name));
  }
}

function followed(node: DocumentNode, problems: DocumentProblem[]): DocumentNode | null {
  try {
    // The whole chain must end.
    node.resolved();
    return node.referred();
  } catch (error) {
    if (!(error instanceof DocumentProblem)) throw error;
    problems.push(error);
    return null;
  }
}

/** A document of the same form that has only what the operations use. */
function partOf(
  { version, root }: OpenApiDocument,
  operations: readonly FoundOperation[],
  referred: readonly DocumentNode[],
): Fields {
  const paths: Record<string, Fields> = {};
  for (const { path, method, item, node } of operations) {
    const known = OF_REQUEST.filter((name) => node.child(name).value !== undefined);
    const operation = Object.fromEntries(known.map((name) => [name, node.child(name).value]));
    const parameters = item.child('parameters').value;
    paths[path] = {
      ...paths[path],
      ...(parameters === undefined ? {} : { parameters }),
      [method.toLowerCase()]: { ...operation, responses: { default: { description: '' } } },
    };
  }
  const components: Record<string, Fields> = {};
  for (const { at } of referred) {
    const [first, kind, name] = at;
    if (first !== 'components' || typeof kind !== 'string' || typeof name !== 'string') continue;
    components[kind] = {
      ...components[kind],
      [name]: root.child('components').child(kind).child(name).value,
    };
  }
  return { openapi: VERSIONS[version], info: { title: '', version: '' }, paths, components };
}

async function violations(part: Fields): Promise<DocumentProblem[]> {
  const { default: SwaggerParser } = await import('@apidevtools/swagger-parser');
  try {
    // It writes into what it is given. It opens no file and no address, and leaves references as they are.
    await SwaggerParser.validate(structuredClone(part) as never, {
      resolve: { external: false },
      dereference: { excludedPathMatcher: () => true },
      validate: { schema: true, spec: false },
    });
    return [];
  } catch (error) {
    const { details } = error as { details?: unknown };
    if (!Array.isArray(details)) throw error;
    return inWords(details as readonly ErrorObject[]);
  }
}

/** Each form that a value could have adds errors of its own. Those of the deepest places name the mistake best. */
function inWords(errors: readonly ErrorObject[]): DocumentProblem[] {
  const named = errors.filter(({ keyword }) => !['oneOf', 'anyOf', 'if', '$ref'].includes(keyword));
  const problems = new Map<string, DocumentProblem>();
  for (const { instancePath, message, params } of named.length > 0 ? named : errors) {
    const path = segmentsOf(`#${instancePath}`) ?? [];
    const extra = params.additionalProperty ?? params.unevaluatedProperty;
    const detail = extra === undefined ? '' : `: \`${extra}\``;
    const allowed = Array.isArray(params.allowedValues) ? `: ${params.allowedValues.join(', ')}` : '';
    const problem = `${message ?? 'is not valid'}${detail}${allowed}`;
    if (!problems.has(instancePath))
      problems.set(
        instancePath,
        new DocumentProblem(path, problem, 'a document that follows the OpenAPI specification'),
      );
  }
  const deepest = [...problems.values()].sort((a, b) => b.at.length - a.at.length);
  const places = deepest.filter(
    (one, index) => !deepest.slice(0, index).some((other) => isBelow(other, one)),
  );
  return places.slice(0, MAX_PROBLEMS);
}

function isBelow(inner: DocumentProblem, outer: DocumentProblem): boolean {
  return outer.at.every((segment, index) => inner.at[index] === segment);
}
