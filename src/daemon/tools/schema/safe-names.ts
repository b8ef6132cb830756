import { hash } from 'node:crypto';
import { isObject } from '../../../channel/json-object.ts';
import type { JsonSchema, ToolArguments } from '../tool.ts';
import { decodeSegment, listParts, mapParts, SchemaReferences } from './schema-parts.ts';

/** The names of properties that all models accept. */
const SAFE = /^[A-Za-z0-9_.-]{1,64}$/;
const MAX_LENGTH = 64;
/** Comparisons that are part of a name (`DateSent<`), so that names stay different and readable. */
const IN_WORDS: Readonly<Record<string, string>> = { '<': '_lt', '>': '_gt', '=': '_eq' };

interface Renamed {
  readonly references: SchemaReferences;
  /** The names of the API, by the safe names. */
  readonly originals: ReadonlyMap<string, string>;
}

const renamed = new WeakMap<JsonSchema, Renamed>();

/**
 * A schema in which the names of all properties are accepted by all models. A property with another name gets a safe
 * one, the same at every start, and a description that says how the API calls it.
 * @returns the same schema if all names are safe.
 */
export function withSafeNames(schema: JsonSchema): JsonSchema {
  const names = propertyNames(schema);
  const aliases = createAliases(names);
  if (aliases.size === 0) return schema;
  const safe = rename(schema, aliases);
  const originals = new Map([...aliases].map(([name, alias]) => [alias, name]));
  renamed.set(safe, { references: new SchemaReferences(safe), originals });
  return safe;
}

/** An object has the same member twice: with its safe name, and with the name that the API knows. */
export class RepeatedName extends Error {
  constructor(name: string) {
    super(`an object has the member \`${name}\` under two names`);
    this.name = 'RepeatedName';
  }
}

/**
 * The arguments with the names that the API knows. A member that the schema does not describe keeps its name.
 * @throws RepeatedName
 */
export function withOriginalNames(schema: JsonSchema, args: ToolArguments): ToolArguments {
  const known = renamed.get(schema);
  return known === undefined ? args : (restore(args, [schema], known) as ToolArguments);
}

function withHash(name: string, whole: string): string {
  const digest = hash('sha256', whole, 'hex').slice(0, 8);
  return `${name.slice(0, MAX_LENGTH - digest.length - 1)}_${digest}`;
}

function propertyNames(root: JsonSchema): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (schema: JsonSchema) => {
    if (isObject(schema.properties)) for (const name of Object.keys(schema.properties)) names.add(name);
    for (const part of listParts(schema)) visit(part.schema);
  };
  visit(root);
  return names;
}

/** The safe names of those names that are not safe. */
function createAliases(names: ReadonlySet<string>): ReadonlyMap<string, string> {
  const unsafe = [...names].filter((name) => !SAFE.test(name));
  const aliases = new Map<string, string>();
  for (const [alias, same] of Map.groupBy(unsafe, safeForm)) {
    // A hash tells names apart that would be the same.
    const isUnique = same.length === 1 && !names.has(alias);
    for (const name of same) aliases.set(name, isUnique ? alias : withHash(alias, name));
  }
  return aliases;
}

function safeForm(name: string): string {
  const safe = name.replace(/[^A-Za-z0-9_.-]/gu, (character) => IN_WORDS[character] ?? '_');
  return safe.length > MAX_LENGTH ? withHash(safe, name) : safe || '_';
}

function rename(schema: JsonSchema, aliases: ReadonlyMap<string, string>): JsonSchema {
  const alias = (name: string) => aliases.get(name) ?? name;
  const keys = (map: unknown, value: (one: unknown, name: string) => unknown = (one) => one) =>
    isObject(map)
      ? Object.fromEntries(Object.entries(map).map(([name, one]) => [alias(name), value(one, name)]))
      : map;
  const list = (names: unknown) =>
    Array.isArray(names) ? names.map((name) => (typeof name === 'string' ? alias(name) : name)) : names;
  const { properties, required, dependentRequired, dependentSchemas, dependencies, $ref, ...rest } = mapParts(
    schema,
    (part) => rename(part, aliases),
  );
  const described = (property: unknown, name: string) =>
    aliases.has(name) ? withName(property, name) : property;
  const changed = {
    properties: keys(properties, described),
    required: list(required),
    dependentRequired: keys(dependentRequired, list),
    dependentSchemas: keys(dependentSchemas),
    dependencies: keys(dependencies, list),
    $ref: typeof $ref === 'string' ? renameReference($ref, aliases) : $ref,
  };
  const present = Object.entries(changed).filter(([, value]) => value !== undefined);
  return { ...rest, ...Object.fromEntries(present) };
}

/** A reference to a property, whose name is a part of the reference. */
function renameReference(reference: string, aliases: ReadonlyMap<string, string>): string {
  if (!reference.startsWith('#/')) return reference;
  const segments = reference.split('/');
  return segments
    .map((segment, index) => {
      if (segments[index - 1] !== 'properties') return segment;
      return aliases.get(decodeSegment(segment)) ?? segment;
    })
    .join('/');
}

function withName(property: unknown, name: string): unknown {
  if (property === false) return property;
  const schema = isObject(property) ? property : {};
  const { description } = schema;
  const named = `The API calls it \`${name}\`.`;
  return { ...schema, description: typeof description === 'string' ? `${description} ${named}` : named };
}

function restore(value: unknown, schemas: readonly JsonSchema[], known: Renamed): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const applied = [...known.references.appliedTo(schemas)];
  if (Array.isArray(value)) {
    const inner = applied.flatMap(({ prefixItems, items, additionalItems, unevaluatedItems, contains }) =>
      [prefixItems, items, additionalItems, unevaluatedItems, contains].flat(),
    );
    return value.map((item) => restore(item, inner.filter(isObject), known));
  }
  const members = Object.entries(value).map(([key, member]) => {
    const declared = applied.flatMap(({ properties }) =>
      isObject(properties) && Object.hasOwn(properties, key) ? [properties[key]] : [],
    );
    const others = () =>
      applied.flatMap(({ additionalProperties, patternProperties, unevaluatedProperties }) => [
        additionalProperties,
        unevaluatedProperties,
        ...(isObject(patternProperties) ? Object.values(patternProperties) : []),
      ]);
    const name = declared.length > 0 ? (known.originals.get(key) ?? key) : key;
    const inner = declared.length > 0 ? declared : others();
    return [name, restore(member, inner.filter(isObject), known)];
  });
  const names = new Set<unknown>();
  for (const [name] of members) {
    if (names.has(name)) throw new RepeatedName(String(name));
    names.add(name);
  }
  return Object.fromEntries(members);
}
