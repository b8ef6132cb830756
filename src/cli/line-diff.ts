/** Maximum number of lines to compare. If more lines may differ, all old ones are shown, and then all new ones. */
const MAX_COMPARED = 1_000;

/**
 * The lines of two texts, old and new, with `-` before removed lines, `+` before added lines, and two spaces before
 * others.
 */
export function lineDiff(before: string, after: string): string[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  const begin = commonLength(old, now);
  const end = commonLength(old.slice(begin).reverse(), now.slice(begin).reverse());
  const kept = (line: string) => `  ${line}`;
  return [
    ...old.slice(0, begin).map(kept),
    ...compare(old.slice(begin, old.length - end), now.slice(begin, now.length - end)),
    ...old.slice(old.length - end).map(kept),
  ];
}

function commonLength(one: readonly string[], other: readonly string[]): number {
  const differs = one.findIndex((line, at) => line !== other[at]);
  return differs < 0 ? Math.min(one.length, other.length) : differs;
}

/** Compares the lines by their longest common subsequence. */
function compare(old: readonly string[], now: readonly string[]): string[] {
  const gone = (line: string) => `- ${line}`;
  const added = (line: string) => `+ ${line}`;
  if (old.length > MAX_COMPARED || now.length > MAX_COMPARED) return [...old.map(gone), ...now.map(added)];
  // common[i][j]: length of the longest common subsequence of the lines from i and from j on.
  const common = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  const at = (i: number, j: number) => common[i]?.[j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--)
      (common[i] as Uint16Array)[j] =
        old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: string[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    const [one = '', other = ''] = [old[i], now[j]];
    if (i < old.length && j < now.length && one === other) {
      lines.push(`  ${one}`);
      i++;
      j++;
    } else if (j === now.length || (i < old.length && at(i + 1, j) >= at(i, j + 1))) {
      lines.push(gone(one));
      i++;
    } else {
      lines.push(added(other));
      j++;
    }
  }
  return lines;
}
