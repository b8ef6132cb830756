import type { ToolStatus } from '../../channel/index.ts';
import type { ToolAnswer } from '../agent/agent.ts';
import type { CallJournal } from './call-journal.ts';
import type { ConfirmationDesk } from './confirmation-desk.ts';
import type { CallContext } from './perform-call.ts';
import type { ServerPage } from './show-pages.ts';
import type { Tool, ToolAudience } from './tool.ts';

export interface ToolProgress {
  tool_name: string;
  status: ToolStatus;
}

/** A call that was answered. */
export interface MadeCall {
  tool: Tool;
  /** The arguments that the agent gave: without those that were filled in from the person's token. */
  args: unknown;
  /** The answer that the agent gets. */
  answer: ToolAnswer;
}

/** What the policy of calls needs to know about the message that is being answered. */
export interface ToolRun extends CallContext {
  /** Notifies the reader that a call has begun or ended. */
  tool(progress: ToolProgress): void;
  audience: ToolAudience;
  /** Notes a call that was answered, for the history of later runs. */
  record?(call: MadeCall): void;
  /** Null if writes are not recorded, for example in tests. */
  journal: CallJournal | null;
  /** Null if nobody can be asked. Then calls that need a confirmation are not made. */
  confirmation: ConfirmationDesk | null;
  /** Shows a page at the end of the reply. Null if nobody can be shown one. */
  showPage: ((page: ServerPage) => void) | null;
}
