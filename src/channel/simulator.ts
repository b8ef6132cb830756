/**
 * What `agentd simulate` and the tests use in a platform's stead: deliveries as the platform would send them,
 * and its API as far as the channel calls it. It runs beside the daemon, in another process, and is never
 * loaded by `serve` but for the secrets that `serve --dev` makes up.
 */
import type { ChannelSettings } from './setting.ts';

export interface PlatformSimulator {
  /**
   * Settings with which the channel runs against this simulator, by name; for `serve --dev`.
   * @param secretOf a secret that stays the same from run to run, of 43 base64url characters, by a name
   * @param api_url where the platform's API is stood in for, `http://127.0.0.1:…`
   */
  devSettings(secretOf: (name: string) => string, api_url: string): Readonly<Record<string, string>>;
  /** The setting that says where the platform's API is, `TELEX_API_URL`. */
  apiUrlSetting: string;
  /** Ids of people who may write, as the platform gives them, two or more; the first where nobody is named. */
  who(): readonly string[];
  /** A request as the platform would send it, signed with the secrets of these settings. */
  delivery(event: SimulatedEvent, settings: ChannelSettings): SimulatedRequest;
  /**
   * The same request with the signature of the body that it has now, so that bodies of any form can be tried.
   * Absent: what proves a delivery does not depend on its body.
   */
  sign?(request: SimulatedRequest, settings: ChannelSettings): SimulatedRequest;
  /** `to` of what is shown in answer to an event: its room, and its sender where they are told in private. */
  seenIn(event: SimulatedEvent, settings: ChannelSettings): readonly string[];
  /** What the sender sees of the daemon's own answer to a delivery; absent: nothing of it. */
  shownOf?(answer: { status: number; body: string }): readonly Shown[];
  /**
   * A refusal as the platform's API would write it. Absent: the status alone, with an empty object and the header
   * `Retry-After`.
   */
  refusal?(asked: SimulatedRefusal): SimulatedRefused;
  /** A platform of one's own: what it keeps (messages that were sent, so that they can be edited) is its own. */
  startApi(settings: ChannelSettings): SimulatedApi;
}

export interface SimulatedEvent {
  /**
   * `message`: somebody writes. `edit`: changes what was written under the same `id`. `command`: a command of
   * the platform, `text` begins with its slash. `other`: something that is no text, an image or the like.
   * `status`: the platform tells what became of a message of ours.
   */
  kind: 'message' | 'edit' | 'command' | 'other' | 'status';
  /** The platform's id of who writes. */
  user: string;
  /** What the platform calls them. */
  user_name?: string;
  text: string;
  /**
   * Alone with the bot, or in a room with others. In a room the bot is addressed, as the platform does it. Always
   * `direct` for a channel without groups (`capabilities.groups`).
   */
  place: 'direct' | 'group';
  /** Name of a thread or topic in the room; absent: none. Equal names are one thread. */
  thread?: string;
  /** Number of the message, 1 or more: equal ones are the same message of the platform. */
  number: number;
  /** When it was written, ms since the epoch. */
  sent_at: number;
  /** Sign it with another secret. */
  bad_signature?: boolean;
}

/** To the daemon. */
export interface SimulatedRequest {
  method: 'GET' | 'POST';
  /** With its query. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** The platform's API. */
export interface SimulatedApi {
  /** @param call one request of the channel; its path stands below the API's base, with its query */
  answer(call: SimulatedApiCall): SimulatedApiAnswer;
}

export interface SimulatedApiCall {
  method: string;
  path: string;
  /** Lower-case names. */
  headers: Readonly<Record<string, string | undefined>>;
  body: Uint8Array;
}

export interface SimulatedApiAnswer {
  status: number;
  headers?: Readonly<Record<string, string>>;
  body: object;
  /** What people would see of it; nothing for calls that show nothing. */
  shown: readonly Shown[];
}

/** What the API is to refuse with. */
export interface SimulatedRefusal {
  /** Status of HTTP, 400 to 599, also where the platform itself would say it in its body. */
  status: number;
  /** How long the channel shall wait; null: as the platform usually says it. */
  retryAfterSeconds: number | null;
}

/** An answer of which nobody sees anything. */
export type SimulatedRefused = Omit<SimulatedApiAnswer, 'shown'>;

/** What somebody sees in the platform's app. */
export interface Shown {
  what: 'message' | 'private' | 'typing' | 'read' | 'deleted';
  /** The room or the person that it was sent to, as the API was told. */
  to: string;
  /** As the API was told; absent: none. */
  thread?: string;
  /** In the platform's own markup; empty for what has no words. */
  text: string;
}
