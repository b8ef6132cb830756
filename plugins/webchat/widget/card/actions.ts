import type { Question } from '../talk/question.ts';

/** One action that waits for the visitor. */
export interface AskedAction {
  title: string;
  details: readonly { label: string; value: string }[];
  /** The verb for the button. */
  confirm_label?: string | undefined;
}

/** Reads the actions of a question. If the service sends only its text, they are read from the text. */
export function readActions({ actions, summary }: Question): AskedAction[] {
  const listed = Array.isArray(actions) ? actions.map(actionIn) : [];
  return listed.length > 0 ? listed : [actionInText(String(summary ?? ''))];
}

function actionIn(value: unknown): AskedAction {
  const { title, details, confirm_label } = (value ?? {}) as Partial<AskedAction>;
  return {
    title: String(title ?? ''),
    details: Array.isArray(details)
      ? details.map(({ label, value: shown }) => ({ label: String(label), value: String(shown) }))
      : [],
    confirm_label: typeof confirm_label === 'string' ? confirm_label : undefined,
  };
}

/** The first line is the action. Each further line is `name: "value"`. */
function actionInText(text: string): AskedAction {
  const [title = '', ...lines] = text.split('\n');
  const details = lines.map((line) => {
    const [, label = '', value = line] = /^([^:"]+): (.*)$/.exec(line) ?? [];
    return { label, value };
  });
  return { title, details };
}
