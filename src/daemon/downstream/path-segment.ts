/**
 * The characters that structure a path, percent-encoded, and the percent sign itself. Proxies decode them before they
 * choose where a request goes. `;` is one of them because some servers read the segment `..;x` as `..`.
 */
const STRUCTURE = /%(?:2e|2f|5c|3b|25)/gi;
/** A segment is decoded this often: once for its own encoding, and twice for servers that decode again. */
const DECODINGS = 3;

/** Whether a server may find a slash or a backslash in this percent-encoded segment. */
export function holdsSlash(segment: string): boolean {
  return readings(segment).some((reading) => /[/\\]/.test(reading));
}

/**
 * Whether a server may find an empty segment, `.` or `..` in this percent-encoded segment. Only a segment that begins
 * with a `;` of its own, as a matrix parameter does, may be nothing else than parameters.
 */
export function isUnsafeSegment(segment: string): boolean {
  const unsafe = segment.startsWith(';') ? /^\.{1,2}(?:;|$)/ : /^\.{0,2}(?:;|$)/;
  return readings(segment).some((reading) =>
    reading.split(/[/\\]/).some((part) => part === '' || unsafe.test(part)),
  );
}

/** The segment as it is, and as servers read it after decoding it once or more. */
function readings(segment: string): string[] {
  const found = [segment];
  let read = segment;
  for (let decoded = 0; decoded < DECODINGS && read.includes('%'); decoded++) {
    read = read.replace(STRUCTURE, decodeURIComponent);
    found.push(read);
  }
  return found;
}
