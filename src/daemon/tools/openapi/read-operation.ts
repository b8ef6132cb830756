import { isObject } from '../../../channel/json-object.ts';
import { percentDecoded } from '../../syntax/percent.ts';
import { isAllowedHeader } from '../downstream/headers.ts';
import { isUnsafeSegment } from '../downstream/safe-path.ts';
import type { DocumentNode } from './document.ts';
import { type FoundOperation, pairName, splitPath } from './find-operation.ts';
import { isJson } from './media-type.ts';
import { haveSameRoot } from './parameter-root.ts';
import type { ParameterForm, ParameterStyle } from './parameter-styles.ts';
import { BODY, type RequestBody, readBody } from './read-body.ts';

/** The parts of an operation that are needed to describe it as a tool and to send its requests. */
export interface Operation {
  readonly found: FoundOperation;
  /** The path of its requests, with parameters in braces. */
  readonly template: string;
  /** The `name=value` pairs that each request has in its query. */
  readonly fixed: readonly string[];
  /** The parameters in the order of the document, without those that are never sent. */
  readonly parameters: readonly Parameter[];
  readonly body: RequestBody | null;
}

/** What the entry says about the parameters of an operation. */
interface OperationSettings {
  /** The headers that are sent without an argument, in lower case. */
  readonly headers: readonly string[];
  /** The cookie that carries the credential; null if none does. */
  readonly cookie: string | null;
  /** The path parameters whose values may contain slashes. */
  readonly with_slashes: readonly string[];
}

export interface Parameter extends ParameterForm {
  readonly in: 'path' | 'query' | 'header';
  /** The name of the argument of the tool for this parameter. */
  readonly property: string;
  readonly required: boolean;
  readonly description: string | null;
  readonly schema: DocumentNode;
  /** Whether a value in the path may contain a slash or a backslash. */
  readonly allow_slash: boolean;
}

