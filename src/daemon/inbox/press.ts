import type { ChannelPlugin, ChannelRequest, IncomingMessage, PressOutcome } from '../../channel/index.ts';
import { StoreUnavailable } from '../errors.ts';
import { findSendersLink, findSendersTexts } from '../linking/find-link.ts';
import { acceptMessage } from '../message/arrival.ts';
import { turnKey } from '../message/keys.ts';
import { describeOutcome } from '../message/reply/ended-question.ts';
import type { Services } from '../message/services.ts';
import type { Action, ActionState } from '../store/actions/actions.ts';
import type { InboxMessage } from '../store/inbox/inbox.ts';
import type { LocalTexts } from '../texts/texts.ts';
import { timeOrderedId } from '../time/clock.ts';
import { enqueue } from './enqueue.ts';
import { pressLinkCode } from './take-link-codes.ts';
import type { InboxWorker } from './work.ts';

/**
 * Enqueues the press of a button. Its effect is decided when the message runs, for the person who is signed in then. A
 * press that can have no effect is refused here, so that the person is notified immediately.
 */
export async function press(
  plugin: ChannelPlugin,
  services: Services,
  worker: InboxWorker,
  given: IncomingMessage,
  request?: ChannelRequest,
): Promise<PressOutcome> {
  const message = acceptMessage(plugin, given);
  const { platform, user_id, thread_id, confirm } = message;
  if (confirm === undefined) throw new Error('press needs a message with `confirm`');
  const ofCode = await pressLinkCode(
    { services, worker },
    plugin,
    message,
    request?.id ?? timeOrderedId(services.clock.now()),
  );
  if (ofCode === 'settled') return { outcome: 'enqueued' };
  const actions = ofCode === null ? await services.store.actions.ofQuestion(confirm.id) : [];
  const [first] = actions;
  const isHere = first?.platform === platform && first.session_id === thread_id;
  const isTheirs = isHere && first.user_id === user_id;
  if (isTheirs && first.state === 'pending') {
    await enqueue(plugin, services, worker, [message], request);
    return { outcome: 'enqueued' };
  }
  const reason = ofCode ?? (isHere && !isTheirs ? 'confirm_not_yours' : 'confirm_gone');
  services.log.info({ request_id: request?.id, channel: plugin.name, reason }, 'press of a button refused');
  const texts = await findSendersTexts(services, plugin, message);
  const became = isTheirs ? await whatBecame(actions, plugin, services, message, texts) : null;
  return { outcome: 'refused', text: became ?? texts.say(reason) };
}

/** What became of an answered question, for the person who was asked. Null if the sender is linked as another one now. */
async function whatBecame(
  actions: readonly Action[],
  plugin: ChannelPlugin,
  services: Services,
  message: IncomingMessage,
  texts: LocalTexts,
): Promise<string | null> {
  const link = await findSendersLink(services, plugin, message);
  if (link === 'other_sender') return null;
  const verdict = link && (await services.tokens.validate(link.token));
  const signedIn = verdict?.valid ? verdict : null;
  if (actions[0]?.person !== (signedIn?.person ?? null)) return null;
  const timezone = signedIn?.claims.timezone ?? null;
  return describeOutcome(actions, services.clock.now(), { texts, timezone });
}

const SETTLED: readonly ActionState[] = ['confirmed', 'started', 'done', 'failed', 'unknown', 'declined'];

/**
 * Whether another message has settled the action of this button since the button was pressed, so that this press has no
 * effect.
 */
export async function isVoidPress(
  { id, message }: Pick<InboxMessage, 'id' | 'message'>,
  { store }: Pick<Services, 'store'>,
): Promise<boolean> {
  if (message?.confirm === undefined) return false;
  const actions = await store.actions.ofQuestion(message.confirm.id).catch((error: unknown) => {
    // The run will also read the store, and fail for the same reason.
    if (error instanceof StoreUnavailable) return [];
    throw error;
  });
  const turn_key = turnKey({ turn_id: id, key: null });
  return actions.some((action) => SETTLED.includes(action.state) && action.turn_key !== turn_key);
}
