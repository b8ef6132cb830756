import type { ActionsEvent, Receipt } from '../../channel/event-stream.ts';
import type { Question } from './question.ts';

/** What shows a chat: a terminal, or plain text for pipes and files. */
export interface ChatView {
  /** Shows the next piece of the answer. */
  text(piece: string): void;
  /** Shows that a tool runs, or how it ended. */
  tool(activity: ToolActivity): void;
  /** What the writes of the answer did. */
  receipts(receipts: ActionsEvent): void;
  /** The answer ends with this question. */
  question(question: Question): void;
  /** Shows what is being done, on a terminal only. An empty text removes it. */
  status(text: string): void;
  /** Ends an answer and its line. */
  endAnswer(): void;
  /** Shows a line for the person. */
  note(text: string): void;
}

/** A tool that an answer uses. */
export interface ToolActivity {
  name: string;
  /** What people call it. */
  title: string;
  status: 'started' | 'completed' | 'failed';
  /** It was not done, because nobody is signed in. */
  needs_sign_in: boolean;
}

export function receiptInWords({ summary, outcome, status }: Receipt): string {
  if (outcome === 'unknown') return `${summary} – it is not known whether this happened`;
  return `${summary} – ${outcome}${outcome === 'failed' && status !== null ? ` (status ${status})` : ''}`;
}
