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
  no: 'No: the token is invalid, nothing was found, or a check failed. Also an unexpected error, which is reported as such.',
  usage: 'Wrong usage: the command line must change.',
  unavailable: 'The daemon or its store cannot be reached, or its address is in use: try again later.',
  config: 'The configuration must change first; a restart does not help.',
};

/** An expected failure of a command: what happened, and what to do. */
export class CliError extends Error {
  readonly exitCode: number;
  readonly advice: string | undefined;

  constructor(exitCode: number, message: string, advice?: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'CliError';
    this.exitCode = exitCode;
    this.advice = advice;
  }
}

type Create = (message: string, advice?: string, options?: { cause?: unknown }) => CliError;

/** The answer is no (1), for example because nothing was found. */
export const failed: Create = (...words) => new CliError(EXIT.no, ...words);
/** Wrong usage (2): the command line must change. */
export const usageError: Create = (...words) => new CliError(EXIT.usage, ...words);
/** The daemon or its store cannot be reached (69). */
export const unavailable: Create = (...words) => new CliError(EXIT.unavailable, ...words);
/** The configuration must change (78). */
export const misconfigured: Create = (...words) => new CliError(EXIT.config, ...words);

/** The messages of all causes, because often only the innermost one says what to fix (`connect ECONNREFUSED …`). */
export function causesInWords(cause: unknown): string {
  const messages: string[] = [];
  for (let next = cause; next instanceof Error && messages.length < 5; next = next.cause)
    messages.push(next.message);
  return messages.map((message) => message.replace(/\.$/, '')).join(': ');
}

/** Matches the codes and messages of errors about the certificate of a server. */
const CERTIFICATE = /certificate|altname|_CERT(?:_|\b)|\bCERT_|UNABLE_TO_(?:VERIFY|GET)_/i;

/** Advice on a failure, and what to do about a certificate if it was the reason: curl may trust other authorities. */
export function withCertificateAdvice(advice: string, failure: string): string {
  if (!CERTIFICATE.test(failure)) return advice;
  return `${advice} Certificates are always checked: if one is from an authority of your own, name its file in NODE_EXTRA_CA_CERTS, in the environment of the process.`;
}
