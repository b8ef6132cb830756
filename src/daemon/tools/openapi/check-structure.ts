import type { Validator } from '@seriousme/openapi-schema-validator';
import type { ErrorObject } from 'ajv';
import { type DocumentNode, DocumentProblem, type OpenApiDocument, parsePointer } from './document.ts';
import { type FoundOperation, followReference } from './find-operation.ts';

/** Members of an operation that describe its request. */
const OF_REQUEST = ['operationId', 'summary', 'description', 'parameters', 'requestBody', 'deprecated'];
/** Members that contain data: a `$ref` in them is not a reference. */
const DATA = ['example', 'examples', 'default', 'enum', 'const'];
/** Members that contain a map: the API chooses the names of the map's members. */
const NAMED = ['properties', 'patternProperties', 'dependentSchemas', 'content'];
/** The versions whose rules are applied. Other patch versions have the same rules. */
const VERSIONS = { '3.0': '3.0.4', '3.1': '3.1.1' } as const;
const MAX_PROBLEMS = 5;

type Fields = Record<string, unknown>;

/**
 * Checks the parts of a document that these operations use: every reference leads to a location in the document, and
 * the parts have the form that OpenAPI requires. Parts that no tool needs are not checked: answers, other operations,
 * servers.
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
    : await violations(extractPart(document, operations, [...referred.values()]));
}

/** Finds the targets of all references below a node, and reports the references that cannot be followed. */
function collect(
  start: DocumentNode,
  referred: Map<string, DocumentNode>,
  problems: DocumentProblem[],
): void {
  // A list instead of recursion, because references can lead very far. The last part is read first.
  const pending: Part[] = [{ node: start, is_map: false }];
  for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
    const { node, is_map } = part;
    const target = is_map || followReference(node, problems) === null ? null : node.referred();
    const inner: Part[] = node.items().map((item) => ({ node: item, is_map: false }));
    for (const [name, member] of node.members()) {
      if (is_map || !(DATA.includes(name) || name.startsWith('x-')))
        inner.push({ node: member, is_map: !is_map && NAMED.includes(name) });
    }
    pending.push(...inner.reverse());
    if (target !== null && !referred.has(target.pointer)) {
      referred.set(target.pointer, target);
      pending.push({ node: target, is_map: false });
    }
  }
}

interface Part {
  readonly node: DocumentNode;
  /** Whether the API chooses the names of the node's members, so that even `$ref` can be such a name. */
  readonly is_map: boolean;
}

/** A document of the same form that contains only the parts that the operations use. */
function extractPart(
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
  const components = new Map<string, Map<string, unknown>>();
  for (const { at } of referred) {
    const [first, kind, name] = at;
    if (first !== 'components' || typeof kind !== 'string' || typeof name !== 'string') continue;
    const ofKind = components.get(kind) ?? new Map<string, unknown>();
    components.set(kind, ofKind.set(name, root.child('components').child(kind).child(name).value));
  }
  return {
    openapi: VERSIONS[version],
    info: { title: '', version: '' },
    paths,
    components: Object.fromEntries([...components].map(([kind, named]) => [kind, Object.fromEntries(named)])),
  };
}

/** Created only once, because that compiles the schema of each version. Follows no references to other documents. */
let validator: Validator | null = null;

async function violations(part: Fields): Promise<DocumentProblem[]> {
  if (validator === null) {
    const { Validator: Made } = await import('@seriousme/openapi-schema-validator');
    validator ??= new Made({ allErrors: true, validateFormats: false });
  }
  const { errors } = await validator.validate(part);
  // If `errors` is a text, it is about a reference. References were already checked in the whole document.
  return Array.isArray(errors) ? toProblems(errors) : [];
}

/**
 * The errors as problems of the document. If the specification allows several forms of a value, each form adds its own
 * errors. The errors at the deepest locations describe the mistake best.
 */
function toProblems(errors: readonly ErrorObject[]): DocumentProblem[] {
  const named = errors.filter(({ keyword }) => !['oneOf', 'anyOf', 'if', '$ref'].includes(keyword));
  const byPlace = Map.groupBy(named.length > 0 ? named : errors, ({ instancePath }) => instancePath);
  const problems = [...byPlace].map(
    ([pointer, found]) =>
      new DocumentProblem(
        parsePointer(`#${pointer}`) ?? [],
        describe(found),
        'a document that follows the OpenAPI specification',
      ),
  );
  const deepest = problems.toSorted((a, b) => b.at.length - a.at.length);
  const causes = deepest.filter(
    (one, index) => !deepest.slice(0, index).some((other) => isBelow(other, one)),
  );
  return problems.filter((one) => causes.includes(one)).slice(0, MAX_PROBLEMS);
}

function describe(errors: readonly ErrorObject[]): string {
  const [first] = errors;
  const allowed = errors.flatMap(({ params }) => params.allowedValues ?? params.allowedValue ?? []);
  if (allowed.length > 0) return `must be one of ${[...new Set(allowed)].join(', ')}`;
  const { additionalProperty, unevaluatedProperty = additionalProperty } = first?.params ?? {};
  const detail = unevaluatedProperty === undefined ? '' : `: \`${unevaluatedProperty}\``;
  return `${first?.message ?? 'is not valid'}${detail}`;
}

function isBelow(inner: DocumentProblem, outer: DocumentProblem): boolean {
  return inner.at.length > outer.at.length && outer.at.every((segment, index) => inner.at[index] === segment);
}
