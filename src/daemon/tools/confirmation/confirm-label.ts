import { BUTTON_CHARACTERS } from '../../texts/text-records.ts';
import { visible } from './plain-value.ts';

/** What the label of a button must be, for operators. */
export const RIGHT_CONFIRM_LABEL = `a verb on one line, of at most ${BUTTON_CHARACTERS} characters, such as "Cancel order"`;

/** Whether a text can be the label of the button that confirms an action (`confirm_label`). */
export function isConfirmLabel(text: string): boolean {
  return text.trim() !== '' && text.length <= BUTTON_CHARACTERS && visible(text) === text;
}
