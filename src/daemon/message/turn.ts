import type {
  ChannelCapabilities,
  ChannelLinking,
  ConversationEvent,
  IncomingMessage,
} from '../../channel/index.ts';
import type { Place } from '../http/arrivals.ts';
import type { Claims, NothingPresented, PersonKey, Presented, TokenVerdict } from '../identity/identity.ts';
import type { Session } from '../session/session.ts';
import type { Lease } from '../store/leases.ts';
import type { Trace } from '../trace/trace.ts';
import type { TraceLine } from '../trace/trace-record.ts';

/**
 * The datum of the message path: what has arrived, and what each step adds to it. A step's parameter names
 * what it needs, its result what it adds; steps.ts puts them in an order that compiles only if it holds.
 */
export interface Arrived {
  turn_id: string;
  request_id: string;
  message: IncomingMessage;
  /**
   * The message's thread, or the id that was generated for it. Later steps replace it by the id that the session
   * has then.
   */
  session_id: string;
  /** The daemon made `session_id` for this message. */
  session_is_generated: boolean;
  channel: {
    name: string;
    space: string;
    capabilities: ChannelCapabilities;
    linking: ChannelLinking | undefined;
  };
  /** Client address, for channels that answer in the request. */
  address: string | null;
  /** The token that the request presented and its one validation, done for the rate limit. */
  validated: { token: string; verdict: TokenVerdict } | null;
  /** Where it is kept until it is answered later; null where the answer leaves in the request. */
  inbox: KeptMessage | null;
  /** The event stream that it is answered on; null where it is answered otherwise. */
  stream: StreamedMessage | null;
  /** Tells the reader; never throws, never waits. */
  emit(event: ConversationEvent): void;
  /** Among the requests of its thread, until it stands in its session's line. */
  place?: Place;
  trace: Trace;
  started_at: number;
  /** What a step has taken and must give back when the turn ends, last one first. */
  onEnd(giveBack: (failed: boolean) => Promise<void>): void;
}

/** The inbox's side of a message that is answered later (src/daemon/inbox/attempt.ts). */
export interface KeptMessage {
  /**
   * Keeps the reply, from where on it is sent again after a crash, and the agent not run again. False where
   * the message was discarded, or another process has taken it over: nothing is kept then.
   */
  keepReply(reply: string): Promise<boolean>;
  /** One attempt to send the kept reply. What comes of it is the inbox's to carry on: never rejects. */
  sendReply(): Promise<Delivery>;
  /** Whether there will be another attempt after this failure. */
  willRunAgain(error: unknown): boolean;
}

/**
 * `sent`, `refused` for good by the platform, `failed` and perhaps tried again, `waiting` for a platform that is
 * out of reach, `lost`: taken away meanwhile.
 */
export type Delivery = 'sent' | 'refused' | 'failed' | 'waiting' | 'lost';

/** The stream's side of a message that was kept until its stream was opened (src/daemon/stream/run.ts). */
export interface StreamedMessage {
  /** Under which its answer will be found again; null where the client sent none. */
  idempotency_key: string | null;
  /** The person who alone may read the answer; null: whoever knows the stream's id. */
  reader: PersonKey | null;
  /** What was noted when the message was kept. */
  trace: readonly TraceLine[];
  /** Id of the request that opened the stream. */
  opened_by: string;
  /** Aborts when the person stops the answer: what was said so far is the reply. */
  stopped: AbortSignal;
  /** The agent begins to speak. */
  begin(): void;
  /** Resolves when all that was said is stored. */
  settled(): Promise<void>;
  /** Ends the stream with the reply, in the same commit as what is asked for beside it. */
  complete(reply: string, stopped: boolean): Promise<void>;
}

/** identify: who sent it, as far as a token says so. */
export interface Identified {
  presented: Presented;
}

/** recognise-repeat: under which key the answer will be found again. */
export interface Repeatable {
  idempotency_key: string | null;
}

/** resolve-session: the session that a message speaks in, by the id that it names or that was made for it. */
export interface NamedSession {
  /** Null: the message begins it. */
  found: Session | null;
  /** The id that the session has now. */
  session_id: string;
  /** The daemon made `session_id` for this message. */
  session_is_generated: boolean;
  /** The session's name that never changes: lock and count of turns go by it. */
  session_tag: string;
}

/** take-turn: no other message of the session runs while the lease is held; resolved anew under it. */
export interface InTurn extends NamedSession {
  lease: Lease;
  /** The reader was told that the answer has begun, and in which session. */
  told_started: boolean;
}

/** open-session: the session as found, or as it will be created. Nothing is written yet. */
export interface Opened {
  session: Session;
  session_is_new: boolean;
}

/** check-sender: nobody else's session is spoken in. */
export interface Admitted extends NamedSession {
  admitted: true;
}

/** guard: let through. */
export interface Guarded {
  guarded: true;
}

/** bind-identity: whom the tools act for in this message, and the session's id, which sign-in changes. */
export interface Bound {
  acting: Acting;
  session_id: string;
}

/** run-agent: what the agent said. */
export interface Answered {
  reply: string;
  /** The person stopped it: the reply is what was said until then, perhaps nothing. */
  stopped: boolean;
}

/** store-reply: durable now. */
export interface Stored {
  stored: true;
}

/** Whom a message acts for: a person whose stored context its tools may use, or nobody and why. */
export type Acting =
  | { person: PersonKey; claims: Claims }
  | {
      person: null;
      reason: NobodyReason;
      token_reason?: string;
      /** The sign-in has expired, and the person has been told of it. */
      lapse_told?: boolean;
    };

export type NobodyReason =
  | NothingPresented
  | 'invalid_token'
  | 'signed_out'
  | 'stored_token_expired'
  /** No encryption key opens it. */
  | 'stored_token_unreadable'
  /** The client chose the session's id, so only a message that brings the token is trusted (decisions §3). */
  | 'client_chosen_session'
  /** The stored context was brought by another channel user. */
  | 'other_sender';
