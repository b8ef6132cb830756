/** Wait before the second attempt, ms; doubled for each further one. */
const FIRST_MS = 1000;
const LONGEST_MS = 60_000;
/** The longest wait that a platform can ask for, ms. */
const LONGEST_ASKED_MS = 60 * 60 * 1000;

/**
 * How long to wait before the next attempt, ms: doubled each time, up to a minute, less up to half of it by
 * chance, so that what failed together does not come back together; never less than was asked for.
 * @param attempts that were begun, 1 or more.
 * @param askedSeconds `Retry-After`, 0 where none was given.
 */
export function backOff(attempts: number, askedSeconds = 0): number {
  const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** (attempts - 1));
  const byChance = longest * (1 - Math.random() / 2);
  return Math.ceil(Math.max(byChance, Math.min(askedSeconds * 1000, LONGEST_ASKED_MS)));
}
