import type { ChannelSettings } from './setting.ts';

/**
 * Simulates a platform for `agentd simulate`, `serve --dev` and the conformance suite: it makes deliveries as the
 * platform would, and answers the calls of the channel. It runs in the process of `agentd simulate`. `serve --dev`
 * loads it for `devSettings` only; a daemon in production never loads it.
 */

export interface PlatformSimulator {
  /**
   * Settings with which the channel talks to this simulator, by name.
   * @param deriveSecret returns a secret of 43 base64url characters for a name; it is the same for every run
   * @param api_url address of the simulated API, `http://127.0.0.1:…`
   */
  devSettings(deriveSecret: (name: string) => string, api_url: string): Readonly<Record<string, string>>;
  /** Name of the setting with the address of the platform's API, for example `TELEX_API_URL`. */
  apiUrlSetting: string;
  /** User ids of two or more people who can write. The first one is the default. */
  who(): readonly string[];
  /**
   * The platform's request for an event, signed with the secrets of these settings. For a channel without a webhook, only
   * its body counts: it is the update that `Channel.receive` gets.
   */
  delivery(event: SimulatedEvent, settings: ChannelSettings): SimulatedRequest;
  /**
   * Returns the request, signed again for its current body, for tests that change bodies. Absent if the signature does
   * not depend on the body.
   */
  sign?(request: SimulatedRequest, settings: ChannelSettings): SimulatedRequest;
  /** Values of `Shown.to` for answers to an event: the room, and also the sender if answers can be private. */
  seenIn(event: SimulatedEvent, settings: ChannelSettings): readonly string[];
  /** What the sender sees of the daemon's response to a delivery. If absent, the sender sees nothing. */
  shownOf?(answer: { status: number; body: string }): readonly Shown[];
  /** A text of the platform's markup as people read it, without formatting. If absent, texts are shown as they are. */
  readable?(markup: string): string;
  /**
   * An error response as the platform's API would write it. If absent, the answer is the status with an empty object
   * and the header `Retry-After`.
   */
  refusal?(asked: SimulatedRefusal): SimulatedRefused;
  /** Creates a platform with its own state, for example the messages that were sent. */
  startApi(settings: ChannelSettings): SimulatedApi;
}

export interface SimulatedEvent {
  /**
   * `message`: a person writes. `edit`: the person edits the message with the same `number`. `command`: a command of
   * the platform; `text` begins with a slash. `other`: a message without text, for example an image. `status`: the
   * platform reports the status of a message of the bot. `press`: the person presses a button; `text` is the button's
   * payload (`ShownButton.press`).
   */
  kind: 'message' | 'edit' | 'command' | 'other' | 'status' | 'press';
  /** The sender's id on the platform. */
  user: string;
  /** The name that the platform shows. */
  user_name?: string;
  text: string;
  /**
   * Whether the event happens in a direct conversation with the bot or in a group. In a group, the message must address
   * the bot. Always `direct` for a channel without groups (`capabilities.groups`).
   */
  place: 'direct' | 'group';
  /** Name of a thread or topic in the room. Equal names mean the same thread. */
  thread?: string;
  /**
   * Number of the message, 1 or more. Equal numbers mean the same message. For a `press`, the number of the message
   * whose answer has the button.
   */
  number: number;
  /** When the event happened, ms since the epoch. */
  sent_at: number;
  /** Whether to sign the delivery with a wrong secret. */
  bad_signature?: boolean;
}

/** A request to the daemon. */
export interface SimulatedRequest {
  method: 'GET' | 'POST';
  /** Path and query. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** The simulated API of a platform. */
export interface SimulatedApi {
  /** @param call one request of the channel. Its path is relative to the API's base, and includes the query */
  answer(call: SimulatedApiCall): SimulatedApiAnswer;
}

export interface SimulatedApiCall {
  method: string;
  path: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  body: Uint8Array;
}

export interface SimulatedApiAnswer {
  status: number;
  headers?: Readonly<Record<string, string>>;
  body: object;
  /** What people would see. Empty if the call shows nothing. */
  shown: readonly Shown[];
}

/** The error with which the API must respond. */
export interface SimulatedRefusal {
  /** HTTP status, 400 to 599. A platform may put it into the body instead. */
  status: number;
  /** How long the channel should wait. Null for the platform's usual value. */
  retry_after_seconds: number | null;
}

/** An error response. It shows nothing to people. */
export type SimulatedRefused = Omit<SimulatedApiAnswer, 'shown'>;

/** Something that a person sees in the platform's app. */
export interface Shown {
  /** `edited`: a message of the bot has a new text, and these buttons. */
  what: 'message' | 'edited' | 'private' | 'typing' | 'read' | 'deleted';
  /** The room or person that the call names. */
  to: string;
  /** The thread that the call names. */
  thread?: string;
  /** The text in the platform's markup. Empty if there is no text. */
  text: string;
  /** Buttons of the message, from left to right. Absent if there are none. */
  buttons?: readonly ShownButton[];
}

export interface ShownButton {
  label: string;
  /** The payload of a press: `text` of the event. */
  press: string;
}

/** The header of a simulated update. A page of another site cannot send it without permission (CORS). */
export const SIMULATED_HEADER = 'x-agentd-simulated';

/** The path at which `serve --dev` takes updates for a simulated channel without a webhook. */
export function simulatedPath(channel: string): string {
  return `/simulate/${channel}`;
}

/** Whether the channel gets its messages over a connection of its own, not at a route. */
export function hasOwnConnection({ capabilities }: { capabilities: { webhook?: boolean } }): boolean {
  return capabilities.webhook === false;
}

/** The request that brings an update of the simulator to `Channel.receive`. */
export function updateRequest({ name }: { name: string }, { body }: SimulatedRequest): SimulatedRequest {
  return { method: 'POST', path: simulatedPath(name), headers: { [SIMULATED_HEADER]: '1' }, body };
}
