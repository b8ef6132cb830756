import { hasExpired } from '../session/jwt-context.ts';
import { type Action, toQuestionId } from '../store/actions/actions.ts';
import type { LocalTexts } from '../texts/texts.ts';
import {
  type AnswerFacts,
  type AnswerVerdict,
  checkNumbers,
  confirmationGone,
  judgeAnswer,
  wasAskedLast,
} from '../tools/confirmation/judge-answer.ts';
import { escapeMarkdown } from '../tools/confirmation/question.ts';
import { digestRecord } from '../tools/definition-digest.ts';
import { recordedSummary } from '../tools/journal/action-record.ts';
import type { StepLine } from '../trace/trace-record.ts';
import { principalKey } from './principal-key.ts';
import { describeLateAnswer, describeOutcome } from './reply/ended-question.ts';
import type { Step } from './sequence.ts';
import type { Services } from './services.ts';
import { answerQuestion, settleAction } from './settle-action.ts';
import {
  type Answering,
  type Deduplicated,
  type Identified,
  type Locked,
  NO_ANSWER,
  type OpenQuestion,
  type Resolved,
  type Settled,
  type Settlement,
} from './turn.ts';

type Uses = Pick<Services, 'store' | 'seal' | 'texts' | 'clock' | 'tools' | 'settings'>;

type Turn = Answering & Identified & Deduplicated & Locked & Resolved;

/**
 * Checks whether the message answers the question about pending actions (agentd-agent(7), "Confirmation").
 *
 * An answer is a word of the person's language, or a button, which names the question. If the question has several
 * actions, an answer may also confirm some of them and decline the others. Any other message leaves them pending. So does
 * a message that was edited, because nobody knows which of its texts the person meant, or collected, or runs again. The
 * actions are withdrawn if their person has signed out, or if somebody else has signed in.
 *
 * A word that answers a question which has ended, and a button of a question that was answered, are answered, too.
 *
 * Adds `settlement`, the question that stays open, and to `changes` the question that was answered; if actions are
 * confirmed, run-agent makes the calls. Throws
 * `confirmation_gone` if a web client names a question that does not wait for its answer, and `invalid_request` if the
 * answer has a number that the question does not have. In these cases no action is confirmed or declined.
 */
export const settlePending: Step<Turn, Settled> = {
  name: 'settle-pending',
  run(turn, services: Uses, line) {
    const { principal, message } = turn;
    const texts = services.texts.in(
      principal.person === null ? null : principal.claims.locale,
      message.locale,
    );
    const says_more = message.confirm !== undefined && message.text !== '';
    const added = { message: addLabel(message, texts), says_more, texts };
    const earlier = mayAnswer(turn) ? settledBefore(turn) : [];
    if (earlier.length > 0) {
      line.reason = 'settled_before';
      const confirmed = earlier.filter(({ state }) => state !== 'declined');
      const settlement = { ...settleAnswer(earlier, confirmed, turn, texts, services), resumed: true };
      return { ...added, ...withSettlement(settlement, turn), open: null };
    }
    if (message.confirm === undefined && turn.begun.pending.length === 0)
      return { ...added, ...withSettlement(lapsedAnswer(turn, texts, line), turn), open: null };
    return settle(turn, texts, services, line).then(({ settlement, open }) => ({
      ...added,
      ...withSettlement(settlement, turn),
      open,
    }));
  },
};

/** The settlement, and which question it answers, for the commit. */
function withSettlement(settlement: Settlement, { changes }: Turn): Pick<Settled, 'settlement' | 'changes'> {
  const [action] = [...settlement.confirmed, ...settlement.declined];
  if (action === undefined) return { settlement, changes };
  return { settlement, changes: { ...changes, answered_question: toQuestionId(action) } };
}

const REASONS: Readonly<Record<AnswerVerdict, string>> = {
  left: 'action_waits',
  confirmed: 'action_confirmed',
  declined: 'action_declined',
  sign_in: 'confirmation_needs_sign_in',
  withdrawn: 'action_withdrawn',
  foreign: 'action_of_another',
};

/** The message. For a button without a text, the text is the label of the button. */
function addLabel(message: Turn['message'], texts: LocalTexts): Turn['message'] {
  const { confirm, text } = message;
  if (confirm === undefined || text !== '') return message;
  const label = texts.say(confirm.approve === false ? 'decline_button' : 'confirm_button');
  const numbers = typeof confirm.approve === 'boolean' ? '' : ` ${confirm.approve.join(', ')}`;
  return { ...message, text: `${label}${numbers}` };
}

/** The actions that one question asks about, in their order. */
type AskedActions = readonly [Action, ...Action[]];

