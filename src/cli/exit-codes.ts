/** Exit codes, with what a supervisor should do. */
export const EXIT = {
  /** Done. */
  ok: 0,
  /** The answer is no: token invalid, nothing found, check failed. Do not restart. */
  no: 1,
  /** Wrong usage: the command line must change. */
  usage: 2,
  /** The daemon or its store cannot be reached: try again later. */
  unavailable: 69,
  /** Configuration: a restart does not help (`RestartPreventExitStatus=78`). */
  config: 78,
} as const;

/** The meaning of each exit code, for the manual pages. The page of `serve` also says when `serve` exits with 1. */
export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: 'Done.',
  no: 'The answer is no: the token is invalid, nothing was found, or a check failed. Also an unexpected error, which is reported as such.',
  usage: 'Wrong usage: the command line must change.',
  unavailable: 'The daemon or its store cannot be reached, or its address is in use: try again later.',
  config: 'The configuration must change first; a restart does not help.',
};
