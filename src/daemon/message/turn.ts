import type { ChannelCapabilities, ChannelLinking, IncomingMessage } from '../../channel/index.ts';
import type { Usage } from '../agent/model-meter.ts';
import type { Credential, PersonKey, ValidatedToken } from '../identity/identity.ts';
import type { Principal } from '../identity/principal.ts';
import type { Session, StoredTurn } from '../session/session.ts';
import type { Action, NewPendingAction } from '../store/actions.ts';
import type { KeyClaim, SessionClaim } from '../store/claims.ts';
import type { BegunTurn, CommitOutcome, TurnChanges } from '../store/turns.ts';
import type { LocalTexts } from '../texts/texts.ts';
import type { MessageSpan } from '../trace/span.ts';
import type { Trace } from '../trace/trace.ts';
import type { Outlet, ReplyQuestion } from './outlet.ts';
import type { Ticket } from './request-sequencer.ts';
import type { RunHistory } from './run-history.ts';

/**
 * The datum of the message path: a message that has arrived, and what each step adds to it. A step's parameter names
 * what it needs, its result what it adds; steps.ts puts them in an order that compiles only if it holds.
 */
export interface Arrived {
  turn_id: string;
  request_id: string;
  /** Id of the request that opened the stream of the message; absent if it has none. */
  opened_by?: string;
  message: IncomingMessage;
  /**
   * The message's thread, or the id that was generated for it. Later steps replace it by the id that the session
   * has then.
   */
  session_id: string;
  /** The daemon made `session_id` for this message. */
  session_is_generated: boolean;
  channel: ArrivedChannel;
  /** Client address; null if the message came from a platform. */
  address: string | null;
  /** The token that the request brought, validated. */
  validated: ValidatedToken | null;
  /** The place in the order of arrival, up to the session's lock. */
  ticket: Ticket | null;
  /** The parent of its span, from `Observer.parentOf`. Absent if there is none. */
  parent_span?: string | undefined;
  trace: Trace;
  /** The span of the message. Null: no spans are collected. */
  span: MessageSpan | null;
  started_at: number;
  /** Registers what a step has taken and must release when the turn ends. The last one is released first. */
  defer(release: (failed: boolean) => Promise<void>): void;
}

/** The channel of a message. */
export interface ArrivedChannel {
  name: string;
  /** Channels of one namespace share sessions and idempotency keys. */
  namespace: string;
  /**
   * A platform signs the messages, says who writes, and names the sessions. False: clients say all of this
   * themselves.
   */
  has_platform: boolean;
  markdown: ChannelCapabilities['markdown'];
  linking: ChannelLinking | undefined;
}

/** A message on its way to an answer now, not one that is stored for later. */
export interface Answering extends Arrived {
  outlet: Outlet;
  /** Aborts when the person stops the answer: the text so far is the reply. Null: nobody can. */
  stopped: AbortSignal | null;
  /** When the daemon accepted the message, by the store's clock. */
  accepted_at: number;
  /** Aborted when one of the claims that this turn holds is lost. */
  lost: AbortController;
  /** It waits for its session and for a run until the daemon stops. False: these waits are bounded. */
  patient: boolean;
  /** The person who alone may get the answer again; null: whoever has the idempotency key. */
  reader: PersonKey | null;
  /** What the steps have found that must be stored, for the turn's one commit. */
  changes: Pick<TurnChanges, 'session'>;
}

/** identify-by-token, identify-by-link: who sent it, as far as a token says so. */
export interface Identified {
  credential: Credential;
}

/** deduplicate: the key under which the answer will be found again. */
export interface Deduplicated {
  /** Null if the client sent none. */
  key: KeyClaim | null;
}

/** deduplicate-stream: the key under which the stream will be found again. */
export interface Numbered {
  /** Null if the client sent none. */
  idempotency_key: string | null;
}

/** resolve-session: the session of a message, by the id that it names or that was made for it. */
export interface NamedSession {
  /** Null: the message begins it. */
  found: Session | null;
  /** The id that the session has now. */
  session_id: string;
  /** The daemon made `session_id` for this message. */
  session_is_generated: boolean;
  /** The session's name that never changes: the lock and the count of turns use it. */
  session_tag: string;
}

/** authorize-sender: the session is not somebody else's. */
export interface Authorized extends NamedSession {
  authorized: true;
}

/** guard: the loop guard lets the message through. */
export interface Guarded {
  /** The tag of the session that the guard counts it in; null: it is not counted here. */
  counted_in: string | null;
}

/** lock-session: no other message of the session runs until this turn ends. The session was resolved anew. */
export interface Locked extends NamedSession {
  claim: SessionClaim;
  /** What was read when the claim began. */
  begun: Pick<BegunTurn, 'pending' | 'earlier' | 'turns'>;
  /** Stores what the turn changes (`Store.commitTurn`). The claim ends with it, unless the outcome is `lost`. */
  commit(changes: TurnChanges): Promise<CommitOutcome>;
  /** The outlet knows that the answer has begun, and in which session. */
  has_started: boolean;
}

/** open-session: the session as it was found or as it will be created. Nothing is written yet. */
export interface Opened {
  session: Session;
  /** `replaced`: it begins anew under the id of another person's session. */
  session_origin: 'found' | 'new' | 'replaced';
}

/** resolve-principal: who the tools act for, and the session with the id that it has now. */
export interface Resolved extends Opened {
  principal: Principal;
  session_id: string;
  changes: Answering['changes'];
}

/** settle-pending: what the message means for the action that waited in its session. */
export interface Settled {
  /** The message; a button without a text has its label. */
  message: IncomingMessage;
  settlement: Settlement;
  /** An action of this principal still waits, so that no other one is asked for. */
  still_waits: boolean;
  /** The daemon's own texts in the language of the sender. */
  texts: LocalTexts;
}

export type Settlement =
  | { kind: 'none' }
  /** The call is to be made, now. `resumed`: an earlier run of this message confirmed it already. */
  | { kind: 'confirmed'; action: Action; resumed: boolean }
  /** `text` comes before the reply. `ends`: it is the reply. */
  | { kind: 'declined'; text: string; ends: boolean }
  /** The reply, without a run. */
  | { kind: 'said'; text: string };

/** What a run of the agent needs to know. */
export type Runnable = Answering & Deduplicated & Locked & Guarded & Resolved & Settled;

/** run-agent: what the agent said. */
export interface Answered {
  reply: string;
  /** The person stopped it: the reply is what was said until then, perhaps nothing. */
  stopped: boolean;
  /** What its model calls used; null if there was none. */
  usage: Usage | null;
  /** What the run was shown of the conversation; null: the daemon answered without a run. */
  history: RunHistory | null;
  /** The question at the end of the reply; null: nothing is asked. */
  asked: AskedQuestion | null;
}

/** A call that waits for its person, and how the reply asks for it. */
export interface AskedQuestion {
  action: Omit<NewPendingAction, 'asked_by' | 'answer_ms' | 'unasked_ms'>;
  /** The whole question as plain text. */
  summary: string;
  /** Where the question begins in the reply. */
  begins_at: number;
  buttons: Readonly<{ confirm: string; decline: string }>;
}

/** store-reply: the turn is durable. */
export interface Stored {
  record: StoredTurn;
  question: ReplyQuestion | null;
}
