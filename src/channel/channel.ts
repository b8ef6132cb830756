/**
 * The channel contract, told as the life of a channel:
 *
 * 1. **loaded**: the module's default export (a `ChannelPlugin`) is imported; `apiVersion` is checked
 *    before anything else of it is read or run. Importing must have no side effects.
 * 2. **given its settings and scope**: its records are validated with all others; `create(scope)` is called
 *    once. It must not open sockets or timers: that is what `start` is for.
 * 3. **started**: `start()`, before the daemon listens. A rejection stops the start of the daemon.
 * 4. **receives**: requests on its `routes`. Either it answers in the request (`scope.converse`), or on an
 *    event stream that is opened by a second request (`scope.streams`), or it hands over what it parsed
 *    (`scope.accept`), which resolves once the messages are on disk, and only then answers 200.
 * 5. **sends**: `send(reply)`, until it resolves, says that the failure is final, or INBOX_SEND_SECONDS have passed.
 *    The daemon keeps the reply, the order and the retries; the channel only speaks the wire format.
 * 6. **stopped**: `stop()`, once, also after a half-failed start.
 *
 * Durability, order within a session, limits, identity and retries are given to every channel by
 * construction; a channel cannot opt out. A plugin imports "agentd/channel" (this contract, and a few pure
 * functions) and "agentd/channel/markdown", which the daemon provides, so that a single `.ts` file works with no
 * build and no node_modules. Everything that has an effect is in its scope.
 */
import type { DevCompany } from './dev.ts';
import type {
  ConversationEvent,
  IncomingMessage,
  JsonObject,
  OutgoingReply,
  StreamEvent,
} from './message.ts';
import type { ChannelSettings, SettingRecord } from './setting.ts';
import type { PlatformSimulator } from './simulator.ts';

/** The contract version that this daemon speaks. */
export const CHANNEL_API_VERSION = 1;

export interface ChannelPlugin {
  /** Lower-case letters, digits and hyphens; the value of `platform` in every message. */
  name: string;
  apiVersion: 1;
  /** One sentence: whom it lets talk to the agent. */
  summary: string;
  /** Names begin with the channel's name in upper snake case (`TELEX_TOKEN` of `telex`). */
  settings: readonly SettingRecord[];
  /** Is it configured? Asked when `MESSAGING_PLATFORMS` is unset. */
  detect(settings: ChannelSettings): boolean;
  capabilities: ChannelCapabilities;
  create(scope: ChannelScope): Channel;
  /** For channels whose users can be linked to a person; absent: user ids are taken as they are. */
  linking?: ChannelLinking;
  /** Stands in for the platform: `agentd simulate`, `serve --dev`. Loaded when it is used. */
  simulator?(): Promise<PlatformSimulator>;
  /** Where programs talk to it over event streams, for `agentd chat`; absent: they do not. */
  eventStream?: EventStreamPaths;
}

/** The documented interface of an event stream: the start request, then the stream. */
export interface EventStreamPaths {
  /** POST: `{user_id, message, …}`, answered with `{stream_id}`. */
  start: string;
  /** GET reads the answer, DELETE stops it; holds `:stream_id`. */
  stream: string;
}

/** How users of a channel are named where they are linked (`agentd link`). */
export interface ChannelLinking {
  /** The word of `agentd link <word>`; default: the channel's name. */
  word?: string;
  /** What stands for the user in usage and messages, `NUMBER`. */
  argument: string;
  /**
   * The ways in which the platform may write this user's id, the first is the one that links are kept under;
   * empty: that is no id of this platform.
   */
  idsOf(given: string): readonly string[];
}

export interface ChannelCapabilities {
  /** `in-request`: the answer leaves in the response. `later`: through `send`. */
  reply: 'in-request' | 'later';
  /**
   * Channels that name the same space share sessions and users, so that a conversation begun on one goes
   * on over the other. Default: a space of its own, named like the channel.
   */
  space?: string;
  /** Shows text as it is written. */
  streaming: boolean;
  /** Longest text of one message on the platform, in the unit that the platform counts; null: no limit. */
  textLimit: number | null;
  /** What `send` renders to; told to the agent. */
  markdown: 'commonmark' | 'platform' | 'none';
  /** Can show that an answer is being written. */
  typing: boolean;
  /**
   * Does the platform have places where several people read and write? Default true. False: every message is
   * private, one that is `shared` is refused, and the simulator and the suite know only direct messages.
   */
  groups?: boolean;
}

