import type { PassingFailure } from '../../agent/index.ts';

export type * from '../../agent/index.ts';

/** Everything about an `AgentFailure` except its reason and message. */
interface FailureOptions extends Partial<PassingFailure> {
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

/** The wait that a failed run requests before the next run, in seconds; 0 if it requests none. */
export function requestedWait(failure: unknown): number {
  const { passing, retryAfterSeconds } = (failure ?? {}) as Partial<Record<keyof PassingFailure, unknown>>;
  const asks = passing === true && typeof retryAfterSeconds === 'number' && retryAfterSeconds > 0;
  return asks ? retryAfterSeconds : 0;
}

/** A write that was made for the sender of a message. */
interface OwnAction {
  /** ISO 8601. */
  time: string;
  /** One line of plain text. */
  summary: string;
  /** `started`, `done`, `failed` or `unknown`. */
  outcome: string;
  /** The system user of the operator who made the write with `agentd tools call`. Absent: the agent made it. */
  made_by_operator?: string;
}

/** The part of the journal of actions that the sender of a message may read: the writes made for them. */
export interface OwnJournal {
  /** Newest first. Rejects with `StoreUnavailable` if the journal cannot be read. */
  list(): Promise<OwnAction[]>;
}

type Fields = Record<string, unknown>;

/** The answer of `get_user` to a look-up that succeeded. */
export type UserLookUp =
  | { user: Fields; sign_in_needed?: false }
  /** Several users match, but none of them has exactly this address. */
  | { users: Fields[]; sign_in_needed?: false }
  | { found: false; sign_in_needed?: false; message: string }
  /** There was no user token: `user` has public fields at most. */
  | { sign_in_needed: true; message: string; user?: Fields };
