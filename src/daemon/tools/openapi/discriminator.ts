import { isObject } from '../../../channel/json-object.ts';
import type { JsonSchema } from '../tool.ts';
import { type DocumentNode, formatPointer, parsePointer } from './document.ts';

/** The property of a union that names the form of a value, with the names that the document gives the forms. */
interface Discriminator {
  readonly property: string;
  /** The names of the forms, by the pointers of their schemas. */
  readonly mapping: ReadonlyMap<string, readonly string[]>;
}

/** The discriminator of a union; null if it has none, or if its mapping names other schemas than its forms. */
export function readDiscriminator(
  node: DocumentNode,
  branches: readonly DocumentNode[],
): Discriminator | null {
  const discriminator = node.child('discriminator');
  const property = discriminator.text('propertyName');
  if (property === null) return null;
  const targets = discriminator
    .child('mapping')
    .members()
    .flatMap(([name, { value }]) =>
      typeof value === 'string' ? [{ name, pointer: mappedPointer(value) }] : [],
    );
  const byPointer = Map.groupBy(targets, ({ pointer }) => pointer);
  const isMapped = branches.some((branch) => byPointer.has(branch.referred()?.pointer ?? ''));
  if (byPointer.size > 0 && !isMapped) return null;
  return {
    property,
    mapping: new Map([...byPointer].map(([pointer, names]) => [pointer, names.map(({ name }) => name)])),
  };
}

/**
 * A mapping names a schema by a reference, or by its name in the components. Programs that make one document of several
 * files leave the names of the files, which are usually those of the schemas.
 */
function mappedPointer(target: string): string {
  if (target.startsWith('#')) return formatPointer(parsePointer(target) ?? []);
  const name = target.slice(target.lastIndexOf('/') + 1).replace(/\.(?:json|ya?ml)$/, '');
  return `#/components/schemas/${name}`;
}

/**
 * A form of a union that says which values of the discriminator name it. Without a mapping that is the name of its
 * schema, unless the schema itself says which values it has.
 */
export function tagForm(
  form: JsonSchema | boolean,
  branch: DocumentNode,
  { property, mapping }: Discriminator,
): JsonSchema | boolean {
  const target = branch.referred();
  if (target === null || typeof form === 'boolean') return form;
  const own = findValues(branch, property, new Set());
  const mapped = mapping.get(target.pointer);
  const names = mapped ?? (own === null ? [String(target.at.at(-1))] : null);
  if (names === null || own?.some((value) => names.includes(value as string)) === false) return form;
  const properties = isObject(form.properties) ? form.properties : {};
  const known = isObject(properties[property]) ? properties[property] : {};
  return { ...form, properties: { ...properties, [property]: { ...known, enum: names } } };
}

/** The few values that a property of a schema can have; null if the schema does not say. */
function findValues(node: DocumentNode, property: string, seen: Set<string>): readonly unknown[] | null {
  const schema = node.resolved();
  if (seen.has(schema.pointer)) return null;
  seen.add(schema.pointer);
  const member = schema.child('properties').child(property);
  const { value } = member.resolved();
  if (isObject(value) && value.const !== undefined) return [value.const];
  if (isObject(value) && Array.isArray(value.enum)) return value.enum;
  for (const part of schema.child('allOf').items()) {
    const values = findValues(part, property, seen);
    if (values !== null) return values;
  }
  return null;
}
