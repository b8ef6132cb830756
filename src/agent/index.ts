/**
 * The agent contract ("agentd/agent"): the types that a runtime of your own needs. They are erased when the module is
 * loaded, so that a single `.ts` file works with no build and no node_modules.
 *
 * `AGENT_RUNTIME=<path>` loads a module whose default export is an `AgentRuntime`:
 *
 *     import type { AgentRuntime } from 'agentd/agent';
 *
 *     export default {
 *       apiVersion: 1,
 *       async *run(turn) {
 *         yield `You said: ${turn.text}`;
 *       },
 *     } satisfies AgentRuntime;
 */
export interface AgentRuntime {
  apiVersion: 1;
  /**
   * Answers one message. The pieces of text that it yields are joined to the reply (Markdown). It calls tools through
   * `turn.tools`; the daemon reports their progress. It must end soon after `turn.signal` aborts.
   *
   * An error becomes `agent_failed` (502); a run that passes its deadline becomes `agent_timeout` (504). The run of a
   * message from a platform is repeated after a failure. An error with `passing: true` (`PassingFailure`) and a network
   * error say that the cause is expected to pass.
   */
  run(turn: AgentTurn): AsyncIterable<string>;
  stop?(): Promise<void>;
}

/** One message, and everything that the runtime may know to answer it. */
export interface AgentTurn {
  /** The text of the message. */
  text: string;
  /** Earlier exchanges of the session that this sender may see, oldest first. */
  history: readonly PastExchange[];
  /** The person that the tools act for. It comes from a valid token, never from what the client claims. Null: nobody. */
  person: AgentPerson | null;
  /** The sender was signed in, and the sign-in has expired. */
  sign_in_expired: boolean;
  /** What the client claims about itself, unverified. `other` holds its own keys, at most 4 KiB of JSON. */
  claimed: {
    user_name?: string;
    page_url?: string;
    user_agent?: string;
    other?: Readonly<Record<string, unknown>>;
  };
  /** The channel's id of the sender. */
  speaker: string;
  /** Other people can read this conversation. */
  shared: boolean;
  /** The channel's name, and the markup that it renders. */
  channel: { name: string; markdown: 'commonmark' | 'platform' | 'none' };
  /** `APP_NAME`. Do not show the default, `agentd`, to people: the operator has not named the service. */
  app_name: string;
  tools: readonly AgentTool[];
  /**
   * What earlier runs remembered of whoever writes, the best matches for the message first. Give it to a model only as
   * quoted data. Empty if nobody is known, if other people read along, or if nothing matches.
   */
  memories: readonly AgentMemory[];
  /** Aborts at the deadline and when the daemon stops. */
  signal: AbortSignal;
  /** When the time of the run is over, ms since the epoch. */
  deadline: number;
  log: { debug(fields: object, message: string): void; warn(fields: object, message: string): void };
}

/** One earlier message of the session, with its reply. */
export interface PastExchange {
  /** The text of the message. */
  user: string;
  /** The channel's id of the sender. */
  speaker: string;
  reply: string;
  /**
   * The message was sent before the person signed in, perhaps by somebody else. Give it to a model only as quoted
   * data, marked as unverified.
   */
  before_sign_in?: true;
}

/** A text that an earlier run remembered (agentd-agent(7), "Memory"). */
export interface AgentMemory {
  text: string;
  /** When it was stored: `2030-01-31`. */
  date: string;
  /**
   * Results of tools of another origin than the API were in the run that stored it. Only a tool call returns such a
   * memory: it is never given unasked.
   */
  from_elsewhere?: true;
}

/** The person of a valid token. */
export interface AgentPerson {
  email: string;
  name?: string;
  locale?: string;
  timezone?: string;
}

/** A tool, already bound to the message that is being answered. */
export interface AgentTool {
  name: string;
  /** What a person calls it. Null: the name, split into words. */
  title: string | null;
  description: string;
  /** Whether a call changes something. */
  effect: 'read' | 'write';
  /** `always`: a call is not made at once. The person is asked at the end of the reply. */
  confirm: 'always' | 'never';
  /** JSON Schema of the arguments, an object. It never names a person to act for: the message decides that. */
  parameters: Record<string, unknown>;
  /** Returns failures as an answer in words. Rejects only if `signal` aborts. */
  call(args: unknown): Promise<ToolAnswer>;
}

export type ToolAnswer =
  | { ok: true; result: unknown }
  /** In words that the agent can use. */
  | { ok: false; message: string };

/**
 * Members of an error that a runtime throws if it expects the cause to pass, for example if the model is out of reach.
 * Such a run is repeated for INBOX_RUN_SECONDS. Any other run that fails is made at most INBOX_MAX_ATTEMPTS times.
 */
export interface PassingFailure {
  readonly passing: boolean;
  /** How long the model asks to wait (`Retry-After`). The next run waits that long, and a 502 says so, too. */
  readonly retryAfterSeconds?: number | undefined;
}
