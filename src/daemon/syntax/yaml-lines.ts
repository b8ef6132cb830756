import { EVENT_ID, type Event, getScalarValue, parseEvents } from 'js-yaml';

/** The path to a value in a document: names of members, and indexes of lists. */
export type DocumentPath = readonly (string | number)[];

/** Finds the line (from 1) of a value. Null if the text cannot be parsed. */
export type LineFinder = (path: DocumentPath) => number | null;

/** Maximum nesting depth. A recursive parser needs a limit. No document that a person writes is nested this deeply. */
const MAX_DEPTH = 500;

/**
 * Finds lines in a YAML or JSON text. A member is on the line of its name. For a path that leads nowhere, or through an
 * alias, the result is the line of the deepest value that exists on the path.
 */
export function createLineFinder(text: string): LineFinder {
  let events: readonly Event[] | null = null;
  return (path) => {
    try {
      events ??= parseEvents(text, { maxDepth: MAX_DEPTH });
    } catch {
      return null;
    }
    const offset = findOffset(events, text, path);
    return offset < 0 ? null : text.slice(0, offset).split('\n').length;
  };
}

function findOffset(events: readonly Event[], text: string, path: DocumentPath): number {
  // The first event opens the document.
  let at = 1;
  let offset = findStart(events[at]);
  for (const segment of path) {
    const found = findChild(events, text, at, segment);
    if (found === null) break;
    at = found.value;
    offset = found.offset;
  }
  return offset;
}

function findChild(
  events: readonly Event[],
  text: string,
  parent: number,
  segment: string | number,
): { value: number; offset: number } | null {
  const { type } = events[parent] ?? {};
  let at = parent + 1;
  if (type === EVENT_ID.SEQUENCE) {
    for (let index = 0; isNode(events[at]); index++) {
      if (index === Number(segment)) return { value: at, offset: findStart(events[at]) };
      at = findEnd(events, at);
    }
  } else if (type === EVENT_ID.MAPPING) {
    while (isNode(events[at])) {
      const key = events[at];
      const value = findEnd(events, at);
      if (key?.type === EVENT_ID.SCALAR && getScalarValue(text, key) === String(segment))
        return { value, offset: findStart(key) };
      at = findEnd(events, value);
    }
  }
  return null;
}

function isNode(event: Event | undefined): boolean {
  return event !== undefined && event.type !== EVENT_ID.POP;
}

/** The index after the node that begins at `at`. */
function findEnd(events: readonly Event[], at: number): number {
  let depth = 0;
  let next = at;
  do {
    const type = events[next]?.type;
    if (type === EVENT_ID.MAPPING || type === EVENT_ID.SEQUENCE) depth += 1;
    else if (type === EVENT_ID.POP) depth -= 1;
    next += 1;
  } while (depth > 0 && next < events.length);
  return next;
}

/** Where a node begins in the text; -1 for an empty node. */
function findStart(event: Event | undefined): number {
  if (event === undefined || !('anchorStart' in event)) return -1;
  const start = 'valueStart' in event ? event.valueStart : 'start' in event ? event.start : -1;
  return start >= 0 ? start : Math.max(event.anchorStart, 'tagStart' in event ? event.tagStart : -1);
}
