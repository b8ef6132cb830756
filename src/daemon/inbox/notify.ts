import { hash } from 'node:crypto';
import { checkMessageId, checkReplyTo, checkText } from '../../channel/check-message.ts';
import type { ChannelPlugin, JsonObject, NotifyOptions } from '../../channel/index.ts';
import { RecentMap } from '../../channel/recent-map.ts';
import { AgentdError } from '../errors.ts';
import { platformUser } from '../message/keys.ts';
import type { Services } from '../message/services.ts';
import { maskTokens } from '../settings/secret.ts';
import type { NewInboxMessage } from '../store/inbox/inbox.ts';
import { copyOfJson } from '../syntax/json.ts';
import { timeOrderedId } from '../time/clock.ts';
import { omitPrivate, sealReplyTo } from './outgoing.ts';
import type { InboxParts } from './work.ts';

export interface Notifier extends InboxParts {
  plugin: ChannelPlugin;
  throttle: Throttle;
}

/**
 * Sends a text without an agent run. The text is as durable as the reply of a run, and sending it is repeated in the
 * same way. Texts to one chat keep their order. They do not wait for the runs of a session, so that, for example, a
 * confirmation is sent immediately. Rejects like `enqueue`.
 */
export async function notify(
  { plugin, services, worker, throttle }: Notifier,
  address: JsonObject,
  text: string,
  { message_id, user_id, throttle_key }: NotifyOptions = {},
): Promise<void> {
  const refuse = (field: string) => (problem: string) => {
    throw new AgentdError('invalid_request', `A text cannot be sent: ${field} ${problem}.`);
  };
  checkReplyTo(address, refuse('reply_to'));
  // The channel may use the object for the next text meanwhile.
  const reply_to = copyOfJson(address);
  checkText(text, refuse('text'));
  if (message_id !== undefined) checkMessageId(message_id, refuse('message_id'));
  if (user_id !== undefined) await worker.endCollecting(plugin.name, user_id);
  const about = { channel: plugin.name, message_id };
  if (throttle_key !== undefined && !throttle.allows(throttle_key, text)) {
    services.log.debug(about, 'hint not sent: its recipient was notified recently');
    return;
  }
  if (throttle_key !== undefined && (await isBlocked(services, plugin.name, user_id))) {
    services.log.debug(about, 'hint not sent: the loop guard blocks its recipient');
    return;
  }
  const told = createNotice(plugin, services, reply_to, text, user_id ?? null);
  const notice = { ...told, message_id: message_id ?? null };
  const [outcome] = (await services.store.inbox.enqueue([notice])) ?? rejectDelivery();
  if (outcome === 'repeated')
    services.log.info(about, 'not sent again: the message that it answers was already received');
  else if (throttle_key !== undefined) throttle.note(throttle_key, text);
  worker.wake();
}

/** Whether the loop guard blocks this user of a platform: then a hint would feed the loop, as a reply would. */
async function isBlocked(
  { settings, store }: Services,
  platform: string,
  user_id: string | undefined,
): Promise<boolean> {
  if (!settings.LOOP_GUARD_ENABLED || user_id === undefined) return false;
  return store.guard.isBlocked(platformUser(platform, user_id));
}

/** Maximum number of hints for one reader within a minute; `HOUR` is the maximum within an hour. */
const MINUTE = { ms: 60_000, max: 10 } as const;
const HOUR = { ms: 3_600_000, max: 30 } as const;
/**
 * Within this time, the same text is sent only once, ms. A person may send ten pictures at once, and each would cause
 * the same hint.
 */
const SAME_MS = 3000;
/** Maximum number of readers that are remembered. */
const READERS_MAX = 10_000;

interface Told {
  text: string;
  at: number;
}

/**
 * Limits hints: texts that are not an answer (`ChannelScope.notify` with a `throttle_key`). The loop guard checks only
 * messages that lead to a run, so without this limit two programs could notify each other forever. Each process counts
 * only its own hints.
 */
export class Throttle {
  readonly #now: () => number;
  readonly #readers = new RecentMap<string, readonly Told[]>(READERS_MAX);

  constructor(now: () => number) {
    this.#now = now;
  }

  allows(reader: string, text: string): boolean {
    const now = this.#now();
    const told = this.#lately(reader, now);
    return (
      told.length < HOUR.max &&
      told.filter(({ at }) => now - at < MINUTE.ms).length < MINUTE.max &&
      !told.some((hint) => hint.text === text && now - hint.at < SAME_MS)
    );
  }

  /** Records that a hint was sent. */
  note(reader: string, text: string): void {
    const now = this.#now();
    const told = this.#lately(reader, now);
    this.#readers.set(reader, [...told, { text, at: now }]);
  }

  #lately(reader: string, now: number): readonly Told[] {
    // A hint with a time in the future is ignored: the clock was set back after it was sent.
    return (this.#readers.get(reader) ?? []).filter(({ at }) => at <= now && now - at < HOUR.ms);
  }
}

/**
 * A text that is sent without an agent run, as the inbox stores it. All texts to one chat are in one queue. Tokens in
 * the text are masked.
 * @param user_id the user whom the text answers; null if the channel did not say.
 */
export function createNotice(
  plugin: Pick<ChannelPlugin, 'name'>,
  { clock, seal }: Pick<Services, 'clock' | 'seal'>,
  reply_to: JsonObject,
  text: string,
  user_id: string | null,
): NewInboxMessage {
  const now = clock.now();
  const place = hash('sha256', JSON.stringify(omitPrivate(reply_to)), 'base64url');
  // No session id can be equal to the name of this queue, because a session id has a colon after the channel's name.
  const queue = `${plugin.name}/${place}`;
  const id = timeOrderedId(now);
  return {
    id,
    platform: plugin.name,
    queue,
    session_id: null,
    message_id: null,
    user_id,
    message: null,
    reply_to: sealReplyTo(seal, id, reply_to),
    reply: maskTokens(text.trim()),
    sent_at: now,
    request_id: timeOrderedId(now),
  };
}

/** Rejects the delivery. Nothing was stored, and the platform delivers it again. */
export function rejectDelivery(): never {
  throw new AgentdError('unavailable', 'Too many messages are waiting.', { retryAfter: 30 });
}
