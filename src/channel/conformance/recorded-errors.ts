import type { FieldError } from '../index.ts';

/** A problem that a channel made through its scope. */
export class RecordedProblem extends Error {
  readonly code: string;
  readonly errors: readonly FieldError[];

  constructor(code: string, detail: string, errors: readonly FieldError[] = []) {
    super(detail);
    this.code = code;
    this.errors = errors;
  }
}

/** What a channel threw when its platform refused a reply. */
export class RecordedDeliveryFailure extends Error {
  readonly final: boolean;
  readonly retryAfterSeconds: number | undefined;

  constructor(reason: string, options: { final: boolean; retryAfterSeconds?: number }) {
    super(reason);
    this.final = options.final;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}
