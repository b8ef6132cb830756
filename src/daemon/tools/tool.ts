import type { CredentialPolicy, PersonClaims } from '../downstream/credentials.ts';
import type { ExchangeSettings } from '../downstream/token-exchange.ts';
import type { Log } from '../log.ts';
import type { Secret } from '../secret.ts';
import type { ToolClient } from './tool-client.ts';

export type { CredentialPolicy, PersonClaims };

/** Whether a call changes something. This determines the default policies, and what happens after a crash. */
export type Effect = 'read' | 'write';

/** Arguments of a call, checked against the tool's schema. */
export type ToolArguments = Readonly<Record<string, unknown>>;

/** JSON Schema of an object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * A tool as its source registers it. The record contains the policy of its calls, which only `bindTools` enforces. A
 * source only sends a call: `send` gets arguments that are checked and complete, and a client that is bound to the
 * origin of the source and carries the credential that the policy has chosen.
 */
export interface Tool {
  readonly name: string;
  /**
   * The name for people: `summary` of an OpenAPI operation, `title` of an MCP tool. If null, the name split into words
   * is used.
   */
  readonly title: string | null;
  readonly description: string;
  /** Schema of the arguments that a model fills in: closed at the top level, without the names of `bind`. */
  readonly parameters: JsonSchema;
  readonly source: ToolSourceInfo;
  readonly effect: Effect;
  readonly credentials: CredentialPolicy;
  /** Whether the person must confirm a call before it is made. */
  readonly confirm: 'always' | 'never';
  /** The question of the confirmation, with `{parameter}` to be filled in. If null, `title` is used. */
  readonly summary: string | null;
  /**
   * Top-level fields of a result, of the object or of each element of an array, that may be shown under default
   * credentials.
   */
  readonly public: readonly string[] | 'all';
  /**
   * Arguments that are filled from claims of the person's token: parameter (`body.field` for a field of the body) →
   * claim.
   */
  readonly bind: Readonly<Record<string, string>>;
  /** A call whose outcome is unknown may be repeated under the same idempotency key. */
  readonly idempotent: boolean;
  /**
   * Text for the model that says why no call can be sent with these arguments although the schema allows them; null if
   * one can. A write is checked before it is recorded and before the person is asked. Absent if the schema is complete.
   */
  unusable?(args: ToolArguments): string | null;
  /** Whether the tool is offered in this run. If absent, it always is. */
  offered?(run: ToolAudience): boolean;
  /**
   * Sends one call. Resolves to its outcome. Rejects only if `call.signal` aborts, or because of a defect of the
   * source.
   * @param args checked against the schema, including the bound ones
   */
  send(args: ToolArguments, call: ToolCall): Promise<Sent>;
}

/**
 * What the daemon knows about a source. Only `describeSource` makes this record: a source cannot say this about itself.
 */
export interface ToolSourceInfo {
  /** `built-in`, the `name` of an entry, or the path of a module. */
  readonly name: string;
  readonly kind: 'built-in' | 'openapi' | 'mcp' | 'module';
  /** The origin that it sends its calls to; null if there is none (stdio, or no `API_BASE_URL`). */
  readonly origin: string | null;
  /** Where the requests of its calls go, and what they carry; null if it has no address. */
  readonly target: SourceTarget | null;
  /**
   * Whether its results come from an origin other than that of `API_BASE_URL`. Later runs get memories of such a run
   * only if they search for them.
   */
  readonly foreign: boolean;
}

/** Where the requests of a source go, and which credentials may go there. */
export interface SourceTarget {
  /** All paths are below it. */
  readonly base_url: string;
  /** Whether it has the origin of `API_BASE_URL`: the default token is sent nowhere else. */
  readonly is_api: boolean;
  /** Whether the person's own token may be sent there (agentd-agent(7), "Credentials"). */
  readonly may_see_user_token: boolean;
  /** Sent with each request, for example an API key. */
  readonly headers: Readonly<Record<string, Secret>>;
  /** How the person's token is exchanged for one of this source. */
  readonly exchange: ExchangeSettings | null;
}

/** The properties of a run that determine whether a tool is offered. */
export interface ToolAudience {
  /**
   * Key of the owner of the memories (agentd-agent(7), "Memory"): a person, or a platform's verified user. Null if
   * neither is known.
   */
  readonly memory_of: string | null;
  /** Whether other people can read the conversation. */
  readonly shared: boolean;
}

/** One call, as its source sees it. */
export interface ToolCall {
  /** Bound to the source's origin and to this call's credential. A source without an origin cannot use it. */
  readonly client: ToolClient;
  /** Claims of the person whom the message acts for, never the token. Null if it acts for nobody. */
  readonly person: PersonClaims | null;
  /** The same for each attempt at one write; null for a read. */
  readonly idempotency_key: string | null;
  /** Aborts with the run, and at the time limit of the call. */
  readonly signal: AbortSignal;
  readonly log: Pick<Log, 'debug' | 'warn'>;
}

/**
 * The outcome of sending a call. It does not say under whose credentials the call was answered: the policy knows that
 * from the client.
 */
export type Sent =
  /**
   * `status`: status of the HTTP answer, which may be a 4xx or 5xx, with its body as the result; null if there is none.
   * `is_error`: the tool ran, and its result says that it failed (MCP).
   */
  | { outcome: 'answered'; status: number | null; result: unknown; is_error?: true }
  /** The policy requires the person's token, but there is none, or the API did not accept it. Nothing was done. */
  | { outcome: 'sign_in_needed' }
  /**
   * There is no usable answer. `reached`: the call may have been carried out. `message` is a text for the agent,
   * `reason` a stable word for the trace.
   */
  | { outcome: 'failed'; reached: boolean; reason: string; message: string };

/** Whose credentials an answer was made under. `none` includes fixed headers. */
export type CredentialsUsed = 'user' | 'default' | 'exchange' | 'none';

/** Where tools come from. */
export interface ToolSource {
  readonly info: ToolSourceInfo;
  /** Rejects with a configuration error if the configuration must be changed; any other problem is only a warning. */
  start(): Promise<void>;
  /** The current tools. They may change while the daemon runs (MCP). */
  list(): readonly Tool[];
  /** The state that `doctor` and `tools list` show. */
  state(): SourceState;
  stop(): Promise<void>;
}

export interface SourceState {
  readonly status: 'ok' | 'degraded';
  /** What is wrong, as a sentence; null if nothing is. */
  readonly detail: string | null;
  /** Tools that are configured but not offered now, by name, with the reason. */
  readonly withheld: readonly { name: string; because: string }[];
}
