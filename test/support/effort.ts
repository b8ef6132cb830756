/** Set to anything: tests of chance play as many rounds as they once were tried with. For a night, not for a commit. */
const IS_THOROUGH = Boolean(process.env.THOROUGH);

/** How often a test of chance plays in each run of the suite, and with THOROUGH=1. */
export function effort(usual: number, thorough: number): number {
  return IS_THOROUGH ? thorough : usual;
}
