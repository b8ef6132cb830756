/**
 * Why a path may lead to another place than its segments say; null if it cannot. The URL parser resolves dot segments,
 * drops tabs and newlines, and reads a backslash as a slash. A proxy in front of the API may also decode the path and
 * merge its segments. The text completes a sentence about the path.
 *
 * @param allow_slash whether a segment may contain an encoded slash or backslash.
 */
export function findPathProblem(path: string, allow_slash: boolean): string | null {
  if (!path.startsWith('/')) return 'does not begin with a slash';
  if (/[\\\s\x00-\x1f]/.test(path)) return 'has a blank, a control character or a backslash';
  const segments = path.slice(1).split('/');
  if (segments.some(holdsControl)) return 'has an encoded control character in a segment';
  if (!allow_slash && segments.some(holdsSlash)) return 'has an encoded `/` or `\\` in a segment';
  // A slash at the end is a part of many paths.
  if (segments.at(-1) === '') segments.pop();
  return segments.some(isUnsafeSegment) ? 'has a segment that is empty, `.` or `..`' : null;
}

/**
 * The characters of ASCII, percent-encoded. Proxies decode them before they choose where a request goes. Letters and
 * digits are among them because an encoding may be encoded itself: `%25%32%65` is `%2e`, which is a dot.
 */
const ASCII = /%[0-7][0-9a-f]/gi;
/**
 * The same in bytes that UTF-8 does not allow because they are too long, and in the `%u` notation. Lenient decoders
 * accept both.
 */
const LENIENT =
  /%(?:c0%|e0%80%|f0%80%80%)([89ab][0-9a-f])|%c1%([89ab][0-9a-f])|%u(00[0-7][0-9a-f]|ff[0-5][0-9a-f])/gi;
/** The bytes of a character that servers may replace by a similar one in ASCII, such as `．` by `.`. */
const WIDE = /%e2%80%[a9][0-9a-f]|%e2%84%[89ab][0-9a-f]|%ef%(?:b9|bc|bd)%[89ab][0-9a-f]/gi;
/** A segment is decoded this often: once for its own encoding, and twice for servers that decode again. */
const DECODINGS = 3;

/** Whether a server may find a slash or a backslash in this percent-encoded segment. */
export function holdsSlash(segment: string): boolean {
  return readings(segment).some((reading) => /[/\\]/.test(reading));
}

/** Whether a server may find a control character in this percent-encoded segment: the end of a text or of a line. */
export function holdsControl(segment: string): boolean {
  return readings(segment).some((reading) => /[\x00-\x1f\x7f]/.test(reading));
}

/**
 * Whether a server may find an empty segment, `.` or `..` in this percent-encoded segment, perhaps after it has removed
 * blanks at its ends, or a `;` with what follows it. Only a segment that begins with a `;` of its own, as a matrix
 * parameter does, may be nothing else than parameters.
 */
export function isUnsafeSegment(segment: string): boolean {
  const unsafe = segment.startsWith(';') ? /^\.{1,2}(?:;|$)/ : /^\.{0,2}(?:;|$)/;
  return readings(segment).some((reading) =>
    reading.split(/[/\\]/).some((part) => part === '' || unsafe.test(part.replaceAll(' ', ''))),
  );
}

/** The segment as it is, and as servers read it after decoding it once or more. */
function readings(segment: string): string[] {
  const found = [segment.normalize('NFKC')];
  let read = segment;
  for (let decoded = 0; decoded < DECODINGS && read.includes('%'); decoded++) {
    read = read
      .replace(WIDE, (bytes) => decodeURIComponent(bytes).normalize('NFKC'))
      .replace(LENIENT, lenient)
      .replace(ASCII, decodeURIComponent);
    found.push(read);
  }
  return found;
}

function lenient(
  _: string,
  after_c0: string | undefined,
  after_c1: string | undefined,
  u: string | undefined,
) {
  if (u !== undefined) return String.fromCharCode(Number.parseInt(u, 16)).normalize('NFKC');
  const byte = Number.parseInt(after_c0 ?? after_c1 ?? '', 16) & 0x3f;
  return String.fromCharCode(after_c0 === undefined ? byte + 0x40 : byte);
}
