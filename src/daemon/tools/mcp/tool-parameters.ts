import { isObject } from '../../../channel/json-object.ts';
import { closeSchema } from '../close-schema.ts';
import { validatorOf } from '../compile-schema.ts';
import { ExplosiveSchema } from '../examine-schema.ts';
import type { JsonSchema } from '../tool.ts';

/** Keywords other than `properties` that can add properties to an object, or can require a bound property. */
const FURTHER = [
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  '$ref',
  'dependentSchemas',
  'dependentRequired',
];

/**
 * The schema that the model fills in: closed at the top level, without the bound arguments.
 * @param schema JSON, as the server sends it.
 * @returns the schema or, if the tool cannot be offered, the reason as the end of a sentence.
 */
export function toolParameters(
  schema: string,
  bind: Readonly<Record<string, string>>,
): { parameters: JsonSchema } | { unusable: string } {
  // The server's keywords for additional arguments are ignored, because the schema is closed.
  const {
    properties = {},
    required = [],
    additionalProperties: _,
    unevaluatedProperties: __,
    ...rest
  } = JSON.parse(schema) as Record<string, unknown>;
  if (!isObject(properties) || !Array.isArray(required))
    return { unusable: 'the schema of its arguments is not a JSON Schema of an object' };
  const bound = Object.keys(bind);
  const unknown = bound.find((name) => !Object.hasOwn(properties, name));
  if (unknown !== undefined) return { unusable: `it has no argument \`${unknown}\`, which the entry binds` };
  if (bound.length > 0 && FURTHER.some((keyword) => Object.hasOwn(rest, keyword)))
    return {
      unusable: 'its arguments cannot be bound, because its schema refers to other schemas or combines them',
    };
  const kept = Object.entries(properties).filter(([name]) => !bound.includes(name));
  const parameters = closeSchema({
    ...rest,
    type: 'object',
    properties: Object.fromEntries(kept),
    required: required.filter((name) => !bound.includes(name as string)),
  });
  try {
    validatorOf(parameters);
  } catch (error) {
    if (error instanceof ExplosiveSchema) return { unusable: `the schema of its arguments ${error.message}` };
    return { unusable: 'the schema of its arguments is not a valid JSON Schema' };
  }
  return { parameters };
}
