import type { Seal } from '../identity/seal.ts';
import type { Action } from '../store/actions.ts';

/** The texts of an action that are sealed. */
export type ActionText = 'args' | 'summary' | 'answer';

/** The record that a sealed text of an action is bound to: the id of the action and the name of the field. */
export function actionTextRecord(action_id: string, field: ActionText): string {
  return `action:${JSON.stringify([action_id, field])}`;
}

/** Seals a text of an action, so that it can be stored. */
export function closeActionText(seal: Seal, action_id: string, field: ActionText, text: string): string {
  return seal.close(text, actionTextRecord(action_id, field));
}

/** Opens a stored text of an action. Null if there is none, or if no encryption key opens it. */
export function openActionText(
  seal: Pick<Seal, 'open'>,
  action: Pick<Action, 'action_id'> & Partial<Pick<Action, ActionText>>,
  field: ActionText,
): string | null {
  const stored = action[field] ?? null;
  return stored === null ? null : seal.open(stored, actionTextRecord(action.action_id, field));
}

/** Returns the summary of an action, on one line of plain text, or the tool's name if no encryption key opens it. */
export function recordedSummary(seal: Seal, action: Pick<Action, 'action_id' | 'summary' | 'tool'>): string {
  return openActionText(seal, action, 'summary') ?? action.tool;
}
