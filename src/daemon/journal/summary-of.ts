import { visible } from '../confirmation/plain-value.ts';
import { questionLine, questionOf } from '../confirmation/question.ts';
import { maskTokens } from '../secret.ts';
import type { JournaledCall } from '../tools/call-journal.ts';

/** What a write does, on one line of plain text: as its person would be asked to confirm it. */
export function summaryOf({ tool, given, args }: JournaledCall): string {
  const question = questionOf(tool, given, args);
  // Arguments that are too long for a question are in the record of the action.
  return maskTokens(question ? questionLine(question) : visible(tool.title ?? tool.name));
}
