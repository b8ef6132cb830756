import type {
  ConversationEvent,
  EditedMessage,
  IncomingMessage,
  JsonObject,
  OutgoingReply,
  StreamEvent,
} from './message.ts';
import type { ChannelSettings, ChannelText, SettingRecord } from './setting.ts';
import type { PlatformSimulator } from './simulator.ts';

/**
 * The channel contract, in the order of a channel's life:
 *
 * 1. **Loaded.** The daemon imports the module and reads its default export, a `ChannelPlugin`. It checks `apiVersion`
 *    before it reads or runs anything else. Importing the module must have no side effects.
 * 2. **Given its settings and scope.** The daemon validates the plugin's settings, then calls `create(scope)`. It also
 *    creates an instance for each `check`, so `create` must not open sockets or start timers. Do that in `start`.
 * 3. **Started.** The daemon calls `start()` before it listens. If `start()` rejects, the daemon does not start.
 * 4. **Receives.** The daemon calls the channel's `routes`, or the channel reads its own connection. The channel answers
 *    in the response (`scope.converse`), or on an event stream that a second request opens (`scope.streams`), or it
 *    enqueues the messages (`scope.enqueue`) and answers 200 only after they are stored. Its scope has what its
 *    `delivery` needs, and nothing else.
 * 5. **Sends.** The daemon calls `send(reply)` until it resolves, reports a final failure, or INBOX_SEND_SECONDS have
 *    passed. The daemon stores the reply and keeps the order; the channel only knows the wire format.
 * 6. **Stopped.** The daemon calls `stop()` once, even if `start()` failed. It also stops an instance that it created
 *    only for a `check`.
 *
 * Data has names like `user_id`. Functions, and what a plugin declares, have names like `sendParts`.
 *
 * Every channel gets durability, order within a session, limits, identity and retries from the daemon, and cannot opt
 * out of them. A plugin imports "agentd/channel" (this contract and a few pure functions) and
 * "agentd/channel/markdown". The daemon provides both, so a single `.ts` file works with no build and no node_modules.
 * Every function that has an effect is in the scope.
 */

/** The contract version that this daemon supports. */
export const CHANNEL_API_VERSION = 1;

/** A plugin. `delivery` decides which scope its channel gets, and what the channel must be able to do. */
export type ChannelPlugin = ResponsePlugin | StreamPlugin | PushPlugin;

/** Answers in the response to the message. */
export interface ResponsePlugin extends PluginBase {
  delivery: 'response';
  capabilities: WebCapabilities;
  create(scope: ResponseScope): WebChannel;
}

/** Answers while the reply is written, in the response or on an event stream that a second request opens. */
export interface StreamPlugin extends PluginBase {
  delivery: 'stream';
  capabilities: WebCapabilities;
  create(scope: StreamScope): WebChannel;
}

/** Answers with `send`, at any later time. */
export interface PushPlugin extends PluginBase {
  delivery: 'push';
  capabilities: PushCapabilities;
  create(scope: PushScope): PushChannel;
}

interface PluginBase {
  /** Lower-case letters, digits and hyphens; every message of the channel has this name as its `platform`. */
  name: string;
  apiVersion: 1;
  /** One sentence: who can talk to the agent through the channel. */
  summary: string;
  /**
   * The plugin's settings. Their names begin with the channel's name in upper snake case (`TELEX_TOKEN` of `telex`).
   */
  settings: readonly SettingRecord[];
  /** Whether the channel is configured. Called if `MESSAGING_PLATFORMS` is unset. */
  detect(settings: ChannelSettings): boolean;
  /** Present if users of the channel can be linked to a person. */
  linking?: ChannelLinking;
  /** Simulates the platform, for `agentd simulate` and `serve --dev`. Loaded only when it is used. */
  simulator?(): Promise<PlatformSimulator>;
  /** The texts of the channel that operators can replace. */
  texts?: readonly ChannelText[];
  /** Makes the channel known to its platform, for `agentd channels setup`. */
  setup?: ChannelSetup;
  /** Addresses of the event streams, for `agentd chat`. Absent if the channel has none. */
  eventStream?: EventStreamPaths;
}

/** Paths of the two requests of an event stream. */
export interface EventStreamPaths {
  /** `POST` `{user_id, message, …}`; the answer is `{stream_id}`. */
  start: string;
  /** `GET` reads the stream, `DELETE` stops it. Contains `:stream_id`. */
  stream: string;
}

