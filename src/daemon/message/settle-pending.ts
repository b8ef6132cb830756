import type { Action } from '../store/actions.ts';
import { ClaimLost } from '../store/claim-lost.ts';
import type { LocalTexts } from '../texts/texts.ts';
import {
  type AnswerFacts,
  type AnswerVerdict,
  confirmationGone,
  confirmerOf,
  judgeAnswer,
} from '../tools/confirmation/judge-answer.ts';
import { escapeMarkdown } from '../tools/confirmation/question.ts';
import { recordedSummary } from '../tools/journal/action-record.ts';
import type { StepLine } from '../trace/trace-record.ts';
import { turnKey } from './keys.ts';
import type { Step } from './sequence.ts';
import type { Services } from './services.ts';
import type {
  Answering,
  Deduplicated,
  Guarded,
  Identified,
  Locked,
  Resolved,
  Settled,
  Settlement,
} from './turn.ts';

type Uses = Pick<Services, 'store' | 'seal' | 'texts'>;

type Turn = Answering & Identified & Deduplicated & Locked & Guarded & Resolved;

/**
 * Checks whether the message answers the question of a pending action (agentd-agent(7), "Confirmation").
 *
 * An answer is a word of the person's language, or a button, which names the action. Any other message of the same
 * principal declines the action, except for an edited message: nobody knows which of its texts the person meant. Messages
 * that were collected are never an answer, and the second run of a message is none. An action is withdrawn if its person has signed out, or if somebody else has signed
 * in.
 *
 * Adds `settlement`; if the action is confirmed, run-agent makes the call. Throws `confirmation_gone` if a web client
 * names an action that does not wait for its answer. In this case no action is confirmed or declined.
 */
export const settlePending: Step<Turn, Settled> = {
  name: 'settle-pending',
  async run(turn, services: Uses, line) {
    const { principal, message } = turn;
    const texts = services.texts.in(
      principal.person === null ? null : principal.claims.locale,
      message.locale,
    );
    const isAnswer = !turn.edited && turn.collected === undefined && turn.rerun === undefined;
    const says = isAnswer ? answerIn(message, texts) : 'other';
    const labelled = message.text === '' ? { ...message, text: labelOf(says, texts) } : message;
    const added = { message: labelled, texts };
    const earlier = says === 'other' ? undefined : settledBefore(turn);
    if (earlier !== undefined) {
      line.reason = 'settled_before';
      return { ...added, settlement: again(earlier, turn, services, texts), still_waits: false };
    }
    return { ...added, ...(await settle(turn, says, texts, services, line)) };
  },
};

const REASONS: Readonly<Record<AnswerVerdict, string>> = {
  left: 'action_waits',
  confirmed: 'action_confirmed',
  declined: 'action_declined',
  sign_in: 'confirmation_needs_sign_in',
  withdrawn: 'action_withdrawn',
  foreign: 'action_of_another',
};

/** What a message says, regardless of whether an action is pending. */
function answerIn({ confirm, text }: Turn['message'], texts: LocalTexts): AnswerFacts['says'] {
  if (confirm) return confirm.approve ? 'confirm' : 'decline';
  if (texts.isWord('confirm', text)) return 'confirm';
  return texts.isWord('decline', text) ? 'decline' : 'other';
}

function labelOf(says: AnswerFacts['says'], texts: LocalTexts): string {
  return texts.say(says === 'confirm' ? 'confirm_button' : 'decline_button');
}

/**
 * The action that an earlier run of this message settled before its process died. Undefined if the person of the action
 * is no longer linked, because another person who is linked now must not learn about it.
 */
function settledBefore({ begun, principal: { person } }: Turn): Action | undefined {
  const isTheirs = (action: Action) => action.person === null || action.person === person;
  return begun.earlier.find(
    (action) => action.principal !== null && action.state !== 'withdrawn' && isTheirs(action),
  );
}

