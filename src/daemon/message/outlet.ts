import type { Confirmation } from '../../channel/index.ts';
import type { StoredQuestion } from '../store/inbox.ts';
import type { TurnChanges } from '../store/turns.ts';
import type { ToolProgress } from '../tools/tool-run.ts';

/**
 * Where the answer of a turn goes: into the response of the request, onto an event stream, or into the inbox, from
 * which it is pushed to a platform. Steps do not know which of these it is.
 */
export interface Outlet {
  /** The answer begins, in the session with this id. Like the next two, this method never throws and never waits. */
  started(session_id: string): void;
  /** The next piece of the reply. */
  text(piece: string): void;
  /** A tool call has begun or ended. */
  tool(progress: ToolProgress): void;
  /** Returns what is stored with the turn, in the same commit, depending on how the turn ends. */
  changes(end: TurnEnd): Promise<OutletChanges>;
  /** The reply is durable and may be sent. */
  complete(reply: CompleteReply): void;
  /** How the reply is sent, for the trace. Null if it is sent later. */
  readonly leaves: 'in_response' | 'on_stream' | null;
}

/** The question at the end of a reply: for web clients, and for channels with buttons. */
export interface ReplyQuestion {
  confirmation: Confirmation;
  /** Null if the reply is replayed, which never happens on channels with buttons. */
  stored: StoredQuestion | null;
}

export interface CompleteReply {
  session_id: string;
  response: string;
  /** The question at the end of the response; null if there is none. */
  question: ReplyQuestion | null;
  /** The person stopped the answer. */
  stopped: boolean;
  /** The reply is the answer to an earlier request with the same idempotency key. */
  replayed: boolean;
}

export type TurnEnd = { answered: true; reply: CompleteReply } | { answered: false; error: unknown };

export interface OutletChanges extends Pick<TurnChanges, 'reply' | 'failed' | 'events'> {
  /** The run failed and will be repeated: the turn has not ended, so only its trace is stored. */
  runs_again?: boolean;
}
