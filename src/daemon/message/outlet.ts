import type { Confirmation, Receipts } from '../../channel/index.ts';
import type { PersonKey } from '../identity/identity.ts';
import type { SignInHint, StoredQuestion } from '../store/inbox/inbox.ts';
import type { TurnChanges } from '../store/sessions/turns.ts';
import type { ToolProgress } from '../tools/perform-call.ts';

/**
 * Where the answer of a turn is written: to the response of the request, to an event stream, or to the inbox, which
 * pushes it to a platform. The steps do not know which of these it is.
 */
export interface Outlet {
  /**
   * Called when the answer begins, in the session with this id. This method, `text`, `progress` and `mustReport` never
   * throw and never wait.
   */
  started(session_id: string): void;
  /** Called with the next piece of the reply. The end of a reply may come only with `close` and `complete`. */
  text(piece: string): void;
  /** Called when a tool call has begun or ended. */
  progress(progress: ToolProgress): void;
  /**
   * Called before confirmed actions are carried out: the reply has to say what became of them. Absent if the reply never
   * ends before its turn.
   */
  mustReport?(): void;
  /** Takes no more text. Returns what the commit of the turn stores for the outlet. */
  close(end: TurnEnd): OutletChanges | Promise<OutletChanges>;
  /**
   * Called when the reply is durable and can be sent. Absent if what was stored with the turn is sent without it: by the
   * inbox, or to the readers of the stream.
   */
  complete?(reply: CompleteReply): void;
  /** How the reply is sent, for the trace. Null if it is sent later. */
  readonly leaves: 'in_response' | 'on_stream' | null;
}

/** The question at the end of a reply, as web clients and as channels with buttons need it. */
export interface ReplyQuestion {
  confirmation: Confirmation;
  /** Null if the reply is replayed. Replies are never replayed on channels with buttons. */
  stored: StoredQuestion | null;
}

/** A reply that tells the person to sign in. */
export interface SignInNeeded {
  /** The text of the message if it is to be run again when its sender has signed in; null if it is not. */
  waiting_text: string | null;
  /** In a group, what the reply still needs. */
  hint: SignInHint | null;
}

export interface CompleteReply {
  /** The turn that the reply belongs to; null if it is not known. */
  turn_id: string | null;
  session_id: string;
  response: string;
  /** The question at the end of the response; null if there is none. */
  question: ReplyQuestion | null;
  /** What the writes of the message did; null if there are none. */
  receipts: Receipts | null;
  /** Whom the run acted for. Absent if it acted for nobody, and in a replay. */
  written_for?: PersonKey;
  /** Set if the reply tells its reader to sign in. */
  sign_in?: SignInNeeded;
  /** Whether the person stopped the answer. */
  stopped: boolean;
  /** Whether the reply is the answer to an earlier request with the same idempotency key. */
  replayed: boolean;
}

export type TurnEnd = { answered: true; reply: CompleteReply } | { answered: false; error: unknown };

export interface OutletChanges extends Pick<TurnChanges, 'reply' | 'failed' | 'events' | 'waits'> {
  /** The run failed and will be repeated. The turn has not ended, so only its trace is stored. */
  runs_again?: boolean;
}
