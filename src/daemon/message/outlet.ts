import type { Confirmation } from '../../channel/index.ts';
import type { StoredQuestion } from '../store/inbox.ts';
import type { TurnChanges } from '../store/turns.ts';
import type { ToolProgress } from '../tools/bind-tools.ts';

/**
 * Where the answer of a turn goes: into the response of the request, onto an event stream, or into the inbox, from where
 * it is pushed to a platform. A step does not know which one it has.
 */
export interface Outlet {
  /** The answer begins, in the session that has this id now. Never throws, never waits, as the next two. */
  started(session_id: string): void;
  /** The next piece of the reply. */
  text(piece: string): void;
  /** A tool call has begun or ended. */
  tool(progress: ToolProgress): void;
  /** What is stored with the turn, in its one commit, because it ends like this. */
  changes(end: TurnEnd): Promise<OutletChanges>;
  /** The reply is durable: it may leave. */
  complete(reply: CompleteReply): void;
  /** How the reply leaves, for the trace; null: it is sent later. */
  readonly leaves: 'in_response' | 'on_stream' | null;
}

/** The question at the end of a reply: for web clients, and for channels with buttons. */
export interface ReplyQuestion {
  confirmation: Confirmation;
  /** Null if the reply is replayed, which no channel with buttons does. */
  stored: StoredQuestion | null;
}

export interface CompleteReply {
  session_id: string;
  response: string;
  /** The question at the end of the response; null: it asks for nothing. */
  question: ReplyQuestion | null;
  /** The person stopped it. */
  stopped: boolean;
  /** It is the answer to an earlier request with the same idempotency key. */
  replayed: boolean;
}

export type TurnEnd = { answered: true; reply: CompleteReply } | { answered: false; error: unknown };

export interface OutletChanges extends Pick<TurnChanges, 'reply' | 'failed' | 'events'> {
  /** The run failed and will be repeated: the turn has not ended, so only its trace is stored. */
  runs_again?: boolean;
}
