/** A release has three numbers. A pre-release adds a word and a number, as in `1.0.0-rc.1`. */
const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([a-z]+)\.(0|[1-9]\d*))?$/;

export function isVersion(text: string): boolean {
  return VERSION.test(text);
}

/** Whether `next` comes after `current` in the order of semver.org. Both must be versions. */
export function isLater(next: string, current: string): boolean {
  const [a, b] = [parseVersion(next), parseVersion(current)];
  const at = a.findIndex((part, index) => part !== b[index]);
  const [ours, theirs] = [a[at], b[at]];
  return ours !== undefined && theirs !== undefined && ours > theirs;
}

/**
 * A release comes after its pre-releases, so the missing word of a release is replaced with `~`, which sorts after
 * every word.
 */
function parseVersion(version: string): readonly (number | string)[] {
  const [, major, minor, patch, word = '~', number = '0'] = VERSION.exec(version) ?? [];
  return [Number(major), Number(minor), Number(patch), word, Number(number)];
}
