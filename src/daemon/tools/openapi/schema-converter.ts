import { isObject } from '../../../channel/json-object.ts';
import type { JsonSchema } from '../tool.ts';
import { readDiscriminator, tagForm } from './discriminator.ts';
import type { DocumentNode, OpenApiDocument } from './document.ts';

const NONE: ReadonlySet<string> = new Set();
/** Maximum number of schemas of one operation, and their maximum nesting depth. Schemas in place can multiply. */
const MAX_SCHEMAS = 20_000;
const MAX_DEPTH = 200;

/** Keywords whose values are copied unchanged. */
const PLAIN = [
  'title',
  'description',
  'type',
  'format',
  'contentMediaType',
  'contentEncoding',
  'default',
  'const',
  'multipleOf',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minContains',
  'maxContains',
  'minProperties',
  'maxProperties',
  'dependentRequired',
];
const SCHEMA = [
  'not',
  'items',
  'additionalProperties',
  'contains',
  'propertyNames',
  'unevaluatedItems',
  'unevaluatedProperties',
];
/**
 * Keywords whose schemas apply to the same value: a name that is hidden in one of the schemas is hidden in all of them.
 */
const SAME_VALUE = ['if', 'then', 'else'];
const SAME_VALUE_LISTS = ['allOf', 'anyOf', 'oneOf'];
const UNIONS = ['anyOf', 'oneOf'];
/** Keywords that describe a value and do not constrain it. */
const DESCRIBING = ['title', 'description', 'default'];
const SCHEMA_MAPS = ['patternProperties', 'dependentSchemas'];

/**
 * Converts the schemas of a document to JSON Schema 2020-12, for the model and for Ajv. A schema that is recursive, or
 * that is referred to more than once and has no hidden properties, becomes a definition in `$defs`. All other schemas
 * are written in place. Properties that only answers have (`readOnly`) are left out, and so are keywords that neither
 * constrain nor describe a value.
 */
export class SchemaConverter {
  readonly #version: OpenApiDocument['version'];
  /** The number of references to a schema, by its pointer. */
  readonly #references = new Map<string, number>();
  /** The names of the definitions, by the pointers of their schemas. */
  readonly #names = new Map<string, string>();
  readonly #definitions = new Map<string, unknown>();
  /** Pointers of the schemas that are being written in place. */
  readonly #open = new Set<string>();
  #converted = 0;
  #depth = 0;

  /** @param schemas all schemas that will be converted. */
  constructor(version: OpenApiDocument['version'], schemas: readonly DocumentNode[]) {
    this.#version = version;
    for (const schema of schemas) this.#count(schema, 0);
  }

