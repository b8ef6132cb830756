import { maskTokens } from '../../settings/secret.ts';
import type { JournaledCall } from '../call-journal.ts';
import { visible } from '../confirmation/plain-value.ts';
import { questionLine, questionOf } from '../confirmation/question.ts';

/** A description of a write on one line of plain text, as in the question that asks for its confirmation. */
export function summaryOf({ tool, args }: JournaledCall): string {
  const question = questionOf(tool, args);
  // Arguments that are too long for a question are left out here. The record of the action contains them.
  return maskTokens(question ? questionLine(question) : visible(tool.title ?? tool.name));
}
