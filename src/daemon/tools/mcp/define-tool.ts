import { hash } from 'node:crypto';
import { isObject } from '../../../channel/json-object.ts';
import { maskTokens } from '../../settings/secret.ts';
import type { ServerDefinition } from '../../store/tool-digests.ts';
import { nestsDeeper } from '../../syntax/json.ts';
import { cutText, printable } from '../../texts/printable.ts';
import { compileSchema } from '../schema/compile-schema.ts';
import { ExplosiveSchema } from '../schema/examine-schema.ts';
import { canonicalJson } from '../schema/read-arguments.ts';
import { closeSchema } from '../schema/schema-parts.ts';
import type { JsonSchema } from '../tool.ts';
import type { McpTool } from './connection.ts';

/** Maximum length of a description that is shown to the model and to administrators, in characters. */
const MAX_DESCRIPTION = 4_000;
const MAX_TITLE = 200;
/** Maximum size of a schema of arguments, in characters of JSON; `MAX_SCHEMA_DEPTH` is its maximum nesting depth. */
const MAX_SCHEMA = 32_768;
const MAX_SCHEMA_DEPTH = 24;
/**
 * Invisible characters, which nobody could compare. Not the joiners and the selectors of emoji: without them, words and
 * emoji look different.
 */
const UNSEEN = /[^\P{Cc}\n\t]|(?!\p{Join_Control}|\ufe0e|\ufe0f)\p{Default_Ignorable_Code_Point}/gu;

/**
 * A server's definition of a tool, as it is stored and shown. It is treated as data, never as an instruction. The
 * digest covers the complete name, title, description and schema, before anything is cut or masked.
 * @returns the definition or, if the tool cannot be offered, the reason as the end of a sentence.
 */
export function defineTool(listed: McpTool): ServerDefinition | { unusable: string } {
  const { name, description = '', inputSchema, annotations } = listed;
  const title = listed.title ?? annotations?.title ?? null;
  const schema = canonicalJson(inputSchema);
  if (schema.length > MAX_SCHEMA) return { unusable: 'the schema of its arguments is too large' };
  if (nestsDeeper(schema, MAX_SCHEMA_DEPTH))
    return { unusable: 'the schema of its arguments is nested too deeply' };
  const digest = hash('sha256', JSON.stringify([name, title, description, schema]), 'hex');
  return {
    digest,
    title: title === null ? null : cutText(printable(cleanText(title)), MAX_TITLE),
    description: cutText(cleanText(description), MAX_DESCRIPTION),
    schema: cleanText(schema),
  };
}

function cleanText(text: string): string {
  return maskTokens(text.replace(UNSEEN, ''));
}

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
    compileSchema(parameters);
  } catch (error) {
    if (error instanceof ExplosiveSchema) return { unusable: `the schema of its arguments ${error.message}` };
    return { unusable: 'the schema of its arguments is not a valid JSON Schema' };
  }
  return { parameters };
}
