import type { DocumentNode } from './openapi-document.ts';

/** Maximum number of schemas that together describe the fields of a body. */
const MAX_FORMS = 2_000;

/** The schemas of each property that an object can have in any of the forms that its schema allows, by name. */
export function propertiesOf(schema: DocumentNode): ReadonlyMap<string, readonly DocumentNode[]> {
  const found = new Map<string, DocumentNode[]>();
  collect(schema, found, new Set());
  return found;
}

function collect(node: DocumentNode, found: Map<string, DocumentNode[]>, seen: Set<string>): void {
  const schema = node.resolved();
  if (seen.has(schema.pointer)) return;
  seen.add(schema.pointer);
  if (seen.size > MAX_FORMS)
    schema.refuse('is part of a body with too many forms', 'a body with fewer forms');
  for (const [name, member] of schema.child('properties').members())
    found.set(name, [...(found.get(name) ?? []), member]);
  for (const list of ['allOf', 'anyOf', 'oneOf'])
    for (const branch of schema.child(list).items()) collect(branch, found, seen);
}
