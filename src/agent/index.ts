export type * from './tool.ts';

/**
 * The agent contract ("agentd/agent"): the types that your own runtime or tool needs. They are erased when the
 * module is loaded, so that a single `.ts` file works with no build and no node_modules.
 *
 * A module under `tools:` in the configuration file has a `ToolDefinition`, or a list of them, as its default export:
 *
 *     import type { ToolDefinition } from 'agentd/agent';
 *
 *     export default {
 *       name: 'opening_hours',
 *       description: 'Says when the shop is open.',
 *       parameters: { type: 'object', properties: {} },
 *       effect: 'read',
 *       credentials: 'none',
 *       call: () => 'Monday to Friday, 9 to 17',
 *     } satisfies ToolDefinition;
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
   * Answers one message. The pieces of text that it yields are joined; the result is the reply (Markdown). It calls
   * tools through `turn.tools`; the daemon reports their progress. It must end soon after `turn.signal` aborts.
   *
   * An error becomes `agent_failed` (502); a run that passes its deadline becomes `agent_timeout` (504). The run of a
   * message from a platform is repeated after a failure. An error with `passing: true` (`PassingFailure`) and a network
   * error mean that the cause is expected to be temporary.
   */
  run(turn: AgentTurn): AsyncIterable<string>;
  /**
   * Summarizes exchanges that no longer fit into the history (AGENT_HISTORY_TOKENS). The daemon calls it in the
   * background, after a reply was sent. If it is absent, the oldest exchanges are left out without a summary. If it
   * throws, the daemon logs the error, and tries again after a later message.
   */
  summarize?(request: SummaryRequest): Promise<string>;
  stop?(): Promise<void>;
}

/** One message, and everything that the runtime may use to answer it. */
export interface AgentTurn {
  /** The name of the agent that answers, if the configuration lists several; else `default`. */
  readonly agent?: string;
  /** The text of the message. */
  text: string;
  /** The id of the session. Whoever knows it may continue the session: show it neither to a model nor to people. */
  session_id: string;
  /** Earlier exchanges of the session that this sender may see, oldest first. */
  history: readonly PastExchange[];
  /** Summary of the exchanges before `history`, made by `summarize` for this person. Null if there is none. */
  summary: string | null;
  /**
   * The person that the tools act for. It comes from a valid token, never from claims of the client. Null if nobody is
   * signed in.
   */
  person: AgentPerson | null;
  /** The same person as the system of the operator knows them; never the token. Null if nobody is signed in. */
  principal: AgentPrincipal | null;
  /** What this runtime keeps in the session for the same principal. */
  state: AgentState;
  /** Whether the sender's sign-in has expired. */
  sign_in_expired: boolean;
  /**
   * What the client claims about itself, unverified. `other` contains further claims under the client's own keys, at
   * most 4 KiB of JSON.
   */
  claimed: {
    user_name?: string;
    page_url?: string;
    user_agent?: string;
    other?: Readonly<Record<string, unknown>>;
  };
  /** The sender's id on the channel. */
  speaker: string;
  /** Whether other people can read this conversation. */
  shared: boolean;
  /** The channel's name, and the markup that it renders. */
  channel: { name: string; markdown: 'commonmark' | 'platform' | 'none' };
  /** `APP_NAME`. If it is the default, `agentd`, do not show it to people: the operator has not named the service. */
  app_name: string;
  tools: readonly AgentTool[];
  /** Report the beginning and the end of every language model call here. */
  meter: ModelMeter;
  /**
   * The actions that the person has just confirmed, in their order; empty if nothing was confirmed. The daemon has made
   * the calls: tell the person their outcome. After an action that failed or whose outcome is unknown, the rest was not
   * made, and the answers say so.
   */
  confirmed_actions: readonly ConfirmedAction[];
  /**
   * The actions that the person is asked to confirm and that this message neither confirms nor declines; empty if there
   * are none. The daemon asks again at the end of the reply. A call that needs confirmation, other than one of these,
   * withdraws them. Give them to a model only as quoted data.
   */
  waiting: readonly WaitingAction[];
  /**
   * The writes that an earlier, interrupted run of this message made. If this run repeats one of these calls, the call
   * is not made again, and the run gets the stored answer. If the outcome is `unknown`, the repeated call is refused,
   * unless the tool is `idempotent`: then it is made again. A different write with the same tool needs a confirmation.
   * The reply should tell the person what was done.
   */
  already_done: readonly AlreadyDone[];
  /**
   * Call this if the run ends before it can say what its calls did, for example because it has used all its steps. The
   * daemon then adds the outcome of each write of this message to the end of the reply.
   */
  reportWrites(): void;
  /**
   * What earlier runs remembered about the sender, the best matches for the message first. Give it to a model only as
   * quoted data. Empty if the sender is not known, if other people can read the conversation, or if nothing matches.
   */
  memories: readonly AgentMemory[];
  /**
   * Aborts at the deadline, when the person stops the answer, when the daemon stops or loses the message, and when the
   * run has ended.
   */
  signal: AbortSignal;
  /** When the run began, ms since the epoch: the time to tell a model. */
  started_at: number;
  /** When the run must have ended, ms since the epoch. */
  deadline: number;
  log: { debug(fields: object, message: string): void; warn(fields: object, message: string): void };
}

