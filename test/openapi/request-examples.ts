import { isObject } from '../../src/channel/json-object.ts';
import type { DocumentNode, OpenApiDocument } from '../../src/daemon/tools/openapi/document.ts';
import { BODY } from '../../src/daemon/tools/openapi/read-body.ts';
import type { Operation } from '../../src/daemon/tools/openapi/read-operation.ts';

/** An example that a document gives for a part of a request. */
export interface RequestExample {
  /** The argument of the tool that the example is for. */
  readonly property: string;
  readonly value: unknown;
  /** The place of the example in the document, as a JSON pointer. */
  readonly at: string;
  readonly schema: DocumentNode;
}

/**
 * The examples of the parameters and the body of an operation: `example` and `examples` of the parameter or the media
 * type, and those of its schema. Other media types than the one that is sent are not read.
 */
export function requestExamples(
  { parameters, body }: Operation,
  { root }: OpenApiDocument,
): readonly RequestExample[] {
  const parts = parameters.map(({ property, schema }) => ({ property, schema }));
  if (body !== null && body.schema !== null) parts.push({ property: BODY, schema: body.schema });
  return parts.flatMap(({ property, schema }) => {
    const holder = schema.at.slice(0, -1).reduce((node, key) => node.child(key), root);
    const found = [...examplesOf(holder), ...schemaExamples(schema)];
    // A schema and its media type often have the same example.
    const distinct = new Map(found.map((node) => [JSON.stringify(node.value), node]));
    return [...distinct.values()].map(({ value, pointer }) => ({
      property,
      value: property === BODY && body?.format === 'json' ? readJson(value, schema) : value,
      at: pointer,
      schema,
    }));
  });
}

/** The JSON that a text contains, if the body is no text: some documents give their examples so. */
function readJson(value: unknown, schema: DocumentNode): unknown {
  const { value: resolved } = schema.resolved();
  const isText = !isObject(resolved) || [resolved.type].flat().includes('string');
  if (typeof value !== 'string' || isText) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function examplesOf(holder: DocumentNode): DocumentNode[] {
  const named = holder.child('examples').members();
  return [
    holder.child('example'),
    // An example with `externalValue` is in another file.
    ...named.map(([, example]) => followed(example).child('value')),
  ].filter(({ value }) => value !== undefined);
}

function schemaExamples(schema: DocumentNode): DocumentNode[] {
  const resolved = schema.resolved();
  if (!isObject(resolved.value)) return [];
  return [resolved.child('example'), ...resolved.child('examples').items()].filter(
    ({ value }) => value !== undefined,
  );
}

/** The example that a reference names. Data may have a member `$ref`, too, which is no reference then. */
function followed(example: DocumentNode): DocumentNode {
  return typeof example.child('$ref').value === 'string' ? example.resolved() : example;
}
