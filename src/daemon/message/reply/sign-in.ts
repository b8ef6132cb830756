import type { SignInHint } from '../../store/inbox/inbox.ts';
import type { SignInNeeded } from '../outlet.ts';
import type { Run } from '../run/run.ts';
import type { RunServices } from '../services.ts';
import type { Runnable } from '../turn.ts';
import type { ReplyText } from './reply-text.ts';

/** Whether the reply may end with a text that tells the person to sign in. */
export function mayAskForSignIn({ channel }: Pick<Runnable, 'channel'>): boolean {
  return channel.has_platform && channel.linking !== undefined;
}

/**
 * If a tool of the run said that sign-in is needed, tells the person how to sign in (agentd-identity(7), "The question
 * waits"). In a group, this is said in a private message, and the reply says so when it is sent. Web clients show a
 * button instead.
 */
export function askForSignIn(
  reply: ReplyText,
  turn: Runnable,
  run: Run,
  { settings }: Pick<RunServices, 'settings'>,
): SignInNeeded | null {
  if (!run.sign_in.needed || !mayAskForSignIn(turn)) return null;
  // Not a second time, or the question might be run again and again. An answer to a question is nothing to run again.
  const isQuestion = turn.rerun === undefined && turn.settlement.confirmed.length === 0;
  const waits = isQuestion && settings.SIGN_IN_WAIT_SECONDS > 0;
  turn.trace.note({ step: 'sign-in', verdict: 'ok', reason: waits ? 'question_waits' : 'sign_in_asked' });
  const how = howToSignIn(turn, waits, settings.SIGN_IN_URL);
  const waiting_text = waits ? turn.message.text : null;
  if (!turn.message.shared) {
    reply.add(how);
    return { waiting_text, hint: null };
  }
  reply.add(turn.texts.say('sign_in_first'));
  return { waiting_text, hint: hintFor(turn, reply.text.length, how) };
}

function hintFor({ texts }: Runnable, at: number, how: string): SignInHint {
  return {
    at,
    private_text: `${texts.say('sign_in_in_group')}\n\n${how}`,
    written: texts.say('sign_in_written'),
    write: texts.say('sign_in_write'),
    write_at: texts.template('sign_in_write_at'),
    answered: texts.say('answered_privately'),
  };
}

function howToSignIn({ texts, channel }: Runnable, waits: boolean, url: string | undefined): string {
  const then = texts.say(waits ? 'sign_in_waits' : 'sign_in_then_ask');
  if (url !== undefined) return `${texts.say('sign_in_at', { url })}\n\n${then}`;
  const how = channel.linking?.how;
  return `${how === undefined ? texts.say('sign_in_first') : texts.sayOwn(how)} ${then}`;
}
