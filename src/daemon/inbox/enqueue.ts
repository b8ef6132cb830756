import { checkText } from '../../channel/check-message.ts';
import type {
  ChannelPlugin,
  ChannelRequest,
  EditedMessage,
  EnqueueOutcome,
  IncomingMessage,
} from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';
import {
  duplicateLine,
  type GuardedMessage,
  type GuardVerdict,
  logVerdict,
  toGuardLimits,
} from '../guard/verdict.ts';
import { findSendersTexts } from '../linking/find-link.ts';
import { acceptMessages, maskMessage } from '../message/arrival.ts';
import { findAnsweredQuestion } from '../message/find-answered-question.ts';
import { platformUser, textHash } from '../message/keys.ts';
import type { Services } from '../message/services.ts';
import { maskTokens } from '../settings/secret.ts';
import type { Collects, NewInboxMessage, ScreenedMessage } from '../store/inbox/inbox.ts';
import { addLazyMember } from '../syntax/lazy-member.ts';
import { timeOrderedId } from '../time/clock.ts';
import { createNotice, rejectDelivery } from './notify.ts';
import { sealReplyTo } from './outgoing.ts';
import { endCodesIn, takeLinkCodes } from './take-link-codes.ts';
import type { InboxWorker } from './work.ts';

/** Maximum number of messages in one delivery. A larger number is a defect of the channel. */
const DELIVERY_MAX = 1000;

/**
 * Stores messages that are answered later. Resolves to the outcome for each message when each is durably stored,
 * recognized as a repeat, or blocked by the loop guard. The platform does not learn that a message was blocked. No token is stored:
 * `metadata.jwt_token` is left out, and text that has the form of a token is masked. The sender's token is looked up
 * when the message runs. A message that is a link code, or that answers the question about one, is not stored; its sender
 * gets a notice (`takeLinkCodes`).
 *
 * Rejects with `invalid_request` if a message does not follow the contract, and with `unavailable` if the store is
 * unreachable or too many messages wait. In these cases no message is stored, and the platform delivers the messages
 * again.
 * @param request the request that delivered the messages; the log lines of the runs contain its id.
 */
export async function enqueue(
  plugin: ChannelPlugin,
  services: Services,
  worker: InboxWorker,
  given: readonly IncomingMessage[],
  request?: ChannelRequest,
): Promise<EnqueueOutcome[]> {
  if (given.length === 0) return [];
  if (given.length > DELIVERY_MAX)
    throw new Error(`enqueue accepts at most ${DELIVERY_MAX} messages per call`);
  const messages = acceptMessages(plugin, given);
  await worker.questions.ended(messages.map(({ thread_id }) => thread_id));

  const request_id = request?.id ?? timeOrderedId(services.clock.now());
  const parent_span = services.observer.readParent(request?.headers.traceparent);
  const left = await takeLinkCodes({ services, worker }, plugin, messages, request_id);
  const mayCollect = !left.includes(null);
  const entries = await Promise.all(
    left
      .filter((message) => message !== null)
      .map(async (message) => {
        const entry = createEntry(message, { request_id, parent_span }, services);
        const collects = mayCollect ? await planCollecting(entry, services) : null;
        return collects === null ? entry : { ...entry, collects };
      }),
  );
  const outcomes = entries.length === 0 ? [] : await screen(plugin, services, entries);
  entries.forEach((entry, index) => {
    if (outcomes[index] === 'repeated') logRepeat(entry, services);
    else if (outcomes[index] === 'kept') worker.accepted(entry);
  });
  const count = (wanted: string) => outcomes.filter((outcome) => outcome === wanted).length;
  services.log.info(
    {
      request_id,
      channel: plugin.name,
      kept: count('kept'),
      repeated: count('repeated'),
      blocked: count('blocked'),
    },
    'messages accepted',
  );
  worker.wake();
  let next = 0;
  return left.map((message) => (message === null ? 'kept' : (outcomes[next++] as EnqueueOutcome)));
}

/**
 * Replaces the text of a message that its sender edited, if the run of the message has not begun. Otherwise the edit is
 * ignored and logged. The message is marked, because an edited message answers no question.
 * @returns whether the text was replaced.
 */
export async function edit(
  plugin: ChannelPlugin,
  services: Services,
  { message_id, user_id, thread_id, text }: EditedMessage,
): Promise<boolean> {
  checkText(text, (problem) => {
    throw new AgentdError('invalid_request', `The edit cannot be accepted: text ${problem}.`);
  });
  const replaced = await services.store.inbox.edit({
    platform: plugin.name,
    message_id,
    user_id,
    session_id: thread_id,
    text: maskTokens((await endCodesIn(text, { services })).trim()),
  });
  services.log.info(
    { channel: plugin.name, message_id },
    replaced
      ? 'message edited before its turn'
      : 'edit ignored: the turn of the message has begun, or it is another user’s or of another thread',
  );
  return replaced;
}