export interface Channel {
  routes: readonly Route[];
  start?(): Promise<void>;
  /** Resolves when the platform has the reply. Throws `scope.deliveryFailed(...)`, or any error (tried again). */
  send?(reply: OutgoingReply): Promise<void>;
  /** Shows that an answer is being written; failures are ignored. */
  typing?(reply_to: JsonObject): Promise<void>;
  /** Cheap and local; asked by `GET /`. Words in `detail`, no secrets. */
  health?(): ChannelHealth;
  /**
   * Asks the platform whether it takes the channel's credentials, through the scope's `fetch`. Called for
   * `agentd doctor` and once the daemon has started, on an instance that was not started itself. Sends nothing to
   * anybody. A platform that fails is an outcome too; the daemon asks again then, after 1 to 10 minutes.
   */
  check?(): Promise<ChannelCheck>;
  stop?(): Promise<void>;
}

/** What the platform says of the channel's credentials. Words for operators, no secrets. */
export type ChannelCheck =
  /** `detail`: as whom it knows the channel. */
  | { outcome: 'ok'; detail: string }
  /** `warning`: it may do as it is. `advice`: what would mend it, as a sentence. */
  | { outcome: 'warning' | 'failed'; detail: string; advice: string };

export type ChannelHealth = { status: 'ok' } | { status: 'degraded'; detail: string };

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** `/telex/webhook`, with parameters as `:name`. */
  path: string;
  /** The only content type that the body may have (`application/json`); otherwise 415. Absent: any. */
  contentType?: string;
  /**
   * Largest body of this route in bytes, for a webhook whose platform sends more than `BODY_LIMIT_BYTES` at once;
   * at most 4 MiB. A lower value than the setting has no effect. Few such bodies are processed at the same time;
   * the others are answered `unavailable`, so that the platform sends them again, and a slow sender loses its
   * connection to the next one. Absent: `BODY_LIMIT_BYTES`.
   */
  bodyLimit?: number;
  /** Browsers of `WEBCHAT_ALLOWED_ORIGINS` may call it. */
  cors?: boolean;
  /**
   * Counts in the request rate limit, per person where `token` finds a valid token, else per client
   * address. Platform webhooks leave it out: they all come from the platform.
   */
  limited?: boolean;
  /** The user token that came with the request, first documented source first; it is validated once. */
  token?(request: ChannelRequest): string | null | undefined;
  /**
   * The body of every answer that refuses, the daemon's own included, for a route whose documented answers are
   * no problem documents. Status and headers stay.
   */
  refusal?(problem: RouteProblem): object;
  /**
   * Headers of every answer to this request, the refusals included. Left out of a refusal if what it reads of the
   * request throws a problem, such as a body that is not JSON.
   */
  headers?(request: ChannelRequest): NonNullable<ChannelResponse['headers']>;
  /** The thread that the request speaks in, where it names one: its messages keep the order of their arrival. */
  thread?(request: ChannelRequest): string | null;
  handle(request: ChannelRequest): Promise<ChannelResponse> | ChannelResponse;
}

/** What a problem document would say. */
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
  /** Lower-case names; repeated headers joined by `, `. */
  headers: Readonly<Record<string, string | undefined>>;
  /** The exact bytes, so that a signature over them can be checked; at most `bodyLimit` of its route. */
  body: Uint8Array;
  /** The body as a JSON object; throws the problem `malformed_json`. Parsed once. */
  json(): Record<string, unknown>;
  /** The body as a form. */
  form(): URLSearchParams;
  /** Of the client, as `TRUST_PROXY` says; of IPv6 the /64. */
  address: string;
  /** Aborts when the client goes away. */
  signal: AbortSignal;
}

export interface ChannelResponse {
  /** Default 200. */
  status?: number;
  headers?: Readonly<Record<string, string | readonly string[]>>;
  /** An object is sent as JSON; a function writes the response itself, piece by piece. */
  body?: string | Uint8Array | object | ((out: ResponseStream) => Promise<void>);
}

/** The raw response of a route that streams. The head has been sent; the response ends when the writer does. */
export interface ResponseStream {
  /** False: the socket's buffer is full; await `drained()` before writing more. */
  write(frame: string | Uint8Array): boolean;
  /** Resolves when there is room again, or the client went away. */
  drained(): Promise<void>;
  /** Aborts when the client goes away or the daemon stops. */
  signal: AbortSignal;
}

