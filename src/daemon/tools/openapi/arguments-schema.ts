import { isObject } from '../../../channel/json-object.ts';
import type { JsonSchema } from '../tool.ts';
import type { OpenApiDocument } from './document.ts';
import { fileSchema, withFiles } from './media-type.ts';
import { BODY, collectProperties, type RequestBody } from './read-body.ts';
import type { Operation } from './read-operation.ts';
import { SchemaConverter } from './schema-converter.ts';

/**
 * The JSON Schema of the arguments that a model fills in: the parameters at the top level, and the body as `body`. It
 * is closed and does not contain the bound arguments (agentd-agent(7), "Schemas").
 * @param bound the names under `bind`: names of parameters, or `body.field`.
 * @throws DocumentProblem
 */
export function argumentsSchema(
  { parameters, body }: Operation,
  version: OpenApiDocument['version'],
  bound: readonly string[],
): JsonSchema {
  const hidden = new Set(
    bound.filter((name) => name.startsWith(`${BODY}.`)).map((name) => name.slice(BODY.length + 1)),
  );
  const fields = bodyFields(body);

  const offered = parameters.filter(({ property }) => !bound.includes(property));
  const bodySchema = body?.schema ?? null;
  const converter = new SchemaConverter(version, [
    ...offered.map(({ schema }) => schema),
    ...(bodySchema === null ? [] : [bodySchema]),
  ]);
  const properties = new Map<string, unknown>();
  const required: string[] = [];
  for (const parameter of offered) {
    const schema = parameter.schema.value === undefined ? {} : converter.convert(parameter.schema);
    properties.set(parameter.property, describeSchema(schema, parameter.description));
    if (parameter.required) required.push(parameter.property);
  }
  // If all fields of the body are bound, the model has nothing to fill in.
  const isFilled = hidden.size > 0 && fields.every((field) => hidden.has(field));
  if (body !== null && !isFilled) {
    const schema = bodySchema === null ? {} : converter.convert(bodySchema, hidden);
    properties.set(BODY, describeSchema(asGiven(body, schema), body.description));
    if (body.required) required.push(BODY);
  }
  const definitions =
    body?.format === 'multipart'
      ? (withFiles(converter.definitions) as typeof converter.definitions)
      : converter.definitions;
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
    ...(Object.keys(definitions).length > 0 ? { $defs: definitions } : {}),
  };
}

/** The names of the arguments that an entry can mention: names of parameters, and `body.field`. */
export function operationArguments({ parameters, body }: Pick<Operation, 'parameters' | 'body'>): string[] {
  return [
    ...parameters.map(({ property }) => property),
    ...bodyFields(body).map((field) => `${BODY}.${field}`),
  ];
}

function bodyFields(body: RequestBody | null): string[] {
  return body?.schema ? [...collectProperties(body.schema).keys()] : [];
}

/** The schema of a body as a model gives it. */
function asGiven(
  { format, schema, description, content_types }: RequestBody,
  converted: JsonSchema | boolean,
): JsonSchema | boolean {
  if (format === 'file')
    return fileSchema(content_types, schema?.resolved().text('description') ?? description);
  if (format === 'text' && schema === null) return { type: 'string' };
  return format === 'multipart' ? (withFiles(converted) as JsonSchema) : converted;
}

function describeSchema(schema: JsonSchema | boolean, description: string | null): unknown {
  if (description === null) return schema === true ? {} : schema;
  if (schema === true) return { description };
  return isObject(schema) && schema.description === undefined ? { ...schema, description } : schema;
}