/** How `agentd link` names the users of a channel. */
export interface ChannelLinking {
  /** The word of `agentd link <word>`; default: the channel's name. */
  word?: string;
  /** Placeholder for the user id in usage and messages, for example `NUMBER`. */
  argument: string;
  /**
   * The correct form of a user id. It completes the hint "Write it with {form}." for people who wrote an id
   * differently.
   */
  form?: string;
  /**
   * All spellings that the platform uses for this user id. Links are stored under the first spelling. Empty if `given`
   * is not an id of the platform.
   */
  idsOf(given: string): readonly string[];
}

export type ChannelCapabilities = WebCapabilities | PushCapabilities;

interface CapabilitiesBase {
  /** Longest text of one message, in the unit that the platform counts. Null if there is no limit. */
  textLimit: number | null;
  /** Markup that `send` can render. The agent is told which markup this is. */
  markdown: 'commonmark' | 'platform' | 'none';
  /** Whether the channel can show that an answer is being written. */
  typing: boolean;
  /**
   * Whether the platform has groups, in which several people read and write. Default true. If false, a message that is
   * `shared` is refused, and the simulator and the conformance suite use direct conversations only.
   */
  groups?: boolean;
}

export interface WebCapabilities extends CapabilitiesBase {
  /**
   * Channels with the same namespace share sessions and users: a conversation can continue on another channel. Default:
   * the channel's name.
   */
  namespace?: string;
  webhook?: never;
}

export interface PushCapabilities extends CapabilitiesBase {
  /**
   * Whether the platform delivers to a route of the channel. Default true. If false, the channel asks the platform for
   * updates, or holds a connection to it, from `start` to `stop`, and has the method `receive`.
   */
  webhook?: boolean;
  namespace?: never;
}

export type Channel = WebChannel | PushChannel;

/** A channel whose daemon answers in the response or on an event stream. */
export interface WebChannel extends ChannelBase {
  send?: never;
  receive?: never;
  typing?: never;
}

/** A channel that sends its answers through the platform. */
export interface PushChannel extends ChannelBase {
  /**
   * Sends a reply. Resolves when the platform has accepted it. Throws `scope.deliveryFailed(...)` if the platform did
   * not accept it. After any other error, the daemon retries.
   */
  send(reply: OutgoingReply): Promise<void>;
  /**
   * Takes one update that came over the channel's own connection (`capabilities.webhook: false`). The channel calls it
   * itself for each update, and acknowledges the update to the platform only after it has resolved: then its messages
   * are stored. If it rejects, the platform must deliver the update again. `agentd simulate` and the conformance suite
   * call it in place of the platform, so it must work without the connection.
   */
  receive?(update: Uint8Array): Promise<void>;
  /** Shows that an answer is being written. Failures are ignored. */
  typing?(reply_to: JsonObject): Promise<void>;
}

interface ChannelBase {
  routes: readonly Route[];
  /**
   * Starts the channel. Load here all modules and files that the channel needs later: an upgrade replaces them while the
   * daemon runs.
   */
  start?(): Promise<void>;
  /**
   * The state of the channel, for `GET /`. This method must return quickly and must not call the platform. `detail` is
   * a sentence without secrets.
   */
  health?(): ChannelHealth;
  /**
   * Asks the platform whether it accepts the channel's credentials, with the scope's `fetch`. `agentd doctor` calls it,
   * and the daemon calls it after its own start. Both call it on an instance that was not started. It must not send a
   * message. If the platform fails, return `failed`; the daemon calls `check` again after 1 to 10 minutes.
   */
  check?(): Promise<ChannelCheck>;
  /**
   * Asks the platform whether it delivers to the channel: which webhook is registered, and what the platform reports
   * about the webhook. `agentd doctor` calls it after `check`, and the rules of `check` apply. The daemon does not know
   * its public address, so compare only the path.
   */
  checkRegistration?(): Promise<ChannelCheck>;
  stop?(): Promise<void>;
}

/** The platform's answer about the channel's credentials, in words for operators, without secrets. */
export type ChannelCheck =
  /** `detail` is the name under which the platform knows the channel. */
  | { outcome: 'ok'; detail: string }
  /** `warning`: the channel may still work. `advice` is a sentence that says how to fix it. */
  | { outcome: 'warning' | 'failed'; detail: string; advice: string };

