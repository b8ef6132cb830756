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
 * The data that is passed along the message path: a message that has arrived, and what each step adds to it. The type
 * of a step's parameter says what it needs, and its result what it adds. The order of the steps in steps.ts compiles
 * only if all needs are met.
 */
export interface Arrived {
  turn_id: string;
  request_id: string;
  /** Id of the request that opened the stream of the message; absent if the message has no stream. */
  opened_by?: string;
  message: IncomingMessage;
  /**
   * The message's thread, or the id that was generated for it. Later steps replace it with the current id of the
   * session.
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
  /** Registers a function that runs when the turn ends, to release what a step has taken. The last one runs first. */
  defer(release: (failed: boolean) => Promise<void>): void;
}

/** The channel of a message. */
export interface ArrivedChannel {
  name: string;
  /** Channels of one namespace share sessions and idempotency keys. */
  namespace: string;
  /**
   * A platform signs the messages, says who writes, and names the sessions. False: clients claim all of this
   * themselves.
   */
  has_platform: boolean;
  markdown: ChannelCapabilities['markdown'];
  linking: ChannelLinking | undefined;
}

/** A message that is being answered now, not one that is stored for later. */
export interface Answering extends Arrived {
  outlet: Outlet;
  /**
   * Aborts when the person stops the answer: the text so far becomes the reply. Null if the answer cannot be stopped.
   */
  stopped: AbortSignal | null;
  /** When the daemon accepted the message, by the store's clock. */
  accepted_at: number;
  /** Aborted when one of the claims that this turn holds is lost. */
  lost: AbortController;
  /** The message waits for its session and for a run until the daemon stops. False: these waits are limited. */
  patient: boolean;
  /** The only person who may get the answer again. Null: anybody who has the idempotency key may get it. */
  reader: PersonKey | null;
  /** Changes found by the steps, to be stored in the turn's single commit. */
  changes: Pick<TurnChanges, 'session'>;
}

/** identify-by-token, identify-by-link: who sent the message, according to a token. */
export interface Identified {
  credential: Credential;
}

/** deduplicate: the key under which the answer can be found later. */
export interface Deduplicated {
  /** Null if the client sent none. */
  key: KeyClaim | null;
}

/** deduplicate, deduplicate-stream: the session of a message with a key. */
export interface NamedByKey {
  session_id: string;
}

/** deduplicate-stream: the key under which the stream can be found later. */
export interface Numbered {
  /** Null if the client sent none. */
  idempotency_key: string | null;
}

/** resolve-session: the session of a message, by the id that it names or that was made for it. */
export interface NamedSession {
  /** Null: the message begins the session. */
  found: Session | null;
  /** The id that the session has now. */
  session_id: string;
  /** The daemon made `session_id` for this message. */
  session_is_generated: boolean;
  /** The permanent name of the session, which the lock and the count of turns use. */
  session_tag: string;
}

/** authorize-sender: the session does not belong to somebody else. */
export interface Authorized extends NamedSession {
  authorized: true;
}

/** guard: the loop guard lets the message through. */
export interface Guarded {
  /** The tag of the session in which the guard counted the message; null if it was not counted here. */
  counted_in: string | null;
}

/** lock-session: no other message of the session runs until this turn ends. The session was resolved again. */
export interface Locked extends NamedSession {
  claim: SessionClaim;
  /** The data that was read when the claim began. */
  begun: Pick<BegunTurn, 'pending' | 'earlier' | 'turns'>;
  /** Stores what the turn changes (`Store.commitTurn`). The claim ends with it, unless the outcome is `lost`. */
  commit(changes: TurnChanges): Promise<CommitOutcome>;
  /** The outlet was notified that the answer has begun, and in which session. */
  has_started: boolean;
}

/** open-session: the session as it was found or as it will be created. Nothing is written yet. */
export interface Opened {
  session: Session;
  /** `replaced`: a new session takes over the id of another person's session. */
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
  /** The message. If it is a button without a text, its text is the label of the button. */
  message: IncomingMessage;
  settlement: Settlement;
  /** An action of this principal still waits, so no other action may ask for confirmation. */
  still_waits: boolean;
  /** The daemon's own texts in the language of the sender. */
  texts: LocalTexts;
}

export type Settlement =
  | { kind: 'none' }
  /** The call must be made now. `resumed`: an earlier run of this message confirmed it already. */
  | { kind: 'confirmed'; action: Action; resumed: boolean }
  /** `text` comes before the reply. `ends`: it is the whole reply. */
  | { kind: 'declined'; text: string; ends: boolean }
  /** `text` is the reply, without a run. */
  | { kind: 'said'; text: string };

/** What a run of the agent needs to know. */
export type Runnable = Answering & Deduplicated & Locked & Guarded & Resolved & Settled;

/** run-agent: what the agent said. */
export interface Answered {
  reply: string;
  /** The person stopped the answer: the reply is the text up to that point, which may be empty. */
  stopped: boolean;
  /** Tokens that the model calls used; null if there was no call. */
  usage: Usage | null;
  /** The part of the conversation that the run saw. Null: the daemon answered without a run. */
  history: RunHistory | null;
  /** The question at the end of the reply; null if there is none. */
  asked: AskedQuestion | null;
}

/** A call that waits for confirmation, and how the reply asks for it. */
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
