/**
 * Reads a list `name=value,name=value`, the form of OTEL_EXPORTER_OTLP_HEADERS and OTEL_RESOURCE_ATTRIBUTES. Names and
 * values may be percent-encoded.
 * @returns null if the text is not of that form.
 */
export function parsePairs(text: string): (readonly [name: string, value: string])[] | null {
  const pairs: (readonly [string, string])[] = [];
  for (const item of text.split(',')) {
    if (item.trim() === '') continue;
    const end = item.indexOf('=');
    const name = item.slice(0, end).trim();
    if (end < 1 || name === '') return null;
    try {
      pairs.push([decodeURIComponent(name), decodeURIComponent(item.slice(end + 1).trim())]);
    } catch {
      return null;
    }
  }
  return pairs;
}