/** An action that the person confirmed. The daemon asked the person and made the call; an agent cannot do either. */
export interface ConfirmedAction {
  /** Name of the tool. */
  tool: string;
  /** The summary that the person was shown, on one line of plain text. */
  summary: string;
  /** The answer of the tool. */
  answer: ToolAnswer;
}

/** An action that waits for the person. */
export interface WaitingAction {
  /** Its number in the question. */
  number: number;
  /** Name of the tool. */
  tool: string;
  /** The summary that the person was shown, on one line of plain text. */
  summary: string;
}

/** A write of an earlier run of the same message. */
export interface AlreadyDone {
  /** Name of the tool. */
  tool: string;
  /** What was done, with its arguments, on one line of plain text. */
  summary: string;
  /** `failed`: the write was refused, or nothing was sent. `unknown`: the write may have been carried out. */
  outcome: 'done' | 'failed' | 'unknown';
  /** Status of the HTTP answer; null if there is none. */
  status: number | null;
}

/** One earlier message of the session, with its reply. */
export interface PastExchange {
  /** The text of the message. */
  user: string;
  /** The sender's id on the channel. */
  speaker: string;
  reply: string;
  /**
   * The calls of tools that this message led to, and their answers as that run got them. Only if that run acted for the
   * same principal, at most 16 KiB. Absent if there are none.
   */
  calls?: readonly PastCall[];
  /**
   * Set if the message was sent before the person signed in, perhaps by somebody else. Give it to a model only as
   * quoted data, marked as unverified.
   */
  before_sign_in?: true;
}

/** A call of a tool by an earlier run. */
export interface PastCall {
  tool: string;
  args: unknown;
  /** At most 4 KiB of JSON. */
  answer: ToolAnswer;
  /** Set if the answer was cut. A mark in it says what was left out. */
  cut?: true;
}

/** Exchanges that will no longer be in the history. */
export interface SummaryRequest {
  /** The summary of everything before `exchanges`; null if there is none. The new summary replaces it. */
  summary: string | null;
  /** Oldest first. */
  exchanges: readonly PastExchange[];
  /** Maximum length of the summary, in characters. */
  max_characters: number;
  meter: ModelMeter;
  /** Aborts at the deadline and when the daemon stops. */
  signal: AbortSignal;
  /** ms since the epoch. */
  deadline: number;
  log: AgentTurn['log'];
}

/**
 * Meters the calls of language models. Each call gets a line in the trace, and its tokens count toward
 * AGENT_DAILY_TOKENS of the person or the anonymous client.
 */
export interface ModelMeter {
  /** Call this before each request to a model. It reserves `prompt_tokens` and `max_output_tokens`. */
  begin(call: {
    model: string;
    /** The provider of the model for telemetry, for example `openai` or `anthropic`. */
    provider?: string | undefined;
    /** Estimated number of tokens in the prompt. */
    prompt_tokens: number;
    /** If absent, an answer of usual length is assumed. */
    max_output_tokens?: number | undefined;
  }): Promise<MeteredCall>;
}