export type ChannelHealth = { status: 'ok' } | { status: 'degraded'; detail: string };

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path, for example `/telex/webhook`. Parameters are written as `:name`. */
  path: string;
  /**
   * The only content type that is accepted, for example `application/json`. A request with another type gets 415. If
   * absent, any type is accepted.
   */
  contentType?: string;
  /**
   * `multipart`: the only content type that is accepted is `multipart/form-data`, and `request.multipart()` reads it.
   * Leave `contentType` out then.
   */
  body?: 'multipart';
  /**
   * Largest body in bytes, at most 4 MiB. Set it if the platform sends webhooks that are larger than
   * `BODY_LIMIT_BYTES`. A value below that setting has no effect, but with any value the limit is at most 4 MiB. Only a few of these large bodies are processed at the
   * same time. Further requests get `unavailable`, so that the platform sends them again, and a slow sender is
   * disconnected to make room for the next request. Default: `BODY_LIMIT_BYTES`.
   */
  bodyLimit?: number;
  /** Whether pages of `WEBCHAT_ALLOWED_ORIGINS` may call the route. */
  cors?: boolean;
  /**
   * Whether requests count toward the rate limit: per person if `token` returns a valid token, otherwise per client
   * address. Leave it out for webhooks, which all come from the addresses of the platform.
   */
  limited?: boolean;
  /** The user token in the request, from the first source that has one. It is validated once per request. */
  token?(request: ChannelRequest): string | null | undefined;
  /**
   * Returns the body of every error response of the route, including the errors that the daemon itself raises. Use it
   * if the documented errors of the route are not problem documents. Status and headers do not change.
   */
  refusal?(problem: RouteProblem): object;
  /**
   * Headers of every response to this request, including refusals. If this function throws a problem, for example
   * because the body is not JSON, the error response has none of these headers.
   */
  headers?(request: ChannelRequest): NonNullable<ChannelResponse['headers']>;
  /** The thread that the request names, or null. Messages of one thread are processed in order of arrival. */
  thread?(request: ChannelRequest): string | null;
  handle(request: ChannelRequest): Promise<ChannelResponse> | ChannelResponse;
}

/** The content of a problem document. */
export interface RouteProblem {
  status: number;
  code: string;
  detail: string;
}

export interface ChannelRequest {
  /** The request id, as in `X-Request-Id` and on every log line. */
  id: string;
  method: string;
  path: string;
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** Names in lower case. Repeated headers are joined by `, `. */
  headers: Readonly<Record<string, string | undefined>>;
  /** The exact bytes, so that a signature can be checked. At most `bodyLimit` bytes. */
  body: Uint8Array;
  /** The body as a JSON object, parsed once. Throws the problem `malformed_json` if the body is anything else. */
  json(): Record<string, unknown>;
  /** The body as a form (`application/x-www-form-urlencoded`). */
  form(): URLSearchParams;
  /**
   * The parts of the body, at most 100; a file is a `File`. For routes with `body: 'multipart'`. Check the proof of the
   * delivery first if it covers the bytes. Throws the problem `invalid_request` if the body is not well-formed.
   */
  multipart(): Promise<FormData>;
  /** Address of the client (see `TRUST_PROXY`). An IPv6 address is shortened to its /64 prefix. */
  address: string;
  /** Aborts when the client disconnects. */
  signal: AbortSignal;
}

export interface ChannelResponse {
  /** Default 200. */
  status?: number;
  headers?: Readonly<Record<string, string | readonly string[]>>;
  /** An object is sent as JSON. A function writes the response itself, piece by piece. */
  body?: string | Uint8Array | object | ((out: ResponseStream) => Promise<void>);
}

/** A response whose head has been sent. It ends when the function that writes it resolves. */
export interface ResponseStream {
  /** Returns false if the socket's buffer is full. Await `drained()` before you write more. */
  write(frame: string | Uint8Array): boolean;
  /** Resolves when there is room again, or the client has disconnected. */
  drained(): Promise<void>;
  /** Aborts when the client disconnects or the daemon stops. */
  signal: AbortSignal;
}