function again(action: Action, turn: Turn, services: Uses, texts: LocalTexts): Settlement {
  return action.state === 'declined'
    ? declined(action, turn, services, texts)
    : { kind: 'confirmed', action, resumed: true };
}

async function settle(
  turn: Turn,
  says: AnswerFacts['says'],
  texts: LocalTexts,
  services: Uses,
  line: StepLine,
): Promise<Pick<Settled, 'settlement' | 'still_waits'>> {
  const named = turn.message.confirm?.id;
  const facts = factsOf(turn, says);
  const waiting = turn.begun.pending.map((action) => {
    const names_action = action.action_id === named;
    return { action, names_action, verdict: judgeAnswer(action, { ...facts, names_action }) };
  });
  for (const { action, verdict } of waiting)
    if (verdict === 'withdrawn') await end(turn, action, 'withdrawn', services);
  // A button answers only the action that it names.
  const meant = waiting.filter(({ names_action }) => named === undefined || names_action);
  const answered =
    meant.find(({ verdict }) => verdict === 'confirmed' || verdict === 'declined') ??
    meant.find(({ verdict }) => verdict === 'sign_in');
  const still_waits = waiting.some(
    ({ action, verdict }) =>
      action.principal === facts.confirmer && verdict !== 'withdrawn' && action !== answered?.action,
  );
  const [first] = waiting;
  const verdict = answered?.verdict ?? first?.verdict;
  if (verdict !== undefined) line.reason = REASONS[verdict];
  if (!answered) {
    const settlement: Settlement = named === undefined ? { kind: 'none' } : gone(turn, texts, line);
    return { settlement, still_waits };
  }
  const { action } = answered;
  line.detail = { tool: action.tool, action: action.action_id };
  if (verdict === 'sign_in')
    return { settlement: { kind: 'said', text: texts.say('confirm_sign_in') }, still_waits: true };
  if (verdict === 'confirmed')
    return { settlement: { kind: 'confirmed', action, resumed: false }, still_waits };
  const isOurs = await end(turn, action, 'declined', services);
  const settlement: Settlement = isOurs ? declined(action, turn, services, texts) : { kind: 'none' };
  return { settlement, still_waits };
}

function factsOf(turn: Turn, says: AnswerFacts['says']): Omit<AnswerFacts, 'names_action'> {
  const { principal, credential, message, accepted_at } = turn;
  return {
    says,
    is_edited: turn.edited === true || turn.rerun !== undefined,
    user_id: message.user_id,
    confirmer: confirmerOf(turn),
    person: principal.person,
    has_token: credential.kind === 'person',
    signs_out: credential.kind === 'signed-out',
    has_changed_hands: principal.person === null && principal.reason === 'link_of_other_sender',
    accepted_at,
  };
}

/** Declines or withdraws an action. @returns whether the action was still pending. @throws ClaimLost */
async function end(
  turn: Turn,
  { action_id }: Action,
  to: 'declined' | 'withdrawn',
  { store }: Uses,
): Promise<boolean> {
  const outcome = await store.actions.settle(turn.claim, action_id, to, turnKey(turn));
  if (outcome === 'lost') throw new ClaimLost();
  return outcome === 'settled';
}

function declined(action: Action, { message }: Turn, { seal }: Uses, texts: LocalTexts): Settlement {
  const text = texts.say('confirm_not_done', { action: escapeMarkdown(recordedSummary(seal, action)) });
  // A message with other text is more than an answer, so the agent replies to it, too.
  const ends = message.text === '' || texts.isWord('decline', message.text);
  return { kind: 'declined', text, ends };
}

/** The reply to a button whose action is no longer pending. @throws `confirmation_gone` to a web client. */
function gone({ channel }: Turn, texts: LocalTexts, line: StepLine): Settlement {
  line.reason = 'confirmation_gone';
  if (!channel.has_platform) throw confirmationGone();
  return { kind: 'said', text: escapeMarkdown(texts.say('confirm_gone')) };
}
