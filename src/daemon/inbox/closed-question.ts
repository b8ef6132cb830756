import type { ChannelPlugin, ClosedQuestion, IncomingMessage } from '../../channel/index.ts';
import { sendersReading } from '../linking/find-link.ts';
import { decisionInWords } from '../message/reply/ended-question.ts';
import type { Services } from '../message/services.ts';
import type { InboxMessage } from '../store/inbox/inbox.ts';
import type { LocalTexts } from '../texts/texts.ts';
import { visible } from '../tools/confirmation/plain-value.ts';
import { confirmationIn } from './outgoing.ts';

/** Longest name of a person that is shown, in characters. */
const NAME_MAX = 80;

type Uses = Pick<Services, 'store' | 'seal' | 'clock' | 'log' | 'texts'>;

/**
 * A question without its buttons, for `PushChannel.closeQuestion`. Null if there is nothing to change, for example
 * because the message with the question was deleted.
 * @param message a text that `closes` a message with a question
 */
export async function closedQuestion(
  services: Uses,
  plugin: ChannelPlugin,
  { closes }: Pick<InboxMessage, 'closes'>,
): Promise<Omit<ClosedQuestion, 'reply_to'> | null> {
  const asked = closes ? await services.store.inbox.find(closes.message_id) : null;
  const { reply = null, question = null, message = null } = asked ?? {};
  if (closes === undefined || reply === null || question === null || message === null) return null;
  const actions = await services.store.actions.ofQuestion(question.id);
  const reading = await sendersReading(services, plugin, message);
  // Some platforms name a person only when the person presses a button. The turn of a message has the message’s id.
  const [{ turn_key } = { turn_key: '' }] = actions;
  const answer = message.shared === true ? await services.store.inbox.find(turn_key) : null;
  const decision = decisionInWords(actions, services.clock.now(), {
    ...reading,
    who: describeDecider([message, ...(answer?.message ? [answer.message] : [])], reading.texts),
  });
  if (decision === null) return null;
  return { sent_id: closes.sent_id, confirmation: confirmationIn(reply, question), ...decision };
}

/** Only the person who was asked can decide. In a group, others read the name under which the platform shows them. */
function describeDecider(theirs: readonly IncomingMessage[], texts: LocalTexts): string {
  if (theirs.some(({ shared }) => shared !== true)) return texts.say('decided_by_you');
  const names = theirs.map(({ metadata }) => visible(metadata.user_name ?? '').trim());
  return names.find((name) => name !== '' && name.length <= NAME_MAX) ?? texts.say('decided_by_asked');
}
