import type { DeliveryFailure, FieldError } from '../index.ts';

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

/** The error of a channel whose platform did not take a reply. */
export class RecordedDeliveryFailure extends Error {
  readonly final: boolean;
  readonly retryAfterSeconds: number | undefined;
  readonly platform: DeliveryFailure['platform'] | null;

  constructor(reason: string, { final, retryAfterSeconds, platform }: DeliveryFailure) {
    super(reason);
    this.platform = platform ?? null;
    // As the daemon reads it.
    this.final = final && this.platform === null;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
