import type { ClosedQuestion, JsonObject, OutgoingReply } from './message.ts';
import type { Route } from './route.ts';
import type { ChannelScope, PushScope, ResponseScope, StreamScope } from './scope.ts';
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
  /**
   * The name of the platform, for people: `Acme Chat`. Commands show it beside the channel's name, and also accept it in
   * lower case, with hyphens for spaces, wherever a channel is named.
   */
  title?: string;
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
   * All spellings that the platform uses for this user id, at most 8. Links are stored under the first spelling. Empty
   * if `given` is not an id of the platform.
   */
  idsOf(given: string): readonly string[];
  /** How a user signs in on the platform: one or two sentences in CommonMark. Absent if it is done elsewhere only. */
  how?: ChannelText;
  /**
   * Compares the claim `phone` of a token, which is never empty, with a user id. For platforms whose user ids are phone
   * numbers. `other`: the claim names another number, so the user is not linked to the person of the token. `same`: the
   * claim certainly names this number, so the link of another person may be replaced.
   */
  comparePhone?(user_id: string, phone: string): 'same' | 'other' | 'unknown';
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
  closeQuestion?: never;
  codeUrl?: never;
  privateChat?: never;
  privateSession?: never;
  chatUrl?: never;
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
  /**
   * Takes the buttons away from a question that was answered or has ended, and shows `outcome` in their place. Called
   * once for each message with a question (`reply.confirmation`) for which `sendPart` resolved to an id. Throws
   * `scope.deliveryFailed(...)` like `send`, and is then called again. Absent if the platform cannot change messages.
   */
  closeQuestion?(closed: ClosedQuestion): Promise<void>;
  /** Shows that an answer is being written. Failures are ignored. */
  typing?(reply_to: JsonObject): Promise<void>;
  /**
   * An address that opens the platform with a link code ready to send to the channel. Absent if the platform has no such
   * addresses; null if the channel does not know its own name on the platform now. It may ask the platform; after 2 s,
   * the daemon goes on without it.
   * @param code letters and digits
   */
  codeUrl?(code: string): Promise<string | null> | string | null;
  /**
   * The `reply_to` of a private chat with a user, for texts that answer no message. Null if this is not the id of a user
   * to whom the channel can write. An error is logged, and counts as null.
   */
  privateChat?(user_id: string): JsonObject | null;
  /**
   * The session of the private chat with a user: `thread_id` and `channel_id` of the messages that the user writes there.
   * Called after a text was sent to `privateChat`. Null if the channel does not know it. An error counts as null.
   * @param thread_id a session in which the user has written
   */
  privateSession?(user_id: string, thread_id: string): PrivateSession | null;
  /**
   * An address that opens a private chat with the bot, for people who must sign in or send a code; null if the channel
   * does not know its own name now. An error counts as null.
   */
  chatUrl?(): string | null;
}

/** The ids of the messages in a private chat. */
export interface PrivateSession {
  thread_id: string;
  channel_id: string;
}

interface ChannelBase {
  routes: readonly Route[];
  /**
   * Starts the channel. Load here all modules and files that the channel needs later: an upgrade replaces them while the
   * daemon runs.
   */
  start?(): Promise<void>;
  /**
   * The state of the channel, for `GET /`, as far as only the channel knows it: for example, that its connection is
   * lost. The daemon itself knows whether the platform accepts the replies. This method must return quickly and must not
   * call the platform. `detail` is a sentence without secrets.
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
