import type { Entry } from './transcript.ts';
import type { Trouble } from './trouble.ts';

/** `online` and `away` while the widget is idle, the other values while a message is being answered. */
export type Connection = 'online' | 'away' | 'connecting' | 'answering' | 'reconnecting';

/** The state that the widget shows. */
export interface State {
  entries: readonly Entry[];
  /** Whether a message is being answered. */
  busy: boolean;
  connection: Connection;
  trouble: Trouble | null;
  /** Whether the visitor has just begun a new conversation, and can restore the last conversation. */
  undoable: boolean;
}
