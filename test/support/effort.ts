/**
 * If THOROUGH is set to anything, random tests run many more rounds. This takes a whole night, so it is not done for
 * each commit.
 */
const IS_THOROUGH = Boolean(process.env.THOROUGH);

/** The number of rounds of a random test: the usual number or, with THOROUGH=1, the thorough one. */
export function effort(usual: number, thorough: number): number {
  return IS_THOROUGH ? thorough : usual;
}