/** What the daemon gives to every channel. */
export interface ChannelScope {
  settings: ChannelSettings;
  /**
   * True under `serve --dev` if the channel is not configured. Its calls then go to `agentd simulate` instead of the
   * platform. That command is not always running, so do not log a warning if a call fails.
   */
  simulated: boolean;
  log: ChannelLogger;
  /** The global `fetch`, with a timeout of 10 s unless you pass a signal. */
  fetch: typeof fetch;
  /** ms since the epoch. */
  now(): number;
  /**
   * Reads only the user token, for `Route.token`. Returns null if the client explicitly says "signed out", and
   * undefined if there is no token. Throws `malformed_json`.
   */
  readToken(request: ChannelRequest, sources: readonly TokenSource[]): string | null | undefined;
  /**
   * Returns a text of the channel in the language of its reader. `locale` is the language tag from the person or the
   * platform; if it is absent, DEFAULT_LOCALE applies.
   */
  say(text: ChannelText, values?: Readonly<Record<string, string>>, locale?: string | null): string;
  /**
   * The replacements that the operator wrote for these texts, in all languages, for a client that chooses the language
   * itself.
   */
  translations(texts: readonly ChannelText[]): ChannelTranslations;
  /** Links between users of this channel and persons. */
  links: ChannelLinks;
  /** If you pass the request, a token is validated only once for this call, `links` and the rate limit. */
  tokens: { validate(token: string, request?: ChannelRequest): Promise<TokenAnswer> };
  /** Makes a problem to throw. The daemon answers with `application/problem+json`. */
  problem(code: ChannelProblemCode, detail: string, errors?: readonly FieldError[]): Error;
}

/**
 * The scope of a channel whose clients are on the web. Such a client only claims its user and its session, so the daemon
 * checks both.
 */
export interface ResponseScope extends ChannelScope {
  /**
   * Runs the agent for a message and yields its events. `request` contains the client address and the token that was
   * validated for the rate limit. This method throws problems (`session_forbidden`, `agent_timeout`, `unavailable`, …).
   * Do not catch them: the daemon turns them into responses. The run continues if you stop reading.
   */
  converse(message: IncomingMessage, request: ChannelRequest): AsyncIterable<ConversationEvent>;
  /**
   * Reads the message of a web client: `user_id`, `message`, `session_id` and `metadata` of the JSON body, the header
   * `Idempotency-Key`, and the token of the first source that contains one. Throws `malformed_json`, or an
   * `invalid_request` that lists all wrong fields.
   */
  readMessage(request: ChannelRequest, sources: readonly TokenSource[]): IncomingMessage;
}

export interface StreamScope extends ResponseScope {
  /** Answers on event streams, which survive a lost connection. */
  streams: ChannelStreams;
}

/**
 * The scope of a channel that answers later. The daemon trusts the sender and the thread of its messages, because the
 * platform has signed them.
 */
export interface PushScope extends ChannelScope {
  /**
   * Enqueues messages that are answered with `send`, at most 1,000. Resolves when each message is stored, recognized as
   * a repeat by its `message_id`, or blocked by the loop guard; the outcomes are in the order of the messages. Rejects
   * with `unavailable` (503) if the messages could not be stored; none of them is stored then, so that the platform
   * delivers them again. The `thread_id` of each message must begin with the channel's name and a colon. If the
   * messages arrived in a request, pass it: its id is logged with their runs.
   */
  enqueue(messages: readonly IncomingMessage[], request?: ChannelRequest): Promise<readonly EnqueueOutcome[]>;
  /**
   * Enqueues a button press: a message with `confirm`. The platform must have verified its sender. Rejects in the same
   * cases as `enqueue`. The outcome `refused` means that the press changes nothing, because the question belongs to
   * another person or is no longer open. Show `text` only to the person who pressed the button; if the platform cannot
   * do this, show nothing.
   */
  press(message: IncomingMessage, request?: ChannelRequest): Promise<PressOutcome>;
  /**
   * Replaces the text of a message that its sender has edited. An edited message never answers a question. Returns false
   * if the agent has already started to answer it, if it is unknown, or if it has another sender or thread.
   */
  edit(edited: EditedMessage): Promise<boolean>;
  /** Stores a text that no agent wrote, for example a confirmation or a hint, and sends it with `send`. */
  notify(reply_to: JsonObject, text: string, options?: NotifyOptions): Promise<void>;
  /**
   * Sends a reply as several messages, in order, for `PushChannel.send`. If a part fails, the attempt fails. The next
   * attempt, even after a restart, skips the parts that the platform has confirmed. Attempts at one reply never
   * overlap: if an attempt is still running, the next one only waits for its end. So `sendPart` needs a timeout.
   * @param reply_id the `id` of the reply
   * @param parts called once per attempt; must return the same parts each time
   */
  sendParts<Part>(
    reply_id: string,
    parts: () => Promise<readonly Part[]> | readonly Part[],
    sendPart: (part: Part, index: number) => Promise<void>,
  ): Promise<void>;
  /** Makes the error that `send` must throw if the platform did not accept the reply. */
  deliveryFailed(reason: string, failure: DeliveryFailure): Error;
}

