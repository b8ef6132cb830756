import type { ToolStatus } from '../../channel/index.ts';
import type { CallJournal } from './call-journal.ts';
import type { ConfirmationDesk } from './confirmation-desk.ts';
import type { CallContext } from './perform-call.ts';
import type { ServerPage } from './show-pages.ts';
import type { ToolAudience } from './tool.ts';

export interface ToolProgress {
  tool_name: string;
  status: ToolStatus;
}

/** What the policy of calls needs to know about the message that is being answered. */
export interface ToolRun extends CallContext {
  /** Notifies the reader that a call has begun or ended. */
  tool(progress: ToolProgress): void;
  audience: ToolAudience;
  /** Null if writes are not recorded, for example in tests. */
  journal: CallJournal | null;
  /** Null if nobody can be asked. Then calls that need a confirmation are not made. */
  confirmation: ConfirmationDesk | null;
  /** Shows a page at the end of the reply. Null if nobody can be shown one. */
  showPage: ((page: ServerPage) => void) | null;
}
