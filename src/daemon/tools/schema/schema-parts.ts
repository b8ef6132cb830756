import { isObject } from '../../../channel/json-object.ts';
import { readMember, unescapeSegment, valueAt } from '../../syntax/json-path.ts';
import { percentDecoded } from '../../syntax/percent.ts';
import type { JsonSchema } from '../tool.ts';

/** A schema within another schema. */
interface SchemaPart {
  readonly schema: JsonSchema;
  /**
   * `same`: applied to the value that the outer schema is applied to. `inner`: applied to a member, an item or the name
   * of a member. `definition`: applied only if a reference names it.
   */
  readonly applies: 'same' | 'inner' | 'definition';
}

type Applies = SchemaPart['applies'];

/** Keywords whose value is a schema, a list of schemas, or both. */
const SCHEMAS: readonly (readonly [string, Applies])[] = [
  ['allOf', 'same'],
  ['anyOf', 'same'],
  ['oneOf', 'same'],
  ['not', 'same'],
  ['if', 'same'],
  ['then', 'same'],
  ['else', 'same'],
  ['items', 'inner'],
  ['prefixItems', 'inner'],
  ['additionalItems', 'inner'],
  ['unevaluatedItems', 'inner'],
  ['contains', 'inner'],
  ['additionalProperties', 'inner'],
  ['unevaluatedProperties', 'inner'],
  ['propertyNames', 'inner'],
];
/** Keywords whose value is an object whose members are schemas. */
const MAPS: readonly (readonly [string, Applies])[] = [
  ['properties', 'inner'],
  ['patternProperties', 'inner'],
  ['dependentSchemas', 'same'],
  ['dependencies', 'same'],
  ['$defs', 'definition'],
  ['definitions', 'definition'],
];

/** The schemas directly within a schema, without those that it refers to. */
export function listParts(schema: JsonSchema): SchemaPart[] {
  const parts: SchemaPart[] = [];
  const add = (value: unknown, applies: Applies) => {
    if (isObject(value)) parts.push({ schema: value, applies });
  };
  for (const [keyword, applies] of SCHEMAS) {
    const value = readMember(schema, keyword);
    for (const one of Array.isArray(value) ? value : [value]) add(one, applies);
  }
  for (const [keyword, applies] of MAPS) {
    const value = readMember(schema, keyword);
    if (isObject(value)) for (const one of Object.values(value)) add(one, applies);
  }
  return parts;
}

/** A copy of a schema in which each schema directly within it is replaced. */
export function mapParts(schema: JsonSchema, replace: (part: JsonSchema) => JsonSchema): JsonSchema {
  const one = (value: unknown) => (isObject(value) ? replace(value) : value);
  const members = Object.entries(schema).map(([keyword, value]) => {
    if (SCHEMAS.some(([known]) => known === keyword))
      return [keyword, Array.isArray(value) ? value.map(one) : one(value)];
    if (MAPS.some(([known]) => known === keyword) && isObject(value))
      return [keyword, Object.fromEntries(Object.entries(value).map(([name, part]) => [name, one(part)]))];
    return [keyword, value];
  });
  return Object.fromEntries(members);
}

/** The schemas of a document that references can name. */
export class SchemaReferences {
  readonly #root: JsonSchema;
  #anchors: ReadonlyMap<string, JsonSchema> | null = null;

  /** @param root a schema whose size and depth are limited. */
  constructor(root: JsonSchema) {
    this.#root = root;
  }

  /** The schemas that a schema refers to. A reference that cannot be followed is left out. */
  of(schema: JsonSchema): JsonSchema[] {
    return ['$ref', '$dynamicRef'].flatMap((keyword) => {
      const reference = readMember(schema, keyword);
      const target = typeof reference === 'string' ? this.#find(reference) : undefined;
      return isObject(target) ? [target] : [];
    });
  }

  /** The schemas that a schema applies to the same value: those within it, and those that it refers to. */
  sameValueParts(schema: JsonSchema): JsonSchema[] {
    const parts = listParts(schema).filter(({ applies }) => applies === 'same');
    return [...parts.map((part) => part.schema), ...this.of(schema)];
  }

  /** The schemas, and all schemas that they apply to the same value. */
  appliedTo(schemas: readonly JsonSchema[]): ReadonlySet<JsonSchema> {
    const applied = new Set(schemas);
    // A set also visits what is added meanwhile.
    for (const schema of applied) for (const part of this.sameValueParts(schema)) applied.add(part);
    return applied;
  }

  #find(reference: string): unknown {
    const { $id } = this.#root;
    const own =
      typeof $id === 'string' && reference.startsWith(`${$id}#`) ? reference.slice($id.length) : reference;
    if (own === '#' || own === $id) return this.#root;
    if (!own.startsWith('#')) return undefined;
    if (!own.startsWith('#/')) return this.#anchored().get(own.slice(1));
    return valueAt(this.#root, own.slice(2).split('/').map(decodeSegment));
  }

  #anchored(): ReadonlyMap<string, JsonSchema> {
    if (this.#anchors !== null) return this.#anchors;
    const anchors = new Map<string, JsonSchema>();
    const collect = (schema: JsonSchema) => {
      for (const name of [schema.$anchor, schema.$dynamicAnchor])
        if (typeof name === 'string') anchors.set(name, schema);
      for (const { schema: part } of listParts(schema)) collect(part);
    };
    collect(this.#root);
    this.#anchors = anchors;
    return anchors;
  }
}

/**
 * The name that a segment of a reference means (RFC 6901, section 6). A percent sign that encodes nothing is a part of
 * the name.
 */
export function decodeSegment(segment: string): string {
  return unescapeSegment(percentDecoded(segment));
}

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

/** Whether a value is a text, a number or a boolean. */
export function isScalar(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
