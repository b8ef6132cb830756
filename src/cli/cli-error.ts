import { EXIT } from './exit-codes.ts';

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
