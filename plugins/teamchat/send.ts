import { hash } from 'node:crypto';
import {
  type ChannelHealth,
  type ChannelScope,
  type ClosedQuestion,
  type JsonObject,
  type OutgoingReply,
  type PushScope,
  RecentMap,
} from '../../src/channel/index.ts';
import { type Call, toRefusal } from './api.ts';
import { isId, isTimestamp } from './parse.ts';
import type { Part } from './render.ts';
import { TEXTS } from './texts.ts';

/** Loads what renders a reply, which only a daemon with this channel needs. */
export const loadRenderer = () => import('./render.ts');

/** Maximum number of users whose direct messages are remembered. */
const DIRECT_MAX = 10_000;

/**
 * The conversation ids of direct messages. A message that is posted to a user goes there, and the answer of the platform
 * names the conversation (https://docs.slack.dev/reference/methods/chat.postMessage).
 */
export class DirectMessages {
  readonly #byUser = new RecentMap<string, string>(DIRECT_MAX);

  get(user: string): string | undefined {
    return this.#byUser.get(user);
  }

  /** Remembers where a message that was posted to `to` has arrived. */
  note(to: string, channel: unknown): void {
    if (/^[UW]/.test(to) && typeof channel === 'string' && /^D[A-Z0-9]{1,63}$/.test(channel))
      this.#byUser.set(to, channel);
  }
}

/** Sends and changes the messages of the bot. */
export interface Sender {
  /** A long reply is sent as several messages. */
  send(reply: OutgoingReply): Promise<void>;
  /** Takes the buttons away from a question, and says in their place what became of it. */
  close(closed: ClosedQuestion): Promise<void>;
  /** Degraded while the platform refuses messages for good because of what the app may do. */
  health(): ChannelHealth;
}

export function createSender(scope: PushScope, call: Call, direct: DirectMessages): Sender {
  /** Why the platform refuses messages for good, although they are right; null if it does not. */
  let refused: string | null = null;

  /** @returns the id of the message; null if the platform did not report it */
  async function post(
    { id, reply_to }: OutgoingReply,
    { text, blocks }: Part,
    part: number,
  ): Promise<string | null> {
    const { channel, thread_ts } = reply_to;
    if (typeof channel !== 'string')
      throw scope.deliveryFailed('the reply names no channel', { final: true });
    try {
      const sent = await call('chat.postMessage', {
        channel,
        ...(typeof thread_ts === 'string' ? { thread_ts } : {}),
        text,
        ...(blocks === undefined ? {} : { blocks }),
        mrkdwn: true,
        parse: 'none',
        link_names: false,
        unfurl_links: false,
        unfurl_media: false,
        client_msg_id: partId(id, part),
      });
      refused = null;
      direct.note(channel, sent.channel);
      return isId(sent.channel) && isTimestamp(sent.ts) ? `${sent.channel}:${sent.ts}` : null;
    } catch (error) {
      throw failed(error);
    }
  }

  function failed(error: unknown): Error {
    const refusal = toRefusal(error);
    if (refusal.final) refused = refusal.credentials ? refusal.reason : null;
    return scope.deliveryFailed(refusal.reason, refusal);
  }

  return {
    send: (reply) =>
      scope.sendParts(
        reply.id,
        async () => (await loadRenderer()).renderParts(reply),
        (one, part) => post(reply, one, part),
      ),
    async close({ sent_id, confirmation, ...closing }) {
      const [channel, ts] = sent_id.split(':');
      const part = await (await loadRenderer()).closedPart(confirmation, closing);
      // A question without buttons stays as it is.
      if (part === null) return;
      try {
        await call('chat.update', { channel, ts, ...part, parse: 'none', link_names: false });
        refused = null;
      } catch (error) {
        throw failed(error);
      }
    },
    health: () =>
      refused === null
        ? { status: 'ok' }
        : { status: 'degraded', detail: `the platform refuses the credentials: ${refused}` },
  };
}

/**
 * The UUID of a part of a reply. It is the same for each attempt, so that the platform can recognize a repeat. The
 * documentation of chat.postMessage lists errors about `client_msg_id`, but does not promise that repeats are ignored.
 */
function partId(reply: string, part: number): string {
  const hex = hash('sha256', `${reply}:${part}`, 'hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}

/**
 * The line below a thread that shows that an answer is being written
 * (https://docs.slack.dev/reference/methods/assistant.threads.setStatus). The platform removes it when the answer
 * arrives, or after two minutes. It exists only in threads.
 */
export class StatusLine {
  readonly #scope: ChannelScope;
  readonly #call: Call;
  /** Running calls, by the thread in which they set the status. */
  readonly #underWay = new Map<string, Promise<void>>();
  /** Whether the app lacks the permission. No further calls are then made. */
  #forbidden = false;

  constructor(scope: ChannelScope, call: Call) {
    this.#scope = scope;
    this.#call = call;
  }

  async show(reply_to: JsonObject): Promise<void> {
    if (this.#forbidden || !isInThread(reply_to)) return;
    const key = JSON.stringify(reply_to);
    if (this.#underWay.has(key)) return;
    const showing = this.#set(reply_to, this.#scope.say(TEXTS.thinking)).finally(() =>
      this.#underWay.delete(key),
    );
    this.#underWay.set(key, showing);
    await showing;
  }

  /** Clears a status that is still being set: if it arrived after the answer, it would remain for two minutes. */
  answered(reply_to: JsonObject): void {
    if (this.#underWay.size > 0)
      this.#underWay.get(JSON.stringify(reply_to))?.then(() => this.#set(reply_to, ''));
  }

  async #set({ channel, thread_ts }: JsonObject, status: string): Promise<void> {
    try {
      await this.#call('assistant.threads.setStatus', { channel_id: channel, thread_ts, status });
    } catch (error) {
      const { reason, credentials } = toRefusal(error);
      // The status is optional: the answer is sent in any case.
      if (credentials || reason === 'unknown_method') this.#forbidden = true;
      this.#scope.log.debug({ reason, given_up: this.#forbidden }, 'status could not be shown');
    }
  }
}

function isInThread({ channel, thread_ts }: JsonObject): boolean {
  return typeof channel === 'string' && typeof thread_ts === 'string';
}
