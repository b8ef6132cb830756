type Checked = { ok: true; args: Record<string, unknown> } | { ok: false; message: string };

interface PropertySchema {
  type?: string | readonly string[];
  enum?: readonly unknown[];
  maxLength?: number;
}

/**
 * Checks what a model filled in against a tool's JSON Schema, as far as tools here use it: an object,
 * `required`, `additionalProperties: false`, and `type`, `enum`, `maxLength` of each property. Models write
 * null for what they leave out, so a null that is not required counts as absent. `message` tells the model
 * what to mend.
 */
export function checkArguments(schema: Record<string, unknown>, given: unknown): Checked {
  const input = given ?? {};
  if (typeof input !== 'object' || Array.isArray(input))
    return refused('The arguments must be one JSON object.');
  const properties = (schema.properties ?? {}) as Record<string, PropertySchema>;
  const required = (schema.required ?? []) as readonly string[];
  const args: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(input)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (!property) {
      if (schema.additionalProperties === false)
        return refused(`There is no argument \`${name.slice(0, 64)}\`.`);
      args[name] = value;
      continue;
    }
    if (value === null && !required.includes(name) && !allows(property, null)) continue;
    if (!allows(property, value))
      return refused(`The argument \`${name}\` must be of type ${typesOf(property).join(' or ')}.`);
    if (property.enum && !property.enum.includes(value)) {
      return refused(`The argument \`${name}\` must be one of ${JSON.stringify(property.enum)}.`);
    }
    if (property.maxLength !== undefined && typeof value === 'string' && value.length > property.maxLength) {
      return refused(`The argument \`${name}\` must have at most ${property.maxLength} characters.`);
    }
    args[name] = value;
  }
  const missing = required.find((name) => !Object.hasOwn(args, name));
  return missing === undefined ? { ok: true, args } : refused(`The argument \`${missing}\` is missing.`);
}

function refused(message: string): Checked {
  return { ok: false, message };
}

function typesOf(property: PropertySchema): readonly string[] {
  if (property.type === undefined) return [];
  return typeof property.type === 'string' ? [property.type] : property.type;
}

function allows(property: PropertySchema, value: unknown): boolean {
  const types = typesOf(property);
  return types.length === 0 || types.some((type) => isOfType(type, value));
}

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}
