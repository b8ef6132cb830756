import { isObject } from '../../channel/json-object.ts';
import { SchemaReferences } from './schema-parts.ts';
import type { JsonSchema } from './tool.ts';

/** The property that says which form of a union an object has. */
export interface UnionTag {
  readonly tag: string;
  /** The values of the property for each form that an object can have, by the index of the form. */
  readonly forms: ReadonlyMap<number, readonly unknown[]>;
}

/** What is known about the values that fit a schema. */
interface Facts {
  /** Whether an object can fit. */
  readonly objects: boolean;
  /** The properties that have one of a few values if they are given. */
  readonly tags: ReadonlyMap<string, readonly unknown[]>;
  readonly required: ReadonlySet<string>;
}

const ANYTHING: Facts = { objects: true, tags: new Map(), required: new Set() };
const MAX_DEPTH = 16;

/**
 * Finds the property whose value names the form of an object: in every form that an object can have, the property has a
 * constant or one of a few values, and no value belongs to two forms. Null if there is none.
 */
export function findTag(forms: readonly unknown[], root: JsonSchema): UnionTag | null {
  const references = new SchemaReferences(root);
  const facts = forms.map((form) => factsOf(form, references, 0));
  const objects = [...facts.entries()].filter(([, form]) => form.objects);
  const [first] = objects;
  if (first === undefined || objects.length < 2) return null;
  const candidates = [...first[1].tags.keys()].filter((name) => {
    const values = objects.map(([, form]) => form.tags.get(name) ?? []);
    return values.every((some) => some.length > 0) && new Set(values.flat()).size === values.flat().length;
  });
  const isAlwaysRequired = (name: string) => objects.every(([, form]) => form.required.has(name));
  const tag = candidates.find(isAlwaysRequired) ?? candidates[0];
  if (tag === undefined) return null;
  return { tag, forms: new Map(objects.map(([index, form]) => [index, form.tags.get(tag) ?? []])) };
}

function factsOf(schema: unknown, references: SchemaReferences, depth: number): Facts {
  if (schema === false) return { ...ANYTHING, objects: false };
  if (!isObject(schema) || depth > MAX_DEPTH) return ANYTHING;
  const { properties, required, allOf, anyOf, oneOf } = schema;
  const tags = new Map<string, readonly unknown[]>();
  for (const [name, property] of isObject(properties) ? Object.entries(properties) : []) {
    const values = valuesOf(property, references, depth);
    if (values !== null) tags.set(name, values);
  }
  const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
  const own = { objects: allowsObjects(schema), tags, required: new Set(names) };
  const also = [...references.of(schema), ...(Array.isArray(allOf) ? allOf : [])];
  const unions = [anyOf, oneOf].filter((list) => Array.isArray(list) && list.length > 0) as unknown[][];
  return [
    ...also.map((one) => factsOf(one, references, depth + 1)),
    ...unions.map((list) => either(list.map((one) => factsOf(one, references, depth + 1)))),
  ].reduce(both, own);
}

function both(one: Facts, other: Facts): Facts {
  const tags = new Map(one.tags);
  for (const [name, values] of other.tags) {
    const known = tags.get(name);
    tags.set(name, known === undefined ? values : values.filter((value) => known.includes(value)));
  }
  return {
    objects: one.objects && other.objects,
    tags,
    required: new Set([...one.required, ...other.required]),
  };
}

function either(all: readonly Facts[]): Facts {
  const forms = all.filter(({ objects }) => objects);
  const [first] = forms;
  if (first === undefined) return { ...ANYTHING, objects: false };
  const names = [...first.tags.keys()].filter((name) => forms.every(({ tags }) => tags.has(name)));
  return {
    objects: true,
    tags: new Map(
      names.map((name) => [name, [...new Set(forms.flatMap(({ tags }) => tags.get(name) ?? []))]]),
    ),
    required: new Set(
      [...first.required].filter((name) => forms.every(({ required }) => required.has(name))),
    ),
  };
}

function allowsObjects({ type, enum: values, const: value }: JsonSchema): boolean {
  if (type !== undefined && ![type].flat().includes('object')) return false;
  const allowed = value !== undefined ? [value] : Array.isArray(values) ? values : null;
  return allowed === null || allowed.some((one) => typeof one === 'object' && one !== null);
}

/** The few values that a property can have; null if it can have others. */
function valuesOf(schema: unknown, references: SchemaReferences, depth: number): readonly unknown[] | null {
  if (!isObject(schema) || depth > MAX_DEPTH) return null;
  const { const: value, enum: values, allOf } = schema;
  const own = value !== undefined ? [value] : Array.isArray(values) ? values : null;
  if (own !== null) return own.every(isScalar) ? own : null;
  const also = [...references.of(schema), ...(Array.isArray(allOf) ? allOf : [])];
  for (const one of also) {
    const found = valuesOf(one, references, depth + 1);
    if (found !== null) return found;
  }
  return null;
}

function isScalar(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
