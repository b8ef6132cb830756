import type { IncomingHttpHeaders } from 'node:http';

/** Maximum number of headers of an answer that an agent gets, and maximum length of each, in characters. */
const MAX_HEADERS = 16;
const MAX_CHARACTERS = 1_000;
const SHOWN = /^(?:link|retry-after|(?:x-)?rate-?limit(?:-[a-z0-9-]{1,40})?)$/;

/** The headers of an answer that say where its next page is, and how many requests are left; undefined if none does. */
export function shownHeaders(headers: IncomingHttpHeaders): Readonly<Record<string, string>> | undefined {
  const shown = Object.entries(headers)
    .filter(([name, value]) => SHOWN.test(name) && value !== undefined)
    .slice(0, MAX_HEADERS)
    .map(([name, value]) => [
      name,
      String(value)
        .replace(/[^\x20-\x7e]/g, ' ')
        .slice(0, MAX_CHARACTERS),
    ]);
  return shown.length === 0 ? undefined : (Object.fromEntries(shown) as Record<string, string>);
}
