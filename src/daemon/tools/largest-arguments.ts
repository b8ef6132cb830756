import { isObject } from '../../channel/json-object.ts';
import { estimateTokens } from '../agent/estimate-tokens.ts';
import { partsOf, SchemaReferences } from './schema-parts.ts';
import type { JsonSchema } from './tool.ts';

const MAX_NAMED = 3;
/** The argument whose members are told one by one: the body of an operation. */
const BODY = 'body';

export interface ArgumentSize {
  /** For example `id` or `body.note`. */
  readonly name: string;
  /** About how many tokens its schema has, with all definitions that it uses. Other arguments may use them, too. */
  readonly tokens: number;
}

/** The arguments of a tool that take the most tokens of its definition. */
export function largestArguments(parameters: JsonSchema): readonly ArgumentSize[] {
  const references = new SchemaReferences(parameters);
  const named = Object.entries(propertiesOf(parameters, references)).flatMap(([name, schema]) => {
    const inner = name === BODY ? Object.entries(propertiesOf(schema, references)) : [];
    return inner.length === 0
      ? [[name, schema] as const]
      : inner.map(([field, member]) => [`${BODY}.${field}`, member] as const);
  });
  return named
    .map(([name, schema]) => ({ name, tokens: tokensOf(schema, references) }))
    .toSorted((one, other) => other.tokens - one.tokens)
    .slice(0, MAX_NAMED);
}

/** The properties of an object, also those of the schemas that apply to the same object. */
function propertiesOf(root: JsonSchema, references: SchemaReferences): Record<string, JsonSchema> {
  const applied = new Set([root]);
  const found: [string, JsonSchema][] = [];
  // A set also visits what is added meanwhile.
  for (const schema of applied) {
    if (isObject(schema.properties))
      for (const [name, member] of Object.entries(schema.properties))
        if (isObject(member)) found.push([name, member]);
    const same = partsOf(schema).filter((part) => part.applies === 'same');
    for (const one of [...same.map((part) => part.schema), ...references.of(schema)]) applied.add(one);
  }
  return Object.fromEntries(found);
}

function tokensOf(root: JsonSchema, references: SchemaReferences): number {
  const targets = new Set<JsonSchema>();
  const seen = new Set([root]);
  for (const schema of seen) {
    for (const target of references.of(schema)) {
      targets.add(target);
      seen.add(target);
    }
    for (const { schema: part } of partsOf(schema)) seen.add(part);
  }
  return [root, ...targets].reduce((sum, schema) => sum + estimateTokens(JSON.stringify(schema)), 0);
}
