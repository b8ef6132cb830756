import type { PassingFailure } from '../../agent/index.ts';

export type * from '../../agent/index.ts';

/** Everything about an `AgentFailure` except its reason and message. */
export interface FailureOptions extends Partial<PassingFailure> {
  cause?: unknown;
  /** Shown next to the reason in the trace. */
  detail?: Readonly<Record<string, string | number>>;
}

/**
 * The error that a bundled runtime throws for a known reason. Everything in it is for operators. Nothing in it may be
 * shown to the person who wrote the message. `reason` is a stable word for the trace; `detail` is shown next to it.
 */
export class AgentFailure extends Error implements PassingFailure {
  readonly reason: string;
  readonly passing: boolean;
  readonly retryAfterSeconds: number | undefined;
  readonly detail: Readonly<Record<string, string | number>>;

  constructor(
    reason: string,
    message: string,
    { cause, passing = false, retryAfterSeconds, detail = {} }: FailureOptions = {},
  ) {
    super(message, cause === undefined ? {} : { cause });
    this.name = 'AgentFailure';
    this.reason = reason;
    this.passing = passing;
    this.retryAfterSeconds = retryAfterSeconds;
    this.detail = detail;
  }
}