  /** The definitions for `$defs`: the schemas that the converted schemas refer to. */
  get definitions(): Readonly<Record<string, unknown>> {
    return Object.fromEntries(this.#definitions);
  }

  /** @param hidden the names of properties that the value cannot have. */
  convert(node: DocumentNode, hidden: ReadonlySet<string> = NONE): JsonSchema | boolean {
    const { value } = node;
    if (typeof value === 'boolean') return value;
    if (!isObject(value)) return node.refuse('is not a schema', 'an object');
    if (++this.#converted > MAX_SCHEMAS)
      return node.refuse(
        `is part of more than ${MAX_SCHEMAS} schemas, which is too large`,
        'a smaller schema',
      );
    if (this.#depth > MAX_DEPTH) return refuseDepth(node);
    this.#depth++;
    const target = node.referred();
    const converted =
      target === null
        ? this.#convertPlain(node, value, hidden)
        : this.#convertReference(node, value, target, hidden);
    this.#depth--;
    return converted;
  }

  #convertReference(
    node: DocumentNode,
    value: Readonly<Record<string, unknown>>,
    target: DocumentNode,
    hidden: ReadonlySet<string>,
  ): JsonSchema | boolean {
    const { pointer } = target;
    const isShared = (this.#references.get(pointer) ?? 0) > 1;
    const written =
      this.#open.has(pointer) || (isShared && hidden.size === 0)
        ? { $ref: `#/$defs/${this.#define(target)}` }
        : this.#convertInPlace(target, hidden);
    const { $ref: _reference, nullable, ...siblings } = value;
    // OpenAPI 3.0 ignores the siblings of a reference. But a description can still help the model, and `nullable` says
    // what the API accepts.
    const beside =
      this.#version === '3.1'
        ? this.#convertPlain(node, siblings, hidden)
        : typeof siblings.description === 'string'
          ? { description: siblings.description }
          : {};
    if (nullable === true) return { ...beside, anyOf: [written, { type: 'null' }] };
    if (Object.keys(beside).length === 0) return written;
    if (typeof written === 'object' && ('$ref' in written || this.#version === '3.0'))
      return { ...written, ...beside };
    return { allOf: [written], ...beside };
  }

  #convertInPlace(target: DocumentNode, hidden: ReadonlySet<string>): JsonSchema | boolean {
    this.#open.add(target.pointer);
    const converted = this.convert(target, hidden);
    this.#open.delete(target.pointer);
    return converted;
  }

  #define(target: DocumentNode): string {
    const { pointer } = target;
    const known = this.#names.get(pointer);
    if (known !== undefined) return known;
    const own = String(target.at.at(-1) ?? 'document').replace(/[^A-Za-z0-9_.-]/g, '_');
    const taken = new Set(this.#names.values());
    let name = own;
    for (let number = 2; taken.has(name); number++) name = `${own}_${number}`;
    this.#names.set(pointer, name);
    // A definition is separate from the surrounding schemas that are being written in place, so those are ignored here.
    const outer = new Set(this.#open);
    this.#open.clear();
    this.#definitions.set(name, this.convert(target));
    for (const open of outer) this.#open.add(open);
    return name;
  }

  #convertPlain(
    node: DocumentNode,
    value: Readonly<Record<string, unknown>>,
    hiddenAround: ReadonlySet<string>,
  ): JsonSchema {
    const hidden = union(hiddenAround, readOnlyNames(node, new Set()));
    const schema: Record<string, unknown> = {};
    for (const keyword of PLAIN) if (value[keyword] !== undefined) schema[keyword] = value[keyword];
    if (Array.isArray(value.enum)) schema.enum = distinct(value.enum);
    if (typeof value.pattern === 'string') {
      const pattern = convertPattern(value.pattern);
      if (pattern !== null) schema.pattern = pattern;
      else schema.description = [schema.description, `Pattern: ${value.pattern}`].filter(Boolean).join(' ');
    }
    for (const keyword of SCHEMA) {
      if (value[keyword] !== undefined) schema[keyword] = this.convert(node.child(keyword));
    }
    for (const keyword of SAME_VALUE) {
      if (value[keyword] !== undefined) schema[keyword] = this.convert(node.child(keyword), hidden);
    }
    for (const keyword of SAME_VALUE_LISTS) {
      const branches = node.child(keyword).items();
      if (branches.length === 0) continue;
      const tags = UNIONS.includes(keyword) ? readDiscriminator(node, branches) : null;
      schema[keyword] = branches.map((branch) => {
        const converted = this.convert(branch, hidden);
        return tags === null || hidden.has(tags.property) ? converted : tagForm(converted, branch, tags);
      });
    }
    if (Array.isArray(value.prefixItems))
      schema.prefixItems = node
        .child('prefixItems')
        .items()
        .map((item) => this.convert(item));
    for (const keyword of SCHEMA_MAPS) {
      if (!isObject(value[keyword])) continue;
      const members = node.child(keyword).members();
      schema[keyword] = Object.fromEntries(members.map(([name, member]) => [name, this.convert(member)]));
    }
    if (isObject(value.properties)) {
      const members = node
        .child('properties')
        .members()
        .filter(([name]) => !hidden.has(name));
      schema.properties = Object.fromEntries(members.map(([name, member]) => [name, this.convert(member)]));
    }
    if (Array.isArray(value.required)) {
      const names = distinct(value.required.filter((name) => typeof name === 'string' && !hidden.has(name)));
      if (names.length > 0) schema.required = names;
    }
    const modern = modernizeSchema(schema);
    return value.nullable === true ? withNull(modern) : modern;
  }

  #count(node: DocumentNode, depth: number): void {
    if (depth > MAX_DEPTH) refuseDepth(node);
    const target = node.referred();
    if (target !== null) {
      const times = (this.#references.get(target.pointer) ?? 0) + 1;
      this.#references.set(target.pointer, times);
      if (times === 1) this.#count(target, depth + 1);
    }
    for (const keyword of [...SCHEMA, ...SAME_VALUE]) {
      const child = node.child(keyword);
      if (isObject(child.value)) this.#count(child, depth + 1);
    }
    for (const keyword of [...SAME_VALUE_LISTS, 'prefixItems'])
      for (const item of node.child(keyword).items()) this.#count(item, depth + 1);
    for (const keyword of [...SCHEMA_MAPS, 'properties'])
      for (const [, member] of node.child(keyword).members()) this.#count(member, depth + 1);
  }
}

/** The properties of an object that occur only in answers, including those that its `allOf` adds. */
function readOnlyNames(node: DocumentNode, seen: Set<string>): Set<string> {
  const names = new Set<string>();
  if (!isObject(node.value) || !('properties' in node.value || 'allOf' in node.value)) return names;
  if (seen.has(node.pointer)) return names;
  seen.add(node.pointer);
  if (seen.size > MAX_DEPTH) refuseDepth(node);
  for (const [name, member] of node.child('properties').members()) {
    const { value } = member.resolved();
    const isReadOnly = (schema: unknown) => isObject(schema) && schema.readOnly === true;
    if (isReadOnly(value) || isReadOnly(member.value)) names.add(name);
  }
  for (const branch of node.child('allOf').items())
    for (const name of readOnlyNames(branch.resolved(), seen)) names.add(name);
  return names;
}

function refuseDepth(node: DocumentNode): never {
  return node.refuse('is nested too deeply', 'a schema with fewer levels');
}

/** Converts forms of OpenAPI 3.0 that JSON Schema expresses differently. Documents of 3.1 have them, too. */
function modernizeSchema(schema: Record<string, unknown>): JsonSchema {
  for (const [bound, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    if (typeof schema[exclusive] !== 'boolean') continue;
    if (schema[exclusive] && schema[bound] !== undefined) {
      schema[exclusive] = schema[bound];
      delete schema[bound];
    } else delete schema[exclusive];
  }
  return schema;
}

/**
 * The schema, which also allows null. OpenAPI 3.0 gives `nullable` a meaning only beside `type`, and 3.1 none at all,
 * but documents use it everywhere, and their APIs accept null.
 */
function withNull(schema: JsonSchema): JsonSchema {
  if ([...SAME_VALUE_LISTS, ...SAME_VALUE, 'not', 'const'].some((keyword) => schema[keyword] !== undefined)) {
    const isDescribing = ([keyword]: [string, unknown]) => DESCRIBING.includes(keyword);
    const members = Object.entries(schema);
    const constraints = Object.fromEntries(members.filter((member) => !isDescribing(member)));
    return { ...Object.fromEntries(members.filter(isDescribing)), anyOf: [constraints, { type: 'null' }] };
  }
  const { type, enum: values } = schema;
  return {
    ...schema,
    ...(type === undefined ? {} : { type: distinct([type, 'null'].flat()) }),
    ...(Array.isArray(values) ? { enum: distinct([...values, null]) } : {}),
  };
}

/** Characters other than letters and digits that can be escaped in a regular expression with the flag `u`. */
const SYNTAX = /[\^$\\.*+?()[\]{}|/]/;

/**
 * A pattern in the form in which Ajv compiles it: with the flag `u`, where an unnecessary escape is a mistake. Null if
 * the pattern is of another dialect and cannot be checked here; the description then contains the pattern.
 */
function convertPattern(pattern: string): string | null {
  const strict = pattern.replace(/\\(.)/gs, (whole, character: string) => {
    if (/[A-Za-z0-9]/.test(character) || SYNTAX.test(character)) return whole;
    return character === '-' ? '\\x2d' : character;
  });
  return [pattern, strict].find(isRegularExpression) ?? null;
}

function isRegularExpression(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u').unicode;
  } catch {
    return false;
  }
}

function distinct(values: readonly unknown[]): unknown[] {
  const seen = new Map(values.map((value) => [JSON.stringify(value), value]));
  return [...seen.values()];
}

function union(first: ReadonlySet<string>, second: ReadonlySet<string>): ReadonlySet<string> {
  if (second.size === 0) return first;
  return first.size === 0 ? second : new Set([...first, ...second]);
}
