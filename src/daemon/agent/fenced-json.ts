/** JSON that contains nothing that could close the fence around it. */
export function fencedJson(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c');
}