/** All that a channel is handed. */
export interface ChannelScope {
  settings: ChannelSettings;
  /** With `serve --dev` only. */
  dev?: DevCompany;
  log: ChannelLogger;
  /** Like the global one, with a time-out of 10 s unless a signal is given. */
  fetch: typeof fetch;
  /** ms since the epoch. */
  now(): number;
  /**
   * Runs a message through the agent and tells what happens. The request carries the client address and the
   * token that was validated for the rate limit. Throws problems (`session_forbidden`, `agent_timeout`,
   * `unavailable`, …) that a route lets pass: the daemon answers them.
   * A reader that stops reading does not stop the run.
   */
  converse(message: IncomingMessage, request: ChannelRequest): AsyncIterable<ConversationEvent>;
  /**
   * The message in a web client's JSON body: `user_id`, `message`, `session_id`, the header `Idempotency-Key`,
   * `metadata`, and the token of the first source that has one. Throws `malformed_json`, or `invalid_request`
   * with every wrong field.
   */
  readMessage(request: ChannelRequest, sources: readonly TokenSource[]): IncomingMessage;
  /**
   * The user's token alone, of the first source that has one: null is the client's "signed out", undefined is
   * nothing. For `Route.token`. Throws `malformed_json`.
   */
  readToken(request: ChannelRequest, sources: readonly TokenSource[]): string | null | undefined;
  /** Answers on event streams that outlive their connections. */
  streams: ChannelStreams;
  /**
   * Takes messages that are answered later. Resolves when all of them are durably kept; a repeat of a
   * `message_id` is taken once. Rejects with `unavailable` (503): none is kept, the platform comes again.
   * Each has a `thread_id` that begins with the channel's name and a colon.
   * The request that brought them gives its id to their runs; a channel that has none leaves it out.
   */
  accept(messages: readonly IncomingMessage[], request?: ChannelRequest): Promise<void>;
  /**
   * The sender has edited a message: its text is replaced as long as its turn has not begun. False: it had,
   * or the message is not known.
   */
  edit(message_id: string, text: string): Promise<boolean>;
  /** A durable message without an agent run: a confirmation, a hint. */
  say(reply_to: JsonObject, text: string, options?: SayOptions): Promise<void>;
  /**
   * Sends a reply that the platform takes in several messages, in their order, for `Channel.send`. If one of them
   * fails, the whole fails; when the reply is sent again, also after a restart, the parts that the platform
   * confirmed are not sent again. A reply that is still being sent is not begun a second time, so `sendPart`
   * must end by itself.
   * @param reply_id the `id` of the reply
   * @param parts asked for once at each attempt, and the same each time
   */
  sendParts<Part>(
    reply_id: string,
    parts: () => Promise<readonly Part[]> | readonly Part[],
    sendPart: (part: Part, index: number) => Promise<void>,
  ): Promise<void>;
  /** Which person a user of this channel is, as far as a link says so. */
  links: ChannelLinks;
  /** Of the request that brought the token, the token is validated once, also over the rate limit and `links`. */
  tokens: { validate(token: string, request?: ChannelRequest): Promise<TokenAnswer> };
  /** Makes a problem to throw: the daemon answers it as `application/problem+json`. */
  problem(code: ChannelProblemCode, detail: string, errors?: readonly FieldError[]): Error;
  /** Makes the error that `send` throws if the platform did not take the reply. */
  deliveryFailed(reason: string, failure: DeliveryFailure): Error;
}

/** Why a platform did not take a reply, as far as it matters for the next attempt. */
export interface DeliveryFailure {
  /** The platform refused this reply, and would refuse it again. It is not sent again. */
  final: boolean;
  /** How long the platform asks to wait (`retryAfterSeconds`). */
  retryAfterSeconds?: number;
  /**
   * The failure concerns the platform as a whole: `unreachable` after a network error or a 5xx, `credentials`
   * if it refuses the channel's own token. Such a failure is never final: all replies of the channel wait, and
   * one at a time probes whether the platform is back. Absent: it concerns this reply, or the rate of calls.
   */
  platform?: 'unreachable' | 'credentials';
}

export interface SayOptions {
  /** Id of the message that it answers: a repeat of that is answered once. */
  message_id?: string;
  /**
   * It is a hint that nobody waits for, such as that only text can be read; to whom, or to which room. The loop
   * guard looks at messages for the agent alone, so hints to one reader are bounded: ten a minute, thirty an
   * hour, the same words once in 3 s. Beyond that a hint is left out.
   */
  hint_to?: string;
}

/** Where a web client may put the user's token: `Authorization: Bearer`, `jwt_token`, `metadata.jwt_token`. */
export type TokenSource = 'header' | 'body' | 'metadata';

/**
 * Event streams. A message is kept first; its run begins when the stream is opened for the
 * first time, and goes on whether anybody reads or not. Events are numbered and stored before anybody sees
 * them, so that a reader that comes back gets exactly what it has missed. All three throw problems that a
 * route lets pass.
 */
