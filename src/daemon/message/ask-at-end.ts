import { randomSuffix } from '../clock.ts';
import { confirmerOf } from '../confirmation/confirmer.ts';
import { Desk } from '../confirmation/desk.ts';
import { plainQuestion } from '../confirmation/question.ts';
import { questionText } from '../confirmation/question-text.ts';
import type { Services } from '../services.ts';
import type { ReplyText } from './reply-text.ts';
import type { AskedQuestion, Runnable } from './turn.ts';
import { turnKey } from './turn-key.ts';

/** The desk of this turn. It keeps the tool call that the person must confirm. */
export function deskOf(turn: Runnable, { seal }: Pick<Services, 'seal'>): Desk {
  const { principal, session_tag, session, message, still_waits } = turn;
  const asking = {
    confirmer: confirmerOf(turn),
    still_waits,
    session_tag,
    session_id: session.session_id,
    platform: message.platform,
    user_id: message.user_id,
    alias_id: message.alias_id ?? null,
    person: principal.person,
    turn_key: turnKey(turn),
  };
  return new Desk(asking, seal, randomSuffix);
}

/** Adds the question to the end of the reply, if a call of the run waits for confirmation. */
export function askAtEnd(
  reply: ReplyText,
  { kept }: Pick<Desk, 'kept'>,
  { texts }: Runnable,
): AskedQuestion | null {
  if (kept === null) return null;
  const question = questionText(kept.question, texts);
  reply.add(question);
  return {
    action: kept.action,
    summary: plainQuestion(kept.question),
    begins_at: reply.text.length - question.length,
    buttons: { confirm: texts.say('confirm_button'), decline: texts.say('decline_button') },
  };
}