function questionsIn(actions: readonly Action[]): AskedActions[] {
  return [...Map.groupBy(actions, toQuestionId).values()] as [Action, ...Action[]][];
}

/** Whether the message can be an answer: not if it was edited, collected from several, or runs again after sign-in. */
function mayAnswer({ edited, collected, rerun }: Turn): boolean {
  return !edited && collected === undefined && rerun === undefined;
}

/**
 * The actions of a question that the message confirms; empty if it declines all of them. Null if it is no answer.
 * @throws `invalid_request` if the answer has a number that the question does not have
 */
function answerTo(actions: AskedActions, turn: Turn, texts: LocalTexts): readonly Action[] | null {
  const { confirm, text } = turn.message;
  const only = (numbers: readonly number[]) => actions.filter((_, index) => numbers.includes(index + 1));
  const all = actions.map((_, index) => index + 1);
  if (!mayAnswer(turn)) return null;
  if (confirm !== undefined) {
    if (typeof confirm.approve === 'boolean') return only(confirm.approve ? all : []);
    checkNumbers(confirm.approve, actions.length);
    return only(confirm.approve);
  }
  if (texts.isWord('confirm', text)) return only(all);
  if (texts.isWord('decline', text)) return only([]);
  const part = actions.length === 1 ? null : texts.confirmedPart(text, actions.length);
  return part === null ? null : only(part);
}

/**
 * The actions of the question that an earlier run of this message answered before its process died. Empty if the person
 * of the actions is no longer linked, because another person who is linked now must not learn about them.
 */
function settledBefore({ begun, principal: { person } }: Turn): readonly Action[] {
  return begun.earlier.filter(
    (action) => action.answered_at !== undefined && (action.person === null || action.person === person),
  );
}

async function settle(
  turn: Turn,
  texts: LocalTexts,
  services: Uses,
  line: StepLine,
): Promise<Pick<Settled, 'settlement' | 'open'>> {
  const facts = collectFacts(turn, services);
  const judged = judgeQuestions(turn, facts, texts, services);
  for (const { actions, verdict } of judged)
    if (verdict === 'withdrawn')
      for (const action of actions) await settleAction(action, 'withdrawn', turn, services);
  const chosen =
    judged.find(({ verdict }) => verdict === 'confirmed' || verdict === 'declined') ??
    judged.find(({ verdict }) => verdict === 'sign_in');
  const left = judged.find(
    ({ actions: [first], verdict }) =>
      first.principal === facts.confirmer && (verdict === 'left' || verdict === 'sign_in'),
  );
  const verdict = chosen?.verdict ?? judged.at(0)?.verdict;
  if (verdict !== undefined) line.reason = REASONS[verdict];
  const named = turn.message.confirm?.id;
  const settlement = chosen
    ? await settleAnswered(chosen, turn, texts, services, line)
    : named === undefined
      ? lapsedAnswer(turn, texts, line)
      : await answerClosedQuestion(named, turn, texts, services, line);
  return { settlement, open: left ? openQuestion(left.actions, settlement, turn) : null };
}

/** A question that waits, and what the message means for it. */
interface JudgedQuestion {
  actions: AskedActions;
  /** The actions that the message confirms. */
  confirmed: readonly Action[];
  verdict: AnswerVerdict;
}

function judgeQuestions(
  turn: Turn,
  facts: ReturnType<typeof collectFacts>,
  texts: LocalTexts,
  services: Uses,
): JudgedQuestion[] {
  const named = turn.message.confirm?.id;
  return questionsIn(turn.begun.pending).map((actions) => {
    const [first] = actions;
    const names_action = toQuestionId(first) === named;
    // A button answers only the question that it names.
    const confirmed = named === undefined || names_action ? answerTo(actions, turn, texts) : null;
    const says = confirmed === null ? 'other' : confirmed.length === 0 ? 'decline' : 'confirm';
    const judged = judgeAnswer(first, { ...facts, says, names_action });
    const isOld = actions.some((action) => isOutdated(action, services));
    return { actions, confirmed: confirmed ?? [], verdict: isOld ? 'withdrawn' : judged };
  });
}

async function settleAnswered(
  { actions, confirmed, verdict }: JudgedQuestion,
  turn: Turn,
  texts: LocalTexts,
  services: Uses,
  line: StepLine,
): Promise<Settlement> {
  const [first] = actions;
  const count = actions.length === 1 ? {} : { actions: actions.length };
  line.detail = { tool: first.tool, action: toQuestionId(first), ...count };
  if (verdict === 'sign_in') return noticeOnly(texts.say('confirm_sign_in'));
  const settlement = settleAnswer(actions, confirmed, turn, texts, services);
  if (confirmed.length === 0)
    return (await answerQuestion(settlement, turn, services)) ? settlement : NO_ANSWER;
  if (confirmed.length < actions.length) line.detail.confirmed = confirmed.length;
  return settlement;
}

