import type { Seal } from '../identity/seal.ts';

/** The record that a sealed text of an action belongs to: its action, and which text it is. */
export function actionTextRecord(action_id: string, field: 'args' | 'summary' | 'answer'): string {
  return `action:${JSON.stringify([action_id, field])}`;
}

/** A text of an action as it is stored. */
export function closeActionText(
  seal: Seal,
  action_id: string,
  field: 'args' | 'summary' | 'answer',
  text: string,
): string {
  return seal.close(text, actionTextRecord(action_id, field));
}