export interface ChannelStreams {
  /**
   * Keeps a message for `ttl_ms`, and its answer for as long after its end. A repeat of a `message_id` gets the
   * same stream. `ambient` is what the browser sent along (`StreamTokens`): `open` compares with it. Throws as
   * `converse` does before it runs: `session_forbidden`, `duplicate_in_progress`, …
   */
  start(
    message: IncomingMessage,
    request: ChannelRequest,
    options: { ttl_ms: number; ambient?: readonly string[] },
  ): Promise<{ stream_id: string }>;
  /**
   * Opens a stream after the event `after` (0: from the start). The first one begins the run, with the first token
   * that counts: `ambient`, `explicit`, then the message's own (agentd-message(7), "Whose stream it is"); a HEAD request
   * begins nothing. Null: all of it was read before. Throws `stream_not_found`, `token_missing`, `forbidden`, and
   * `too_many_readers` to a reader without a valid token if the stream has 64 of them, or the client address
   * `maxReadersPerClient` (256). A reader counts from here until `follow` has resolved, so follow what you open.
   */
  open(
    stream_id: string,
    request: ChannelRequest,
    options: { tokens: StreamTokens; after: number; maxReadersPerClient?: number },
  ): Promise<OpenStream | null>;
  /** Stops the run: what was said so far is the reply. Resolves when the stream has ended. Throws as `open`. */
  stop(stream_id: string, request: ChannelRequest, options: { tokens: StreamTokens }): Promise<void>;
}

export interface StreamTokens {
  /**
   * What the browser sends of its own accord: each cookie of the token's name. It travels with links that others
   * made, so it counts only for the person that the message came from. Of several none counts; an empty one is none.
   */
  ambient: readonly string[];
  /** What the request names itself. */
  explicit: string | undefined;
  /** Refuse with `token_missing` where neither these nor the message brought one. */
  required: boolean;
}

export interface OpenStream {
  /**
   * Hands the events to the reader as they come. Resolves after the last one, when the reader goes away, and
   * where the daemon cannot go on (the reader comes back then); rejects as the reader does.
   */
  follow(reader: StreamReader): Promise<void>;
}

/** Who reads a stream; called rather than waited on, since there may be thousands of one stream. */
export interface StreamReader {
  /**
   * The events that have come, all that there are at once: one list for all who are told of them together, so
   * that what is made of it can be made once. False: no more until there is room again.
   */
  take(events: readonly StreamEvent[]): boolean;
  /** Resolves when there is room again; rejects where the reader is given up. */
  room(): Promise<void>;
  /** Aborts when the reader goes away. */
  signal: AbortSignal;
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

/** The links of one channel: channel user id → token, kept 30 days. */
export interface ChannelLinks {
  /** Validates and stores. */
  link(user_id: string, token: string, options?: LinkOptions): Promise<LinkAnswer>;
  /** The user's own wish: true where there was a link. */
  unlink(user_id: string, options?: LinkRequest): Promise<boolean>;
  /** Removes the link of this user where it is that of the token's person. */
  unlinkPerson(user_id: string, token: string, request?: ChannelRequest): Promise<UnlinkAnswer>;
}

export interface LinkRequest {
  /**
   * Id of the message that asks for it, as in `IncomingMessage`. A repeat of that within seven days changes
   * nothing, whatever was asked for since, and gets the answer of the first; while that is under way, it is
   * refused with `unavailable`.
   */
  message_id?: string;
}

export interface LinkOptions extends LinkRequest {
  /**
   * May the live link of another person be taken over? Default true, for ids that the platform itself has
   * verified.
   */
  replace?: boolean;
  /** The request that brought the token. */
  request?: ChannelRequest;
}

export type LinkAnswer =
  /** `expires_at`: of the link or of the token in it, whichever ends first, ms since the epoch. */
  | { linked: true; user_id: string; email: string; expires_at: number }
  /** `held`: the token is good, the link is another person's. */
  | { linked: false; reason: string; held: boolean };

/** `invalid`: the token is no use, for `reason`. `none`: there is no link, or it is another person's. */
export type UnlinkAnswer =
  | { outcome: 'removed' }
  | { outcome: 'none' }
  | { outcome: 'invalid'; reason: string };

/** What a channel learns of a token: never the token itself. */
export type TokenAnswer =
  | { valid: true; user_id: string; email: string; expires_at: number; phone?: string }
  | { valid: false; reason: string };

export interface ChannelLogger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
