import type { Seal } from '../../identity/seal.ts';
import type { StoredQuestion } from '../../store/inbox/inbox.ts';
import type { LocalTexts } from '../../texts/texts.ts';
import {
  actingAs,
  asInPlainWords,
  asInWords,
  buildQuestion,
  escapeMarkdown,
  howToAnswer,
  howToConfirmPart,
  plainQuestions,
  type Question,
  questionLine,
  questionText,
} from '../../tools/confirmation/question.ts';
import { openActionText, recordedSummary } from '../../tools/journal/action-record.ts';
import type { ToolRegistry } from '../../tools/registry.ts';
import type { ToolArguments } from '../../tools/tool.ts';
import type { AboutOpen, AskedQuestion, OpenQuestion, Runnable } from '../turn.ts';

/** Who reads the question. */
type Reader = Pick<Runnable, 'texts' | 'principal' | 'message'>;

interface Uses {
  seal: Seal;
  tools: Pick<ToolRegistry, 'tools'>;
}

/** How many replies to messages that are neither a yes nor a no a question lasts. The last one withdraws it. */
const REPLIES_MAX = 3;

/** What the end of a reply says about the question that was open before. */
type EndOfOpen =
  /** The same question again. */
  | { kind: 'asks'; questions: readonly Question[]; about: AboutOpen }
  /** The question is withdrawn; `notice` says so, in CommonMark. */
  | { kind: 'withdraws'; notice: string; about: AboutOpen };

/**
 * Decides how a reply ends that neither confirms nor declines an open question. It repeats the question, unless it is
 * the third such reply, or the question can no longer be shown as it was, because its tool has changed.
 */
export function endOfOpen(open: OpenQuestion, uses: Uses, texts: LocalTexts): EndOfOpen {
  const { id: question_id, actions, counts } = open;
  const isLast = counts && (actions[0].repeats ?? 0) + 1 >= REPLIES_MAX;
  const questions = isLast ? null : sameQuestions(open, uses);
  if (questions !== null)
    return { kind: 'asks', questions, about: { repeats: { question_id, counts }, withdraws: null } };
  const notice = texts.say('confirm_withdrawn', { action: inOneLine(open, uses) });
  return { kind: 'withdraws', notice, about: { repeats: null, withdraws: question_id } };
}

/** Says that another question replaces this one, in CommonMark. */
export function replacedNotice(open: OpenQuestion, uses: Pick<Uses, 'seal'>, texts: LocalTexts): string {
  return texts.say('confirm_replaced', { action: inOneLine(open, uses) });
}

function inOneLine({ actions }: OpenQuestion, { seal }: Pick<Uses, 'seal'>): string {
  return escapeMarkdown(actions.map((action) => recordedSummary(seal, action)).join('; '));
}

/** The question as it was asked. Null if it would be another one now. */
function sameQuestions({ actions }: OpenQuestion, { seal, tools }: Uses): readonly Question[] | null {
  const questions = actions.map((action) => {
    const tool = tools.tools().find(({ name }) => name === action.tool);
    const args = openActionText(seal, action, 'args');
    const question = tool && args !== null ? buildQuestion(tool, JSON.parse(args) as ToolArguments) : null;
    return question && questionLine(question) === recordedSummary(seal, action) ? question : null;
  });
  return questions.every((question) => question !== null) ? questions : null;
}

/** The question as the end of a reply. @param begins_at where it begins there */
export function askedQuestion(
  { id, ...asked }: Pick<AskedQuestion, 'actions' | 'expires_at'> & { id: string },
  questions: readonly Question[],
  begins_at: number,
  { texts, principal, message: { shared = false } }: Reader,
): AskedQuestion {
  return {
    ...asked,
    as: actingAs(principal, shared),
    summary: plainQuestions(questions),
    stored: {
      id,
      begins_at,
      actions: questions.map((question, index) => ({ number: index + 1, ...question })),
      ...chooseButtons(questions, texts),
      how: howToAnswer(questions, texts).length,
      ...(questions.length === 1
        ? {}
        : { heading: texts.say('confirm_question_list', { count: String(questions.length) }) }),
      ...optionalMember('as_line', asInPlainWords(principal, shared, texts)),
      ...optionalMember('part_line', howToConfirmPart(questions, texts)),
    },
  };
}

function optionalMember<Name extends string>(name: Name, text: string | null): Partial<Record<Name, string>> {
  return text === null ? {} : ({ [name]: text } as Record<Name, string>);
}

function chooseButtons(
  questions: readonly Question[],
  texts: LocalTexts,
): Pick<StoredQuestion, 'confirm' | 'decline'> {
  const [only] = questions;
  if (only === undefined || questions.length > 1)
    return { confirm: texts.say('confirm_all_button'), decline: texts.say('decline_all_button') };
  return { confirm: only.confirm_label ?? texts.say('confirm_button'), decline: texts.say('decline_button') };
}

/** A text of the daemon that ends with the open question, for a reply without a run. */
export function saidWithQuestion(
  text: string,
  open: OpenQuestion | null,
  uses: Uses,
  reader: Reader,
): { reply: string; asked: AskedQuestion | null; about_open: AboutOpen | null } {
  const { texts, principal, message } = reader;
  const end = open && endOfOpen({ ...open, counts: false }, uses, texts);
  if (open === null || end === null) return { reply: text, asked: null, about_open: null };
  if (end.kind === 'withdraws')
    return { reply: `${text}\n\n${end.notice}`, asked: null, about_open: end.about };
  const lead = `${text}\n\n`;
  const { id, expires_at } = open;
  return {
    reply: `${lead}${questionText(end.questions, texts, asInWords(principal, message.shared ?? false, texts))}`,
    asked: askedQuestion({ id, actions: [], expires_at }, end.questions, lead.length, reader),
    about_open: end.about,
  };
}
