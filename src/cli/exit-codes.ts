/** Exit codes (cli.md), with what a supervisor should make of them. */
export const EXIT = {
  /** Done. */
  ok: 0,
  /** The answer is no: token invalid, nothing found, check failed. Do not restart. */
  no: 1,
  /** Wrong usage: the command line must change. */
  usage: 2,
  /** Daemon or store out of reach: try again later. */
  unavailable: 69,
  /** Configuration: restarting does not help (`RestartPreventExitStatus=78`). */
  config: 78,
} as const;

/** The same for the manual pages; `serve` adds when it ends with 1. */
export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: 'Done.',
  no: 'The answer is no: token invalid, nothing found, check failed. Also for an unexpected error, which says so.',
  usage: 'Wrong usage: the command line must change.',
  unavailable: 'The daemon or its store is out of reach, or its address is in use: try again later.',
  config: 'The configuration must change first; restarting does not help.',
};
