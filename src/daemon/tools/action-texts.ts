import type { Seal } from '../identity/seal.ts';
import type { Action } from '../store/actions.ts';

/** The texts of an action that are sealed. */
export type ActionText = 'args' | 'summary' | 'answer';

/** The record that a sealed text of an action belongs to: its action, and which text it is. */
export function actionTextRecord(action_id: string, field: ActionText): string {
  return `action:${JSON.stringify([action_id, field])}`;
}

/** A text of an action as it is stored. */
export function closeActionText(seal: Seal, action_id: string, field: ActionText, text: string): string {
  return seal.close(text, actionTextRecord(action_id, field));
}

/** A stored text of an action, opened. Null if there is none, or if no encryption key opens it. */
export function openActionText(
  seal: Pick<Seal, 'open'>,
  action: Pick<Action, 'action_id'> & Partial<Pick<Action, ActionText>>,
  field: ActionText,
): string | null {
  const stored = action[field] ?? null;
  return stored === null ? null : seal.open(stored, actionTextRecord(action.action_id, field));
}

/**
 * The summary of an action, on one line of plain text, or the name of its tool if no encryption key opens the summary.
 */
export function recordedSummary(seal: Seal, action: Pick<Action, 'action_id' | 'summary' | 'tool'>): string {
  return openActionText(seal, action, 'summary') ?? action.tool;
}
