import type {
  ConversationEvent,
  DeletedMessage,
  EditedMessage,
  IncomingMessage,
  JsonObject,
  StreamEvent,
} from './message.ts';
import type { ChannelRequest } from './route.ts';
import type { ChannelSettings, ChannelText } from './setting.ts';

/** What the daemon gives to every channel. */
export interface ChannelScope {
  settings: ChannelSettings;
  /** SIGN_IN_URL: the page of the site on which people sign in. Null if it is not set. */
  sign_in_url: string | null;
  /**
   * True under `serve --dev` if the channel is not configured. Its calls then go to `agentd simulate` instead of the
   * platform. That command is not always running, so do not log a warning if a call fails.
   */
  simulated: boolean;
  log: ChannelLogger;
  /**
   * The global `fetch`, with a timeout of 10 s unless you pass a signal. If a request has at most a text as its body and
   * follows no redirects, its answer is read completely before the promise resolves, and is at most 16 MiB.
   */
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
  edit(edited: EditedMessage, request?: ChannelRequest): Promise<boolean>;
  /**
   * Ends the wait of a question for the sign-in of its sender, who has deleted it. A question that is under way is
   * answered, but does not wait afterwards.
   */
  forget(deleted: DeletedMessage): Promise<void>;
  /** Stores a text that no agent wrote, for example a confirmation or a hint, and sends it with `send`. */
  notify(reply_to: JsonObject, text: string, options?: NotifyOptions): Promise<void>;
  /**
   * Sends a reply as several messages, in order, for `PushChannel.send`. If a part fails, the attempt fails. The next
   * attempt, even after a restart, skips the parts that the platform has confirmed. Attempts at one reply never
   * overlap: if an attempt is still running, the next one only waits for its end. So `sendPart` needs a timeout.
   * @param reply_id the `id` of the reply
   * @param parts called once per attempt; must return the same parts each time
   * @param sendPart may resolve to the platform's id of the message, if readers can react to it (`rate`). The id must be
   *   unique on the channel, and have at most 256 characters
   */
  sendParts<Part>(
    reply_id: string,
    parts: () => Promise<readonly Part[]> | readonly Part[],
    sendPart: (part: Part, index: number) => Promise<unknown>,
  ): Promise<void>;
  /**
   * Rates an answer, because its reader has reacted to it on the platform. Pass every such reaction whose user the
   * platform has verified. Resolves to false, and changes nothing, if `sent_id` is not an answer of the last 7 days, or
   * if another user asked for it. The newest rating of an answer counts. Rejects with `unavailable` like `enqueue`.
   */
  rate(reaction: AnswerReaction): Promise<boolean>;
  /** Makes the error that `send` must throw if the platform did not accept the reply. */
  deliveryFailed(reason: string, failure: DeliveryFailure): Error;
}

/**
 * The outcome of a message. `kept`: it is stored and will be answered. `repeated`: a message with the same `message_id`
 * was stored before. `blocked`: the loop guard has blocked it. All three are final, so acknowledge the message; do not
 * tell its sender that it was blocked, because the sender may be a bot that would answer.
 */
export type EnqueueOutcome = 'kept' | 'repeated' | 'blocked';

/** A reaction to a message that the channel has sent. */
export interface AnswerReaction {
  /** The id of the message, as `sendPart` returned it. */
  sent_id: string;
  /** The user who reacted, as in `IncomingMessage.user_id`. */
  user_id: string;
  /** 1: thumb up. -1: thumb down. */
  rating: 1 | -1;
}

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
   * in 3 s. It drops further hints, and all hints for a `user_id` whom the loop guard blocks.
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
  /**
   * Handles the link codes in a message that the channel does not enqueue, for example in a start parameter, or in a
   * message of a group that is not for the bot. True if the message has claimed a code, and its sender will be answered.
   * Only for channels that answer with `send`.
   */
  takeCode(message: IncomingMessage, request?: ChannelRequest): Promise<boolean>;
  /** Removes the user's link if it belongs to the person of the token. */
  unlinkPerson(user_id: string, token: string, request?: ChannelRequest): Promise<UnlinkAnswer>;
}

export interface LinkRequest {
  /**
   * Id of the message that asks to link or unlink, as in `IncomingMessage`. A repeat within seven days changes nothing
   * and gets the first answer. A repeat that arrives while the first request is still running throws `unavailable`.
   */
  message_id?: string;
  /** The request that contains the token or delivered the message. The log lines contain its id. */
  request?: ChannelRequest;
}

export interface LinkOptions extends LinkRequest {
  /**
   * Whether to replace another person's link that has not expired. Default true, because the platform has verified the
   * user id.
   */
  replace?: boolean;
}

export type LinkAnswer =
  /** `expires_at` is the expiry of the link or of its token, whichever is earlier, ms since the epoch. */
  | { linked: true; user_id: string; email: string; expires_at: number; locale?: string; timezone?: string }
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
