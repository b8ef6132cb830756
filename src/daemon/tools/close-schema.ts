import type { JsonSchema } from './tool.ts';

/** Keywords that also describe properties. `additionalProperties` does not take these properties into account. */
const COMPOSING = ['allOf', 'anyOf', 'oneOf', 'if', '$ref', '$dynamicRef', 'dependentSchemas'];

/** The schema of a tool's arguments, closed at the top level: arguments that it does not name are refused. */
export function closeSchema(schema: JsonSchema): JsonSchema {
  if (schema.additionalProperties === false || schema.unevaluatedProperties === false) return schema;
  const composes = COMPOSING.some((keyword) => Object.hasOwn(schema, keyword));
  if (!composes) return { ...schema, additionalProperties: false };
  // `unevaluatedProperties` is a keyword of 2020-12, which an older dialect would ignore.
  const { $schema: _dialect, ...rest } = schema;
  return { ...rest, unevaluatedProperties: false };
}
