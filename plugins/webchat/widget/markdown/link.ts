const SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:', 'mailto:']);

/** The address as the browser will follow it; null for any scheme but http, https and mailto, and for relative ones. */
export function safeAddress(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  return SCHEMES.has(url.protocol) ? url.href : null;
}