/**
 * The outcome of a message. `kept`: it is stored and will be answered. `repeated`: a message with the same `message_id`
 * was stored before. `blocked`: the loop guard has blocked it. All three are final, so acknowledge the message; do not
 * tell its sender that it was blocked, because the sender may be a bot that would answer.
 */
export type EnqueueOutcome = 'kept' | 'repeated' | 'blocked';

/** The outcome of the press of a button. `text` is plain text in the language of the person. */
export type PressOutcome = { outcome: 'enqueued' } | { outcome: 'refused'; text: string };

/** What the daemon needs to know for the next attempt. */
export interface DeliveryFailure {
  /** The platform refused this reply, and would refuse it again. The daemon does not retry. */
  final: boolean;
  /** How long the platform asks to wait (`retry_after_seconds`). */
  retry_after_seconds?: number;
  /**
   * Set if the platform as a whole fails: `unreachable` after a network error or a 5xx, `credentials` if it refuses the
   * channel's token. Such a failure is never final. All replies of the channel wait, and the daemon probes the platform
   * with one reply at a time. Absent if the failure concerns only this reply, or the rate of calls.
   */
  platform?: 'unreachable' | 'credentials';
}

export interface NotifyOptions {
  /** Id of the message that this text answers. A repeated message is answered once. */
  message_id?: string;
  /**
   * The platform's user who wrote that message, as in `IncomingMessage.user_id`. It is needed with `message_id`: an
   * erasure finds the text by its user, even if the agent has never answered this user.
   */
  user_id?: string;
  /**
   * Set this for a hint, such as "I can only read text", to the id of the person or room that sees the hint. The loop
   * guard does not count hints, so the daemon limits them per key: ten a minute, thirty an hour, and the same text once
   * in 3 s. It drops further hints.
   */
  throttle_key?: string;
}

/** Where a request can contain the user token: `Authorization: Bearer`, `jwt_token` and `metadata.jwt_token`. */
export type TokenSource = 'header' | 'body' | 'metadata';

/**
 * Event streams. `start` stores the message. The run begins when the stream is first opened, and continues whether or
 * not anybody reads it. Events are numbered and stored before they are sent, so that a reader that reconnects gets
 * exactly the events that it missed. All three methods throw problems; do not catch them.
 */
export interface ChannelStreams {
  /**
   * Stores a message for `ttl_ms`, and its answer for `ttl_ms` after the answer has ended. A repeated `message_id` gets
   * the same stream. `ambient` contains the cookies of the request (`StreamTokens`); `open` compares the reader's
   * cookies with them. Throws the problems of `converse` that can occur before a run: `session_forbidden`,
   * `duplicate_in_progress`, …
   */
  start(
    message: IncomingMessage,
    request: ChannelRequest,
    options: { ttl_ms: number; ambient?: readonly string[] },
  ): Promise<{ stream_id: string }>;
  /**
   * Opens a stream after the event with the number `after`; 0 means from the beginning. The first `open` begins the
   * run. The run uses the first token that counts, first from `ambient`, then from `explicit`, then from the message
   * (agentd-message(7), "Whose stream it is"). A HEAD request does not begin a run. Returns null if the reader has
   * already read all events. Throws `stream_not_found`, `token_missing` and `forbidden`. Throws `too_many_readers` if
   * the reader has no valid token, and either the stream has 64 readers without one or the client address has
   * `max_readers_per_client` (default 256). A reader counts until `follow` has resolved, so always call `follow`.
   */
  open(
    stream_id: string,
    request: ChannelRequest,
    options: { tokens: StreamTokens; after: number; max_readers_per_client?: number },
  ): Promise<OpenStream | null>;
  /** Stops the run; the text so far is the reply. Resolves when the stream has ended. Throws the problems of `open`. */
  stop(stream_id: string, request: ChannelRequest, options: { tokens: StreamTokens }): Promise<void>;
}

