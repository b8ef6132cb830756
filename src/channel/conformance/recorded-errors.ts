import type { DeliveryFailure, FieldError } from '../index.ts';

/** A problem that a channel made with `scope.problem`. */
export class RecordedProblem extends Error {
  readonly code: string;
  readonly errors: readonly FieldError[];

  constructor(code: string, detail: string, errors: readonly FieldError[] = []) {
    super(detail);
    this.code = code;
    this.errors = errors;
  }
}

/** An error that a channel made with `scope.deliveryFailed`. */
export class RecordedDeliveryFailure extends Error {
  readonly final: boolean;
  readonly retry_after_seconds: number | undefined;
  readonly platform: DeliveryFailure['platform'] | null;

  constructor(reason: string, { final, retry_after_seconds, platform }: DeliveryFailure) {
    super(reason);
    this.platform = platform ?? null;
    // The daemon ignores `final` if the platform as a whole has failed.
    this.final = final && this.platform === null;
    this.retry_after_seconds = retry_after_seconds;
  }
}
