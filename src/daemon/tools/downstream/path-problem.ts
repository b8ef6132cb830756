import { holdsControl, holdsSlash, isUnsafeSegment } from './path-segment.ts';

/**
 * Why a path may lead to another place than its segments say; null if it cannot. The URL parser resolves dot segments,
 * drops tabs and newlines, and reads a backslash as a slash. A proxy in front of the API may also decode the path and
 * merge its segments. The text completes a sentence about the path.
 *
 * @param allow_slash whether a segment may contain an encoded slash or backslash.
 */
export function pathProblem(path: string, allow_slash: boolean): string | null {
  if (!path.startsWith('/')) return 'does not begin with a slash';
  if (/[\\\s\x00-\x1f]/.test(path)) return 'has a blank, a control character or a backslash';
  const segments = path.slice(1).split('/');
  if (segments.some(holdsControl)) return 'has an encoded control character in a segment';
  if (!allow_slash && segments.some(holdsSlash)) return 'has an encoded `/` or `\\` in a segment';
  // A slash at the end is a part of many paths.
  if (segments.at(-1) === '') segments.pop();
  return segments.some(isUnsafeSegment) ? 'has a segment that is empty, `.` or `..`' : null;
}
