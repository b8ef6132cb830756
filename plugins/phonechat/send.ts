import {
  type ChannelScope,
  type JsonObject,
  type OutgoingReply,
  type PushScope,
  RecentMap,
  withTimeout,
} from '../../src/channel/index.ts';
import type { Graph } from './api.ts';

/** Timeout for all parts of one reply, in ms. The daemon waits longer, so two attempts never overlap. */
const REPLY_MS = 50_000;

/** Loads what renders a reply, which only a daemon with this channel needs. */
export const loadRenderer = () => import('./render.ts');

/** Sends replies, each as one or more messages. */
export class Sender {
  readonly #scope: PushScope;
  readonly #graph: Graph;

  constructor(scope: PushScope, graph: Graph) {
    this.#scope = scope;
    this.#graph = graph;
  }

  async send({ id, text, reply_to, confirmation }: OutgoingReply): Promise<void> {
    const { number_id, ...address } = toRecipient(reply_to);
    const isGroup = address.recipient_type === 'group';
    // The platform has no buttons in groups.
    const reply = confirmation && !isGroup ? { text, confirmation } : { text };
    const render = async () => (await loadRenderer()).renderMessages(reply);
    await withTimeout(REPLY_MS, (limit) =>
      this.#scope.sendParts(id, render, async (message) => {
        const failure = await this.#graph.post(number_id, { ...address, ...message }, limit);
        if (failure !== null) throw this.#scope.deliveryFailed(failure.reason, failure);
      }),
    );
  }
}

/** The recipient, and the business number that sends the reply. */
function toRecipient({ number_id, to, recipient, group }: JsonObject): JsonObject & { number_id: string } {
  const from = { number_id: String(number_id) };
  if (typeof group === 'string') return { ...from, recipient_type: 'group', to: group };
  const person = typeof recipient === 'string' ? { recipient } : { to: String(to) };
  return { ...from, recipient_type: 'individual', ...person };
}

/** Minimum time between two calls that show the indicator, in ms. The platform hides it after 25 s. */
const SHOWN_MS = 20_000;
/** Maximum number of messages for which the last call is remembered. */
const SHOWN_MAX = 1000;

/**
 * Marks a message as read and shows that an answer is being written, with one call (Cloud API, "Typing indicators").
 * Groups have no indicator, so a message in a group is only marked as read, once.
 */
export class ReadMarks {
  readonly #scope: ChannelScope;
  readonly #graph: Graph;
  /** When the indicator was last shown for a message, in ms since the epoch. */
  readonly #shown = new RecentMap<string, number>(SHOWN_MAX);

  constructor(scope: ChannelScope, graph: Graph) {
    this.#scope = scope;
    this.#graph = graph;
  }

  async show({ number_id, message_id, group }: JsonObject): Promise<void> {
    if (typeof number_id !== 'string' || typeof message_id !== 'string') return;
    const last = this.#shown.get(message_id);
    const now = this.#scope.now();
    const isGroup = typeof group === 'string';
    if (last !== undefined && (isGroup || now - last < SHOWN_MS)) return;
    this.#shown.set(message_id, now);
    const sign = isGroup ? {} : { typing_indicator: { type: 'text' } };
    const failure = await this.#graph.post(number_id, { status: 'read', message_id, ...sign });
    if (failure !== null) throw new Error(failure.reason);
  }
}
