/**
 * If set to anything, random tests play their original, high number of rounds. This takes a night, so it is not for
 * each commit.
 */
const IS_THOROUGH = Boolean(process.env.THOROUGH);

/** The number of rounds of a random test in each run of the suite, and with THOROUGH=1. */
export function effort(usual: number, thorough: number): number {
  return IS_THOROUGH ? thorough : usual;
}
