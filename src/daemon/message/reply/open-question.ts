import type { Seal } from '../../identity/seal.ts';
import { toQuestionId } from '../../store/actions/actions.ts';
import type { KeptQuestion } from '../../tools/confirmation/desk.ts';
import {
  actingAs,
  asInPlainWords,
  asInWords,
  buildQuestion,
  escapeMarkdown,
  plainQuestion,
  type Question,
  questionLine,
  questionText,
  questionWords,
} from '../../tools/confirmation/question.ts';
import { openActionText, recordedSummary } from '../../tools/journal/action-record.ts';
import type { ToolRegistry } from '../../tools/registry.ts';
import type { ToolArguments } from '../../tools/tool.ts';
import type { AskedQuestion, OpenQuestion, Runnable } from '../turn.ts';
import type { ReplyText } from './reply-text.ts';

interface Uses {
  seal: Seal;
  tools: Pick<ToolRegistry, 'tools'>;
}

/** How many replies to messages that are neither a yes nor a no a question lasts. The last one withdraws it. */
const REPLIES_MAX = 3;

/** How a reply ends. */
interface End {
  /** The question that is open no longer, in CommonMark; empty if there is none. */
  notice: string;
  /** The question that the reply asks; null if it asks none. */
  question: KeptQuestion | null;
}

/**
 * Decides how a reply ends: with the question of its run, which replaces the open one, or else with the open one again.
 * The open one is withdrawn by the third reply that neither confirms nor declines it, and if it can no longer be shown as
 * it was, because its tool has changed.
 * @param kept the question of the run; null if it asks none
 */
export function chooseEnd(
  { open, texts }: Pick<Runnable, 'open' | 'texts'>,
  kept: KeptQuestion | null,
  uses: Uses,
): End {
  if (open === null) return { notice: '', question: kept };
  const { actions, counts } = open;
  const [{ told_end, expires_at, repeats = 0 }] = actions;
  const action = escapeMarkdown(actions.map((one) => recordedSummary(uses.seal, one)).join('; '));
  if (kept !== null) return { notice: texts.say('confirm_replaced', { action }), question: kept };
  const isLast = counts && repeats + 1 >= REPLIES_MAX;
  const questions = isLast ? null : sameQuestions(open, uses);
  if (questions === null) return { notice: texts.say('confirm_withdrawn', { action }), question: null };
  return {
    notice: '',
    question: { id: toQuestionId(actions[0]), actions: [], questions, expires_at: told_end ?? expires_at },
  };
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

/** Adds a question to the end of the reply. */
export function askAtEnd(
  reply: ReplyText,
  { id, actions: pending, questions, expires_at }: KeptQuestion,
  { texts, principal, message: { shared = false } }: Pick<Runnable, 'texts' | 'principal' | 'message'>,
): AskedQuestion {
  const { how, ...words } = questionWords(questions, texts);
  const text = questionText(questions, { how, ...words }, texts, asInWords(principal, shared, texts));
  reply.addEnd(text);
  const begins_at = reply.text.length - text.length;
  const actions = questions.map((question, index) => ({ number: index + 1, ...question }));
  const as = actingAs(principal, shared);
  const as_line = asInPlainWords(principal, shared, texts);
  return {
    pending,
    expires_at,
    confirmation: {
      id,
      summary: plainQuestion(questions),
      begins_at,
      actions,
      ...(as === null ? {} : { as }),
    },
    stored: {
      id,
      begins_at,
      actions,
      how: how.length,
      ...words,
      ...(as_line === null ? {} : { as_line }),
    },
  };
}