export interface StreamTokens {
  /**
   * Every cookie with the token's name. A browser sends its cookies even if the user follows a link that somebody else
   * made, so a cookie counts only for the person who sent the message. If there are several cookies, none of them
   * counts. An empty cookie is not a token.
   */
  ambient: readonly string[];
  /** The token that the client itself put into the request, for example into the query. */
  explicit: string | undefined;
  /** Whether to throw `token_missing` if the request and the message have no token. */
  required: boolean;
}

export interface OpenStream {
  /**
   * Gives the events to the reader as they arrive. Resolves after the last event, or when the reader disconnects. Also
   * resolves when the daemon cannot continue; the reader then reconnects. Rejects if the reader throws.
   */
  follow(reader: StreamReader): Promise<void>;
}

/** A reader of a stream. It has callbacks, not an iterator, because one stream may have thousands of readers. */
export interface StreamReader {
  /**
   * Accepts all new events at once. All readers get the same list, so that its encoding can be cached. Returns false if
   * the reader has no room for more.
   */
  take(events: readonly StreamEvent[]): boolean;
  /** Resolves when there is room again. Rejects if the reader is too slow and must be disconnected. */
  room(): Promise<void>;
  /** Aborts when the reader disconnects. */
  signal: AbortSignal;
}

export interface ChannelTranslations {
  /** Text by language tag in lower case, then by the name of the text. */
  languages: Readonly<Record<string, Readonly<Record<string, string>>>>;
  default_locale: string;
}

export type ChannelProblemCode =
  | 'malformed_json'
  | 'invalid_request'
  | 'invalid_signature'
  | 'forbidden'
  | 'not_found'
  | 'session_forbidden'
  | 'unavailable';

export interface FieldError {
  field: string;
  message: string;
}

/** The links of one channel, from user id to token. A link is valid for 30 days. */
export interface ChannelLinks {
  /** Validates the token and stores the link. */
  link(user_id: string, token: string, options?: LinkOptions): Promise<LinkAnswer>;
  /** Removes the user's link at the user's request. Returns false if there was none. */
  unlink(user_id: string, options?: LinkRequest): Promise<boolean>;
  /** Removes the user's link if it belongs to the person of the token. */
  unlinkPerson(user_id: string, token: string, request?: ChannelRequest): Promise<UnlinkAnswer>;
}

export interface LinkRequest {
  /**
   * Id of the message that asks to link or unlink, as in `IncomingMessage`. A repeat within seven days changes nothing
   * and gets the first answer. A repeat that arrives while the first request is still running throws `unavailable`.
   */
  message_id?: string;
}

export interface LinkOptions extends LinkRequest {
  /**
   * Whether to replace another person's link that has not expired. Default true, because the platform has verified the
   * user id.
   */
  replace?: boolean;
  /** The request that contains the token. */
  request?: ChannelRequest;
}

export type LinkAnswer =
  /** `expires_at` is the expiry of the link or of its token, whichever is earlier, ms since the epoch. */
  | { linked: true; user_id: string; email: string; expires_at: number; locale?: string }
  /** `held`: the token is valid, but the link belongs to another person. */
  | { linked: false; reason: string; held: boolean };

/** `invalid`: the token is invalid for `reason`. `none`: there is no link, or it belongs to another person. */
export type UnlinkAnswer =
  | { outcome: 'removed' }
  | { outcome: 'none' }
  | { outcome: 'invalid'; reason: string };

/** What a channel learns about a token. It never gets the token itself. */
export type TokenAnswer =
  | { valid: true; user_id: string; email: string; expires_at: number; phone?: string }
  | { valid: false; reason: string };

export interface ChannelLogger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** How a channel is made known to its platform (`agentd channels setup`). */
export interface ChannelSetup {
  /** Names of the channel's settings that the setup needs. The channel need not be active. */
  settings: readonly string[];
  /**
   * Registers the channel's webhook with its platform, with the scope's `fetch`, and asks the platform whether that
   * worked. If the platform has no API for this, `run` returns a document that the operator gives to the platform.
   * @param address public address of the daemon: https, perhaps with a path, without a slash at the end
   */
  run(address: string, scope: ChannelScope): Promise<SetupOutcome>;
}

/** Texts for operators, without secrets. */
export type SetupOutcome =
  /** The platform delivers to the channel from now on. `facts`: what the platform reports about the registration. */
  | { outcome: 'registered'; detail: string; facts: JsonObject }
  /** `document` is printed as it is. `detail` says what to do with it. */
  | { outcome: 'document'; detail: string; document: JsonObject }
  | { outcome: 'failed'; detail: string; advice: string };