function createEntry(
  message: IncomingMessage,
  { request_id, parent_span }: { request_id: string; parent_span: string | null },
  services: Services,
): ArrivedMessage {
  const now = services.clock.now();
  // Stored once, beside the message, and sealed there.
  const { reply_to = {}, ...others } = message;
  const masked = maskMessage(others);
  const { jwt_token: _never, ...metadata } = masked.metadata;
  const session_id = message.thread_id as string;
  return {
    id: timeOrderedId(now),
    platform: message.platform,
    queue: session_id,
    session_id,
    message_id: message.message_id ?? null,
    user_id: message.user_id,
    message: { ...masked, metadata, ...(parent_span === null ? {} : { parent_span }) },
    reply_to,
    reply: null,
    // Stores use whole milliseconds, but some platforms report microseconds.
    sent_at: Math.max(0, Math.floor(Math.min(message.sent_at ?? now, now))),
    request_id,
  };
}

/** How long the run of a message waits for further messages; null if it does not (agentd-message(7), "Collected messages"). */
async function planCollecting(
  { message, session_id }: ArrivedMessage,
  services: Services,
): Promise<Collects | null> {
  const { COLLECT_MS: wait_ms, COLLECT_MAX_MS: max_ms } = services.settings;
  if (wait_ms === 0 || (await findAnsweredQuestion(message, session_id, services)) !== null) return null;
  return { wait_ms, max_ms };
}

function logRepeat({ platform, message, message_id, request_id }: ArrivedMessage, services: Services): void {
  if (message_id === null) return;
  services.log.info({ request_id }, duplicateLine({ platform, user_id: message.user_id }, message_id));
}

/** A message that a person wrote, in contrast to a notice. */
type ArrivedMessage = ScreenedMessage['message'];

/**
 * Lets the loop guard screen messages as they arrive (agentd-message(7), "Loop guard"), and stores the messages that
 * pass. The guard uses the platform's times. If a message is delivered again, it gets the verdict of its first
 * delivery.
 * @returns the outcome for each message, once it is durable.
 * @throws `unavailable` if too many messages wait.
 */
async function screen(
  plugin: ChannelPlugin,
  services: Services,
  arrived: readonly ArrivedMessage[],
): Promise<EnqueueOutcome[]> {
  const { store, settings, log, observer, seal } = services;
  const stored = arrived.map((message) => ({
    ...message,
    reply_to: sealReplyTo(seal, message.id, message.reply_to),
  }));
  if (!settings.LOOP_GUARD_ENABLED) return (await store.inbox.enqueue(stored)) ?? rejectDelivery();
  const arrivals = await Promise.all(
    arrived.map(async (message, index) => {
      const text = await noticeText(plugin, message, services);
      let notice: NewInboxMessage | undefined;
      const arrival = {
        message: stored[index] as ArrivedMessage,
        guarded: await toGuardedMessage(message, services),
        agent_digest: services.agents.digest(),
      };
      // Hardly any message needs it. It is made once, because a step of the store may run several times.
      return addLazyMember(arrival, 'notice', () => {
        notice ??= createNotice(plugin, services, message.reply_to, text, message.user_id);
        return notice;
      });
    }),
  );
  const { verdicts, outcomes } = await store.inbox.screen(arrivals, toGuardLimits(settings));
  arrivals.forEach(({ message, guarded }, index) => {
    const verdict = verdicts[index] as GuardVerdict;
    logVerdict(verdict, guarded, message.request_id, log);
    if (!verdict.allowed && !verdict.repeated) observer.messageBlocked(plugin.name, verdict.reason);
  });
  return (outcomes ?? rejectDelivery()).map((outcome, index) => {
    return verdicts[index]?.allowed && outcome !== null ? outcome : 'blocked';
  });
}

async function toGuardedMessage(arrived: ArrivedMessage, services: Services): Promise<GuardedMessage> {
  const { message, session_id, platform, message_id, sent_at } = arrived;
  const user = platformUser(platform, message.user_id);
  const text = message.confirm === undefined ? textHash(message.text) : null;
  const answers = await findAnsweredQuestion(message, session_id, services);
  return { user, session_id, text, answers, message_id, sent_at };
}

/** The notice that a session has reached its message limit. Its placeholders are filled in from the verdict. */
async function noticeText(
  plugin: ChannelPlugin,
  { message }: ArrivedMessage,
  services: Services,
): Promise<string> {
  return (await findSendersTexts(services, plugin, message)).template('turn_limit_notice');
}
