import type { ChannelPlugin, ChannelRequest, IncomingMessage, PressOutcome } from '../../channel/index.ts';
import { StoreUnavailable } from '../errors.ts';
import { sendersTexts } from '../linking/senders-texts.ts';
import { requireMessage } from '../message/arrival.ts';
import { turnKey } from '../message/keys.ts';
import type { Services } from '../message/services.ts';
import type { ActionState } from '../store/actions.ts';
import type { InboxMessage } from '../store/inbox.ts';
import { timeOrderedId } from '../time/clock.ts';
import { enqueue } from './enqueue.ts';
import { pressLinkCode } from './link-codes.ts';
import type { InboxWorker } from './work.ts';

/**
 * Enqueues the press of a button. Its effect is decided when the message runs, for the person who is signed in then. A
 * press that can have no effect is refused here, so that the person is notified immediately.
 */
export async function press(
  plugin: ChannelPlugin,
  services: Services,
  worker: InboxWorker,
  message: IncomingMessage,
  request?: ChannelRequest,
): Promise<PressOutcome> {
  if (message.confirm === undefined) throw new Error('press needs a message with `confirm`');
  requireMessage(plugin, message);
  const ofCode = await pressLinkCode(
    { services, worker },
    plugin,
    message,
    request?.id ?? timeOrderedId(services.clock.now()),
  );
  if (ofCode === 'settled') return { outcome: 'enqueued' };
  const reason = ofCode ?? (await refusalOf(message, services));
  if (reason === null) {
    await enqueue(plugin, services, worker, [message], request);
    return { outcome: 'enqueued' };
  }
  services.log.info({ request_id: request?.id, channel: plugin.name, reason }, 'press of a button refused');
  const texts = await sendersTexts(services, plugin, message);
  return { outcome: 'refused', text: texts.say(reason) };
}

async function refusalOf(
  { platform, user_id, thread_id, confirm }: IncomingMessage,
  { store }: Services,
): Promise<'confirm_gone' | 'confirm_not_yours' | null> {
  const action = await store.actions.find(confirm?.id ?? '');
  if (action === null || action.platform !== platform || action.session_id !== thread_id)
    return 'confirm_gone';
  if (action.user_id !== user_id) return 'confirm_not_yours';
  return action.state === 'pending' ? null : 'confirm_gone';
}

const SETTLED: readonly ActionState[] = ['started', 'done', 'failed', 'unknown', 'declined'];

/**
 * Whether another message has settled the action of this button since the button was pressed, so that this press has no
 * effect.
 */
export async function isVoidPress(
  { id, message }: Pick<InboxMessage, 'id' | 'message'>,
  { store }: Pick<Services, 'store'>,
): Promise<boolean> {
  if (message?.confirm === undefined) return false;
  const action = await store.actions.find(message.confirm.id).catch((error: unknown) => {
    // The run will also read the store, and fail for the same reason.
    if (error instanceof StoreUnavailable) return null;
    throw error;
  });
  return (
    action !== null &&
    SETTLED.includes(action.state) &&
    action.turn_key !== turnKey({ turn_id: id, key: null })
  );
}
