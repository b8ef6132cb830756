import type { Seal } from '../identity/seal.ts';
import type { Action } from '../store/actions.ts';
import { actionTextRecord } from '../tools/action-texts.ts';

/** What an action does, on one line of plain text. */
export function summaryOf(
  { action_id, summary, tool }: Pick<Action, 'action_id' | 'summary' | 'tool'>,
  seal: Seal,
): string {
  // No encryption key opens it any more.
  return seal.open(summary, actionTextRecord(action_id, 'summary')) ?? tool;
}
