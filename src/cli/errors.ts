/** What a command refuses, in the three parts of a helpful error: what happened, on what, what to do. */
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
