import type { RequestContext } from '../agent/context.ts';
import type { UntrustedObject } from '../identity/decode-token.ts';
import type { Claims } from '../identity/identity.ts';
import type { Log } from '../process/log.ts';
import type { Secret } from '../settings/secret.ts';
import type { ConfirmPolicy } from './confirmation/confirm-policy.ts';
import type { ToolRequest } from './downstream/client.ts';
import type { CredentialForm } from './downstream/credential-form.ts';
import type { ExchangeSettings } from './downstream/token-exchange.ts';

/** Whose credentials the calls of a tool carry (agentd-agent(7), "Credentials"). */
export type CredentialPolicy = 'user-or-default' | 'user' | 'default' | 'none' | 'exchange';

/** All claims of a person's token, unchanged; `sub` and `email` were validated. */
export type PersonClaims = Pick<Claims, 'sub' | 'email'> & UntrustedObject;

/** Whether a call changes something. The effect determines the default policies, and what happens after a crash. */
export type Effect = 'read' | 'write';

/** The arguments of a call, checked against the tool's schema. */
export type ToolArguments = Readonly<Record<string, unknown>>;

/** A call with all of its arguments, including the bound ones. */
export interface CompleteCall {
  readonly tool: Tool;
  readonly args: ToolArguments;
}

export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * A tool as its source registers it. The record contains the policy of its calls, which only `bindTools` and
 * `executeConfirmed` enforce. The source only sends a call. `send` gets arguments that are checked and complete, and a
 * client that is bound to the origin of the source and carries the credential that the policy chose.
 */
export interface Tool extends ToolPolicy {
  readonly name: string;
  /**
   * The name for people: `summary` of an OpenAPI operation, `title` of an MCP tool. If null, people see `name`, split
   * into words.
   */
  readonly title: string | null;
  readonly description: string;
  /** The schema of the arguments that a model fills in: closed at the top level, without the bound arguments. */
  readonly parameters: JsonSchema;
  readonly source: ToolSourceInfo;
  /** Whether the tool reads or writes the memory of persons. Absent: it does not. */
  readonly of_memory?: true;
  /** Digest of the definition as a server sent it. Absent if the tool is not defined by a server. */
  readonly digest?: string;
  /** How long one call may take, ms. If absent, it may take `CALL_TIMEOUT_MS` (perform-call.ts). */
  readonly timeout_ms?: number;
  /**
   * Returns a text for the model that says why no call can be sent with these arguments although the schema allows
   * them; null if a call can be sent. A write is checked before it is recorded and before the person is asked. Absent
   * if the schema is complete.
   */
  unusable?(args: ToolArguments): string | null;
  /** Whether the tool is offered in this run. If absent, the tool is always offered. */
  offered?(run: ToolAudience): boolean;
  /**
   * Sends one call, and resolves to its outcome. Rejects only if `call.signal` aborts, or because of a defect of the
   * source.
   * @param args checked against the schema, including the bound ones.
   */
  send(args: ToolArguments, call: ToolCall): Promise<Sent>;
}

/** The policy of the calls of a tool. Of a tool from the configuration, only `readPolicy` makes it. */
export interface ToolPolicy {
  readonly effect: Effect;
  readonly credentials: CredentialPolicy;
  /** Whether the person must confirm a call before it is made. */
  readonly confirm: ConfirmPolicy;
  /** The action in the question for confirmation; `{parameter}` is filled in. If null, `title` or `name` is used. */
  readonly summary: string | null;
  /** The verb on the button that confirms the action. Absent: the text `confirm_button`. */
  readonly confirm_label?: string;
  /**
   * The top-level fields of a result that may be shown under default credentials. For an array, the fields of each
   * element.
   */
  readonly public: readonly string[] | 'all';
  /**
   * The arguments that are filled in from claims of the person's token. The keys are parameters, or `body.field` for a
   * field of the body; the values are the names of claims.
   */
  readonly bind: Readonly<Record<string, string>>;
  /** The bound arguments that the question for confirmation does not show, named as in `bind`. */
  readonly hide: readonly string[];
  /** Whether a call with an unknown outcome may be repeated with the same idempotency key. */
  readonly idempotent: boolean;
}

/** What the daemon knows about a source. Only describe-source.ts makes this record, and it asks the source nothing. */
export interface ToolSourceInfo {
  /** `built-in`, the `name` of an entry, or the path of a module. */
  readonly name: string;
  readonly kind: 'built-in' | 'openapi' | 'mcp' | 'module';
  /** The origin to which the calls go; null if there is none (stdio, or no `API_BASE_URL`). */
  readonly origin: string | null;
  /** Where the requests of the calls go, and what they carry; null if the source has no address. */
  readonly target: SourceTarget | null;
  /**
   * Whether its results come from an origin other than that of `API_BASE_URL`. If a run got such results, later runs
   * get its memories only if they search for them.
   */
  readonly foreign: boolean;
  /** What its answers must not show: its fixed headers, and the secrets that its entry lists. */
  readonly secrets: readonly Secret[];
}

/** Where the requests of a source go, and which credentials may go there. */
export interface SourceTarget {
  /** All request paths are below this URL. */
  readonly base_url: string;
  /** Whether the target has the origin of `API_BASE_URL`. The default token is sent to no other origin. */
  readonly is_api: boolean;
  /** Whether the person's own token may be sent there (agentd-agent(7), "Credentials"). */
  readonly may_see_user_token: boolean;
  /** Where its requests carry the credential, of the person or of the service. */
  readonly credential: CredentialForm;
  /** Headers that are sent with each request, for example an API key. */
  readonly headers: Readonly<Record<string, Secret>>;
  /** How the person's token is exchanged for a token of this source; null if it is not exchanged. */
  readonly exchange: ExchangeSettings | null;
}