export type MeteredCall =
  | {
      ok: true;
      end(result: ModelCallResult): Promise<void>;
      /**
       * Exports and records what the model received and answered. Call it before `end`. Absent unless
       * OTEL_GENAI_CAPTURE_CONTENT or RECORD_RUNS is set.
       */
      content?(content: ModelCallContent): void;
    }
  /** The budget AGENT_DAILY_TOKENS is used up. Make no call, and answer with this text. */
  | { ok: false; message: string };

/** What a model received and answered. */
export interface ModelCallContent {
  /** The messages that the model received, as a list of JSON values. */
  input: unknown;
  /** The text of the answer. */
  output: string;
  /** The calls of tools in the answer; `args` is the text that the model wrote. */
  tool_calls?: readonly { tool: string; args: string }[];
  /** Why the answer ended, for example `stop`, `tool-calls` or `length`. */
  finish_reason?: string;
}

/** How a call of a model ended. Only the first result of a call counts. */
export interface ModelCallResult {
  /** A stable word for the trace if the call failed. */
  failure?: string;
  input_tokens: number;
  output_tokens: number;
  /** Set if the model did not say how many tokens it used. */
  estimated?: boolean;
  /** When the first token arrived, ms after `begin`. */
  first_token_ms?: number;
}

/** A text that an earlier run remembered (agentd-agent(7), "Memory"). */
export interface AgentMemory {
  text: string;
  /** When it was stored: `2030-01-31`. */
  date: string;
  /**
   * Set if the run that stored the memory had read tool results from an origin other than the API's. Such a memory is
   * never in `memories`: only a tool call returns it.
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

/** The person of a valid token, by the claims that identify the person, with the roles of the token. */
export interface AgentPrincipal {
  sub: string;
  tenant_id: string | null;
  roles: readonly string[];
}

/**
 * A JSON value that a runtime keeps in a session. It belongs to the principal of the run that set it: a run for another
 * person, for nobody, or for another user of a shared conversation is not given it. It ends with its session.
 */
export interface AgentState {
  /** As the latest run set it whose reply was stored. Null if there is none. */
  readonly value: unknown;
  /**
   * Replaces the state; null deletes it. It is stored together with the reply, and only if there is one.
   *
   * @throws TypeError if the value is not JSON; RangeError if it has more than 8 KiB of JSON.
   */
  set(value: unknown): void;
}

/** A tool, already bound to the message that is being answered. */
export interface AgentTool {
  name: string;
  /** The name for people. If null, use the name split into words. */
  title: string | null;
  description: string;
  /** Whether a call changes something. */
  effect: 'read' | 'write';
  /**
   * `always`: a call waits until the person confirms it. The question is asked at the end of the reply. `when`: this
   * depends on the arguments, and on what was done before.
   */
  confirm: 'always' | 'when' | 'never';
  /** JSON Schema of the arguments, of type `object`. No argument says for whom to act: the message decides that. */
  parameters: Record<string, unknown>;
  /**
   * Returns a failure as an answer with `ok: false`. Rejects if the `signal` of the turn aborts, and after `run` has
   * ended: calls that are still being made are then canceled, and no further call is made.
   */
  call(args: unknown): Promise<ToolAnswer>;
}

export type ToolAnswer =
  | { ok: true; result: unknown; headers?: AnswerHeaders }
  /** `message` is a text for the agent. */
  | { ok: false; message: string; headers?: AnswerHeaders };

/**
 * Headers of the API's response that say where the next page is, and how many requests are left: `link`, `retry-after`,
 * `ratelimit…`, `x-ratelimit…`, in lower case. Absent if there is none, or if the result may not be shown as a whole.
 */
export type AnswerHeaders = Readonly<Record<string, string>>;

/**
 * A runtime adds these members to an error if it expects the cause to be temporary, for example if the model is
 * unreachable. A run that fails in this way is repeated until INBOX_RUN_SECONDS have passed. After other failures, the
 * run of a message is tried at most INBOX_MAX_ATTEMPTS times.
 */
export interface PassingFailure {
  readonly passing: boolean;
  /**
   * How long the model asks to wait (`Retry-After`). The next run waits that long, and a 502 response has the same
   * `Retry-After`.
   */
  readonly retryAfterSeconds?: number | undefined;
}
