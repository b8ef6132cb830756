import type { ToolStatus } from '../../channel/index.ts';

/**
 * The agent port. `AGENT_RUNTIME=<path>` loads a module whose default export is an `AgentRuntime`:
 *
 *     export default {
 *       apiVersion: 1,
 *       async *run(turn) { yield `You said: ${turn.text}`; },
 *     };
 */
export interface AgentRuntime {
  apiVersion: 1;
  /**
   * Answers one message: yields pieces of text, which joined are the reply (Markdown). Tools are called
   * through `turn.tools`; their progress is told by the daemon. Must stop soon after `turn.signal` aborts.
   * What it throws becomes `agent_failed` (502); a run past its deadline becomes `agent_timeout` (504).
   * A message of a platform is run again after a failure. An error with `passing: true`, or of the network, says
   * that the cause is expected to pass (see `PassingFailure`).
   */
  run(turn: AgentTurn): AsyncIterable<string>;
  stop?(): Promise<void>;
}

export interface AgentTurn {
  /** What was said. */
  text: string;
  /** Earlier exchanges of the session that this sender may see, oldest first. */
  history: readonly PastExchange[];
  /** Whom the tools act for: from a valid token, never from the client's own words. Null: nobody. */
  person: AgentPerson | null;
  /** The sign-in of the sender was valid once and has expired. */
  sign_in_expired: boolean;
  /** What the client says of itself, unverified; `other`: under names of its own, at most 4 KiB of JSON. */
  claimed: {
    user_name?: string;
    page_url?: string;
    user_agent?: string;
    other?: Readonly<Record<string, unknown>>;
  };
  /** The channel's id of who speaks, and whether others read along. */
  speaker: string;
  shared: boolean;
  /** Name of the channel, and what it renders. */
  channel: { name: string; markdown: 'commonmark' | 'platform' | 'none' };
  /** `APP_NAME`. Its default, `agentd`, is no name to tell people: the operator has not named the service. */
  app_name: string;
  tools: readonly AgentTool[];
  /** Aborts at the deadline and when the daemon stops. */
  signal: AbortSignal;
  /** When the time of the run is over, ms since the epoch. */
  deadline: number;
  log: { debug(fields: object, message: string): void; warn(fields: object, message: string): void };
}

export interface PastExchange {
  /** What was said. */
  user: string;
  /** The channel's id of who said it. */
  speaker: string;
  reply: string;
  /**
   * It was said before the person signed in, perhaps by somebody else: a runtime hands it to a model as quoted data
   * only, marked as unverified.
   */
  before_sign_in?: true;
}

export interface AgentPerson {
  email: string;
  name?: string;
  locale?: string;
  timezone?: string;
}

/** A tool as the agent sees it: already bound to the message that is being answered. */
export interface AgentTool {
  name: string;
  description: string;
  /** JSON Schema of the arguments, an object. Never a person to act for: that comes from the context. */
  parameters: Record<string, unknown>;
  /**
   * Never throws for what the tool meets: a failure is an answer in words. Rejects only when `signal` aborts.
   */
  call(args: unknown): Promise<ToolAnswer>;
}

export type ToolAnswer =
  | { ok: true; result: unknown }
  /** In words that the agent can use. */
  | { ok: false; message: string };

/**
 * The members of an error that say that its cause is expected to pass, for example because the model is out of
 * reach. Such a run is repeated for INBOX_RUN_SECONDS; any other failed run at most INBOX_MAX_ATTEMPTS times.
 */
export interface PassingFailure {
  readonly passing: boolean;
  /** How long the model asks to wait (`Retry-After`). The next run waits that long; a 502 says so too. */
  readonly retryAfterSeconds?: number | undefined;
}

/** What an `AgentFailure` tells beside its reason. */
export interface FailureOptions extends Partial<PassingFailure> {
  cause?: unknown;
  /** Shown beside the reason in the trace. */
  detail?: Readonly<Record<string, string | number>>;
}

/**
 * What a runtime that fails for a known reason throws. All of it is for operators, nothing for the person who wrote:
 * `reason` is a stable word for the trace, `detail` is shown beside it.
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

export type { ToolStatus };