/** The settlement if the daemon answers the message itself. */
function noticeOnly(notice: string): Settlement {
  return { ...NO_ANSWER, notice, ends: true };
}

/**
 * Whether the record of the tool is no longer the one that the person was asked about: a call may now do something else.
 * If the tool is gone, the person is told so when they answer.
 */
function isOutdated({ tool, tool_digest }: Action, { tools }: Uses): boolean {
  if (tool_digest === undefined) return false;
  const found = tools.tools().find(({ name }) => name === tool);
  return found !== undefined && digestRecord(found) !== tool_digest;
}

function openQuestion(actions: AskedActions, { ends }: Settlement, { accepted_at }: Turn): OpenQuestion {
  const isLater = actions[0].seen_replies?.some(({ at }) => at <= accepted_at) === true;
  return { actions, counts: isLater && !ends };
}

function collectFacts(turn: Turn, services: Uses): Omit<AnswerFacts, 'says' | 'names_action'> {
  const { principal, credential, message, accepted_at } = turn;
  return {
    user_id: message.user_id,
    confirmer: principalKey(turn),
    person: principal.person,
    has_token: credential.kind === 'person' && !hasExpiredMeanwhile(turn, services),
    signs_out: credential.kind === 'signed-out',
    has_changed_hands: principal.person === null && principal.reason === 'link_of_other_sender',
    accepted_at,
  };
}

/** Whether the token of the message has expired since it was validated: the message may have waited for its session. */
function hasExpiredMeanwhile({ session }: Turn, { settings, clock }: Uses): boolean {
  const { jwt_context } = session.metadata;
  return jwt_context !== undefined && hasExpired(jwt_context, settings, clock.now());
}

/** The settlement if the person has confirmed these actions of a question, and has declined the others. */
function settleAnswer(
  actions: readonly Action[],
  confirmed: readonly Action[],
  { message: { text } }: Turn,
  texts: LocalTexts,
  { seal }: Uses,
): Settlement {
  const declined = actions.filter((action) => !confirmed.includes(action));
  const notices = declined.map((action) =>
    texts.say('confirm_not_done', { action: escapeMarkdown(recordedSummary(seal, action)) }),
  );
  // A message with other text is more than an answer, so the agent replies to it, too.
  const isPart = actions.length > 1 && texts.confirmedPart(text, actions.length) !== null;
  const ends = confirmed.length === 0 && (text === '' || texts.isWord('decline', text) || isPart);
  return { confirmed, declined, resumed: false, notice: notices.join('\n\n'), ends };
}

/** The reply to a word that answers a question which has ended, if that question is the last that the person has read. */
function lapsedAnswer(turn: Turn, texts: LocalTexts, line: StepLine): Settlement {
  const confirmer = principalKey(turn);
  const lapsed = questionsIn(turn.begun.lapsed).find(
    ([first]) =>
      first.principal === confirmer &&
      first.user_id === turn.message.user_id &&
      wasAskedLast(first, turn.accepted_at),
  );
  if (lapsed === undefined || answerTo(lapsed, turn, texts) === null) return NO_ANSWER;
  line.reason = 'question_ended';
  return noticeOnly(escapeMarkdown(describeLateAnswer(lapsed[0], { texts, timezone: readTimezone(turn) })));
}

/**
 * The reply to a button whose question is no longer open: what became of it, if the sender was asked. @throws
 * `confirmation_gone` to a web client.
 */
async function answerClosedQuestion(
  question_id: string,
  turn: Turn,
  texts: LocalTexts,
  { store, clock }: Uses,
  line: StepLine,
): Promise<Settlement> {
  line.reason = 'confirmation_gone';
  const { channel, message, principal, credential, session_tag } = turn;
  const actions = await store.actions.ofQuestion(question_id);
  const [first] = actions;
  const isTheirs =
    first?.session_tag === session_tag &&
    first.user_id === message.user_id &&
    first.person === principal.person &&
    (principal.person === null || credential.kind === 'person');
  const reading = { texts, timezone: readTimezone(turn) };
  const became = isTheirs ? describeOutcome(actions, clock.now(), reading) : null;
  if (!channel.has_platform) throw confirmationGone(became ?? undefined);
  return noticeOnly(escapeMarkdown(became ?? texts.say('confirm_gone')));
}

function readTimezone({ principal }: Turn): string | null {
  return principal.person === null ? null : (principal.claims.timezone ?? null);
}