/** The properties of a run that determine whether a tool is offered. */
export interface ToolAudience {
  /**
   * The key of the owner of the memories (agentd-agent(7), "Memory"): a person, or a platform's verified user. Null if
   * neither is known.
   */
  readonly memory_of: string | null;
  /** Whether other people can read the conversation. */
  readonly shared: boolean;
}

/** One call, as its source sees it. */
export interface ToolCall {
  /**
   * Bound to the origin of the source and to the credential of this call. A source without an origin cannot use the
   * client.
   */
  readonly client: ToolClient;
  /** The claims of the person whom the message acts for, never the token. Null if it acts for nobody. */
  readonly person: PersonClaims | null;
  /** Whom the message acts for, for the tools that the daemon itself has. Null if there is no message. */
  readonly context: Omit<RequestContext, 'readSession' | 'whyUnlinked'> | null;
  /** Each attempt at the same write has the same key; null for a read. */
  readonly idempotency_key: string | null;
  /** Aborts when the run is aborted, and at the time limit of the call. */
  readonly signal: AbortSignal;
  /** Starts the time limit of the call again. Called when the source knows that the call makes progress. */
  progressed(): void;
  readonly log: Pick<Log, 'debug' | 'warn'>;
}

/** What a server needs from the person before it can do what it was asked for. */
export interface Need {
  /** The words of the server, on one line. */
  readonly message: string;
  /** The page that the person should open; null if there is none that may be shown. */
  readonly url: string | null;
}

/**
 * The outcome of sending a call. It does not say whose credentials were used: the policy knows that from the client.
 */
export type Sent =
  /**
   * `status`: the status of the HTTP answer, which may be a 4xx or 5xx with its body as the result; null if there was
   * no HTTP answer. `is_error`: the tool ran, and its result says that it failed (MCP). `needs`: what the server needed
   * on the way, and did without. `headers`: headers of the HTTP answer for the agent.
   */
  | {
      outcome: 'answered';
      status: number | null;
      result: unknown;
      is_error?: true;
      needs?: readonly Need[];
      headers?: Readonly<Record<string, string>>;
    }
  /** The call was not carried out, because the server needs something from the person first. */
  | { outcome: 'input_required'; needs: readonly Need[] }
  /** The policy requires the person's token, but there is none, or the API did not accept it. */
  | { outcome: 'sign_in_needed' }
  /**
   * There is no usable answer. `reached`: the call may have been carried out. `message` is a text for the agent, and
   * `reason` is a stable word for the trace.
   */
  | { outcome: 'failed'; reached: boolean; reason: string; message: string };

/** A call that was not carried out. `message` is a text for the agent. */
export function refuseToSend(reason: string, message: string): Extract<Sent, { outcome: 'failed' }> {
  return { outcome: 'failed', reached: false, reason, message };
}

/** The kind of credentials with which an answer was made. `none`: no credentials, or only fixed headers. */
export type CredentialsUsed = 'user' | 'default' | 'exchange' | 'none';

/** Where tools come from. */
export interface ToolSource {
  readonly info: ToolSourceInfo;
  /**
   * Rejects with a configuration error if the configuration must be changed. Any other problem is only logged as a
   * warning.
   */
  start(): Promise<void>;
  /** The current tools. They may change while the daemon runs (MCP). */
  list(): readonly Tool[];
  /** The state of the source, as `doctor` and `tools list` show it. */
  state(): SourceState;
  stop(): Promise<void>;
}

export interface SourceState {
  readonly status: 'ok' | 'degraded';
  /** The problem, as a sentence; null if there is none. */
  readonly detail: string | null;
  /** What an administrator can do about it; absent if there is no problem. */
  readonly advice?: string;
  /** The tools that are configured but not offered now, by name, each with the reason. */
  readonly withheld: readonly { name: string; because: string }[];
}

/**
 * The HTTP client for one call of a tool. It sends requests to one origin only, adds the credential itself, and writes
 * a line to the trace for each request. It neither reveals a token nor sends it to another origin.
 */
export interface ToolClient {
  /**
   * Makes one request under the policy of the tool. After a 401 to a person's token, it repeats a read with default
   * credentials if the policy allows this. After a 401 to the default token or to an exchanged token, it repeats the
   * request once with a new token. The time and the size of the answer are limited. Redirects are followed only for
   * built-in tools, and only within the origin. Rejects only if the signal of the call aborts.
   */
  request(request: ToolRequest): Promise<ToolResponse>;
  /**
   * `fetch` for a protocol library (MCP). A request carries the credential that was chosen for this call, or none if
   * the policy is `none`. It sets no time limit, and rejects like the global `fetch`. A request to another origin is
   * refused, and a redirect is returned unchanged.
   */
  readonly fetch: typeof globalThis.fetch;
  /** Whose credentials were chosen for this call. */
  readonly credentials: CredentialsUsed;
  /**
   * Identifies the credential without revealing it: two calls have the same identity only if they carry the same
   * credential. A connection that was opened with one credential is never used for another.
   */
  readonly identity: string;
}

export type ToolResponse =
  | {
      outcome: 'answered';
      credentials: CredentialsUsed;
      status: number;
      body: unknown;
      /** The headers that an agent may need. */
      headers?: Readonly<Record<string, string>>;
    }
  | { outcome: 'sign_in_needed' }
  /** `reached`: the request may have been carried out. */
  | { outcome: 'failed'; reached: boolean; reason: string; message: string };
