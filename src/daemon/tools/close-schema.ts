import type { JsonSchema } from './tool.ts';

/** Keywords that describe properties beside `properties`: `additionalProperties` does not see those. */
const COMPOSING = ['allOf', 'anyOf', 'oneOf', 'if', '$ref', '$dynamicRef', 'dependentSchemas'];

/** The schema of a tool's arguments, closed at the top level: arguments that it does not name are refused. */
export function closeSchema(schema: JsonSchema): JsonSchema {
  if (schema.additionalProperties === false || schema.unevaluatedProperties === false) return schema;
  const composes = COMPOSING.some((keyword) => Object.hasOwn(schema, keyword));
  if (!composes) return { ...schema, additionalProperties: false };
  // A keyword of 2020-12: an older dialect would pass over it.
  const { $schema: _dialect, ...rest } = schema;
  return { ...rest, unevaluatedProperties: false };
}
