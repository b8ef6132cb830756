import { isObject } from '../../channel/json-object.ts';
import { estimateTokens } from '../agent/model-meter.ts';
import { listParts, SchemaReferences } from './schema/schema-parts.ts';
import type { JsonSchema, Tool } from './tool.ts';

/** Above these numbers, models refuse the tools or choose among them badly, and each call of the model costs more. */
const MAX_TOOLS = 128;
const MAX_TOKENS = 16_000;
const MAX_TOKENS_OF_ONE = 4_000;

type Defined = Pick<Tool, 'name' | 'description' | 'parameters'>;

/** The approximate number of tokens of the definition of a tool, which is part of every call of the model. */
export function toolTokens({ name, description, parameters }: Defined): number {
  return estimateTokens(JSON.stringify({ name, description, parameters }));
}

/** Warnings for administrators about tools that are too many or too large for many models. */
export function toolWarnings(tools: readonly Defined[]): string[] {
  const warnings: string[] = [];
  const all = tools.reduce((sum, tool) => sum + toolTokens(tool), 0);
  if (tools.length > MAX_TOOLS)
    warnings.push(
      `the agent has ${tools.length} tools; many models accept at most ${MAX_TOOLS}, so list fewer under \`tools\``,
    );
  if (all > MAX_TOKENS)
    warnings.push(
      `the definitions of all tools have about ${all} tokens, which are part of every call of the model; list fewer under \`tools\`, so that there are at most ${MAX_TOKENS}`,
    );
  for (const tool of tools) {
    const tokens = toolTokens(tool);
    if (tokens > MAX_TOKENS_OF_ONE)
      warnings.push(
        `the definition of the tool ${tool.name} has about ${tokens} tokens; more than ${MAX_TOKENS_OF_ONE} are too many for one tool; ${whatIsLarge(tool)}list an operation with fewer arguments, bind those that come from the token, or write a module that takes only what the agent needs`,
      );
  }
  return warnings;
}

function whatIsLarge({ parameters }: Defined): string {
  const named = largestArguments(parameters).map(({ name, tokens }) => `\`${name}\` (about ${tokens})`);
  if (named.length === 0) return '';
  // Made only here: the first one takes 10 ms, which no start has to wait for.
  return `the largest arguments are ${new Intl.ListFormat('en-US').format(named)}; `;
}

const MAX_NAMED = 3;
/** The argument whose members are told one by one: the body of an operation. */
const BODY = 'body';

interface ArgumentSize {
  /** For example `id` or `body.note`. */
  readonly name: string;
  /** About how many tokens its schema has, with all definitions that it uses. Other arguments may use them, too. */
  readonly tokens: number;
}

/** The arguments of a tool that take the most tokens of its definition. */
export function largestArguments(parameters: JsonSchema): readonly ArgumentSize[] {
  const references = new SchemaReferences(parameters);
  const named = Object.entries(collectProperties(parameters, references)).flatMap(([name, schema]) => {
    const inner = name === BODY ? Object.entries(collectProperties(schema, references)) : [];
    return inner.length === 0
      ? [[name, schema] as const]
      : inner.map(([field, member]) => [`${BODY}.${field}`, member] as const);
  });
  return named
    .map(([name, schema]) => ({ name, tokens: countTokens(schema, references) }))
    .toSorted((one, other) => other.tokens - one.tokens)
    .slice(0, MAX_NAMED);
}

/** The properties of an object, also those of the schemas that apply to the same object. */
function collectProperties(root: JsonSchema, references: SchemaReferences): Record<string, JsonSchema> {
  const members = [...references.appliedTo([root])].flatMap(({ properties }) =>
    isObject(properties) ? Object.entries(properties) : [],
  );
  return Object.fromEntries(members.filter((member): member is [string, JsonSchema] => isObject(member[1])));
}

function countTokens(root: JsonSchema, references: SchemaReferences): number {
  const targets = new Set<JsonSchema>();
  const seen = new Set([root]);
  for (const schema of seen) {
    for (const target of references.of(schema)) {
      targets.add(target);
      seen.add(target);
    }
    for (const { schema: part } of listParts(schema)) seen.add(part);
  }
  return [root, ...targets].reduce((sum, schema) => sum + estimateTokens(JSON.stringify(schema)), 0);
}
