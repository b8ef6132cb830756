export function isJson(type: string): boolean {
  return /^(?:application|text)\/json$|^[a-z]+\/[\w.+-]+\+json$/.test(essenceOf(type));
}

/** A media type without its parameters. */
export function essenceOf(type: string): string {
  return (type.split(';', 1)[0] ?? '').trim().toLowerCase();
}

/** Whether servers read a body of this type as named fields. */
export function hasFields(type: string): boolean {
  const essence = essenceOf(type);
  return isJson(type) || essence === 'application/x-www-form-urlencoded' || essence.startsWith('multipart/');
}

/** Whether a value of this type is written as text. */
export function isText(type: string): boolean {
  return /^text\/|[+/](?:x-)?(?:xml|yaml|ndjson|jsonl|csv|graphql|sql)$/.test(essenceOf(type));
}

/** The media types without the ranges, such as `image/*`. */
export function concreteTypes(types: readonly string[]): readonly string[] {
  return types.filter((type) => !type.includes('*'));
}
