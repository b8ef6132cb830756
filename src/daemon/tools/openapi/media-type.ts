export function isJson(type: string): boolean {
  return /^(?:application|text)\/json$|^[a-z]+\/[\w.+-]+\+json$/.test(essenceOf(type));
}

/** A media type without its parameters. */
export function essenceOf(type: string): string {
  return (type.split(';', 1)[0] ?? '').trim().toLowerCase();
}
