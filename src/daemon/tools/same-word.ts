/**
 * Whether two names have the same letters and digits. Some servers take `account_id`, `accountId` and `account-id` for
 * one name, and a name with an invisible or a wide character for the name without it.
 */
export function isSameWord(first: string, second: string): boolean {
  return normalizeWord(first) === normalizeWord(second);
}

function normalizeWord(name: string): string {
  const lower = name.normalize('NFKC').toLowerCase();
  const word = lower.replace(/[^\p{L}\p{N}]/gu, '');
  return word === '' ? lower : word;
}
