import type { LocalTexts } from '../../texts/texts.ts';
import { isolated, isRightToLeft } from './plain-value.ts';
import { markdownQuestion, type Question } from './question.ts';

/** The question as the end of a reply, in CommonMark: the action, its arguments, and how to answer. */
export function questionText(question: Question, texts: LocalTexts): string {
  const { action: written, list } = markdownQuestion(question);
  const action = isRightToLeft(texts.template('confirm_question')) ? isolated(written) : written;
  const [confirm] = texts.words('confirm');
  const [decline] = texts.words('decline');
  return [texts.say('confirm_question', { action }), list, texts.say('confirm_how', { confirm, decline })]
    .filter((part) => part !== '')
    .join('\n\n');
}
