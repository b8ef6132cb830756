/**
 * Texts of a daemon about actions, in words that tests can tell apart. Tests that read replies use them, so that they do
 * not depend on the wording of the defaults.
 */
const TEXTS = {
  confirm_not_done: '{action} – declined',
  confirm_replaced: '{action} – withdrawn',
  confirm_withdrawn: '{action} – withdrawn',
  confirm_rest_not_done: '{action} – left out',
  confirm_rest_sign_in: '{action} – left out',
  confirm_rest_stopped: '{action} – left out',
  receipt_done: '{action} – done',
  receipt_failed: '{action} – failed',
  receipt_refused: '{action} – failed ({status})',
  receipt_unknown: '{action} – unknown',
  confirm_late: '(ended) {time}',
  confirm_gone: '(late) gone',
  confirm_not_yours: '(late) not yours',
  became_done: '(late) done',
  became_failed: '(late) failed',
  became_unknown: '(late) unknown',
  became_running: '(late) running',
  became_declined: '(late) declined',
  became_withdrawn: '(late) withdrawn',
  sign_in_in_group: '(privately) Please sign in.',
};

/** The member `texts` of a configuration file. */
export const MARKED_TEXTS = `texts:\n  en: ${JSON.stringify(TEXTS)}\n`;

/** What a line says of an action: the outcome. Null if it says nothing. */
export function outcomeIn(line: string): string | null {
  return / – (done|failed|unknown|declined|withdrawn|left out)/.exec(line)?.[1] ?? null;
}

/** Whether a text answers a press that does not count. On some platforms it is a message that nobody waits for. */
export function answersLatePress(text: string): boolean {
  return text.includes('(late) ');
}

/** Whether a text says that a question has ended before it was answered. */
export function saysEnded(text: string): boolean {
  return text.startsWith('(ended) ');
}

/** Whether a text is the private message about a question in a group. Its reply is in the group. */
export function isAboutGroup(text: string): boolean {
  return text.startsWith('(privately) ');
}
