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