const STYLES: Readonly<Record<Parameter['in'], readonly ParameterStyle[]>> = {
  path: ['simple', 'label', 'matrix'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
};
/** OpenAPI says that header parameters with these names are ignored. */
const IGNORED_HEADERS = ['accept', 'content-type', 'authorization'];

/**
 * Reads an operation: its parameters, including the parameters of its path item, and its body.
 * @throws DocumentProblem if the operation cannot be a tool.
 */
export function readOperation(found: FoundOperation, settings: OperationSettings): Operation {
  const declared = new Map<string, DocumentNode>();
  for (const list of [found.item.child('parameters'), found.node.child('parameters')]) {
    for (const item of list.items()) {
      const parameter = item.resolved();
      // A parameter of the operation replaces the parameter of the path item with the same name.
      declared.set(`${parameter.text('in')} ${parameter.text('name')}`, parameter);
    }
  }
  const { template, fixed, named } = splitPath(found.path);
  const read = [...declared.values()]
    .flatMap((node) => readParameter(node, settings) ?? [])
    .filter(
      ({ in: location, name }) =>
        location !== 'query' || !fixed.some((pair) => haveSameRoot(pairName(pair), name)),
    );
  checkPath(found, template, read);
  const unknown = named.find((name) => !read.some((known) => known.in === 'query' && known.name === name));
  if (unknown !== undefined)
    found.node.refuse(
      `has no query parameter \`${unknown}\`, which its path \`${found.path}\` names`,
      'a parameter of the query with that name',
    );
  const body = readBody(found);
  return { found, template, fixed, parameters: withProperties(read, body !== null), body };
}

type Unnamed = Omit<Parameter, 'property'>;

function readParameter(
  node: DocumentNode,
  { headers, cookie, with_slashes }: OperationSettings,
): Unnamed | null {
  const name = node.text('name');
  const location = node.text('in');
  if (name === null) return node.refuse('has no `name`', 'a parameter with `name` and `in`');
  const required = location === 'path' || node.child('required').value === true;
  if (location === 'cookie')
    return required && name !== cookie ? refuseUnsettable(node, `cookie \`${name}\``) : null;
  if (location !== 'path' && location !== 'query' && location !== 'header')
    return node.refuse('has no `in` that is known', 'one of path, query, header, cookie');
  if (location === 'header') {
    const lower = name.toLowerCase();
    if (IGNORED_HEADERS.includes(lower) || headers.includes(lower)) return null;
    if (!isAllowedHeader(name)) return required ? refuseUnsettable(node, `header \`${name}\``) : null;
  }
  return {
    in: location,
    name,
    required,
    description: node.text('description'),
    allow_slash: location === 'path' && with_slashes.includes(name),
    ...readForm(node, location),
  };
}

function refuseUnsettable(node: DocumentNode, what: string): never {
  return node.refuse(
    `requires the ${what}, which no tool may set`,
    'an operation that works without it, or a fixed header of the entry',
  );
}

function readForm(
  node: DocumentNode,
  location: Parameter['in'],
): Pick<Parameter, 'style' | 'explode' | 'allowReserved' | 'schema'> {
  const content = node.child('content');
  if (isObject(content.value)) {
    const [type, media] = content.members()[0] ?? [];
    if (type === undefined || media === undefined || !isJson(type))
      return node.refuse('has a content that is not JSON', 'application/json');
    return { style: 'json', explode: false, allowReserved: false, schema: media.child('schema') };
  }
  const schema = node.child('schema');
  if (schema.value === undefined) return node.refuse('has neither `schema` nor `content`', 'one of the two');
  const style = (node.text('style') ?? STYLES[location][0]) as ParameterStyle;
  if (!STYLES[location].includes(style))
    return node.refuse(`has the style \`${style}\``, `one of ${STYLES[location].join(', ')} in ${location}`);
  const explode = node.child('explode').value;
  return {
    style,
    explode: typeof explode === 'boolean' ? explode : style === 'form',
    allowReserved: location === 'query' && node.child('allowReserved').value === true,
    schema,
  };
}

/**
 * Checks that the names in braces are exactly the path parameters, and that the fixed part of the path has no empty
 * segment, `.` or `..`, and no encoded `?` or `#`.
 */
function checkPath({ path, node }: FoundOperation, template: string, parameters: readonly Unnamed[]): void {
  const names = [...template.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name);
  const missing = names.find(
    (name) => !parameters.some((known) => known.in === 'path' && known.name === name),
  );
  if (missing !== undefined)
    node.refuse(
      `has no path parameter \`${missing}\`, which its path \`${path}\` names`,
      'a parameter for each name in braces',
    );
  const unused = parameters.find((known) => known.in === 'path' && !names.includes(known.name));
  if (unused !== undefined)
    node.refuse(
      `has a path parameter \`${unused.name}\`, which its path \`${path}\` does not name`,
      'a path that names it',
    );
  const segments = template
    .replace(/\{[^{}]*\}/g, 'x')
    .slice(1)
    .split('/');
  if (segments.at(-1) === '') segments.pop();
  if (/[\\\s\x00-\x1f?#]/.test(percentDecoded(template)) || segments.some(isUnsafeSegment))
    node.refuse(
      `has the path \`${path}\``,
      'a path without encoded `?` and `#`, empty segments, `.` and `..`',
    );
}

/**
 * Gives each parameter a name among the arguments. If several parameters have the same name, the first in the order
 * path, query, header keeps it. The others get their location as a suffix: `id`, `id_query`.
 */
function withProperties(parameters: readonly Unnamed[], has_body: boolean): Parameter[] {
  const taken = new Set(has_body ? [BODY] : []);
  const properties = new Map<Unnamed, string>();
  for (const location of ['path', 'query', 'header']) {
    for (const parameter of parameters.filter((one) => one.in === location)) {
      let property = parameter.name;
      while (taken.has(property)) property += `_${location}`;
      taken.add(property);
      properties.set(parameter, property);
    }
  }
  return parameters.map((parameter) => ({
    ...parameter,
    property: properties.get(parameter) ?? parameter.name,
  }));
}
