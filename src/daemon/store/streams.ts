import type { IncomingMessage, StreamEvent } from '../../channel/index.ts';
import type { PersonKey, TokenReason } from '../identity/identity.ts';
import type { TraceLine } from '../trace/trace-record.ts';
import type { StreamClaim } from './claims.ts';

/**
 * Messages that are answered on an event stream, and the events of their answers. A stream is `waiting`
 * until it is opened for the first time, `running` while its run goes on, then `ended`. A stream that has waited, or
 * has been over, for its `ttl_ms` is treated as absent, whether it is deleted yet or not.
 */
export interface StreamStore {
  /**
   * Stores a new stream, waiting. Atomic: if a live stream has the same `idempotency_key`, that stream is returned and
   * nothing is written.
   */
  create(stream: NewStream): Promise<StreamRecord>;
  /** Null if there is none, or it has expired. */
  find(stream_id: string): Promise<StreamRecord | null>;
  /** The stream that has the key. One that ended in `error` has none, so that its message can be repeated. */
  findByKey(idempotency_key: string): Promise<StreamRecord | null>;
  /**
   * Begins the run: `waiting` becomes `running`, the token is deleted, and the stream is its claimant's from then on.
   * Atomic: one caller gets the claim, all others null.
   */
  claim(stream_id: string, claimant: StreamClaimant): Promise<StreamClaim | null>;
  /** Extends a claim to `CLAIM_MS` from now. False if it is lost. */
  renew(claim: StreamClaim): Promise<boolean>;
  /**
   * Adds events to a running stream; their ids follow its last one, else it rejects. After `stream_complete` or `error`
   * the stream has ended, and so has the claim. False if the claim is lost: nothing is written.
   */
  append(claim: StreamClaim, events: readonly StreamEvent[]): Promise<boolean>;
  /** The events after `after`, in order. */
  read(stream_id: string, after: number): Promise<StreamEvent[]>;
  /**
   * Calls back after events were added and after a request to stop, perhaps once too often. A hint: it may be lost if
   * another daemon made the change, so whoever waits also looks now and then (`hintsMayBeLost`).
   * @returns ends the subscription.
   */
  subscribe(stream_id: string, listener: StreamListener): () => void;
  /** Whether hints of `subscribe` can be lost. */
  readonly hintsMayBeLost: boolean;
  /**
   * How long text may wait for more text before it is appended, ms; 0 if an append costs next to nothing. Readers get it
   * after that.
   */
  readonly gather_ms: number;
  /** Stores the request that the run ends (`StreamRecord.stop_requested`). No effect on a stream that does not run. */
  requestStop(stream_id: string): Promise<void>;
  /** Gives up a run that has not ended: the next `reap` ends the stream. No effect if the claim is lost. */
  release(claim: StreamClaim): Promise<void>;
  /** Ends each running stream without a valid claim, with this event. @returns how many. */
  reap(last: Omit<StreamEvent, 'id'>): Promise<number>;
}

/** @param added the events, if the store has them at hand; else they are read. */
export type StreamListener = (change: 'events' | 'stop', added?: readonly StreamEvent[]) => void;

export interface NewStream {
  stream_id: string;
  idempotency_key: string | null;
  /** Of the message, as in `IdempotencyStore`. */
  fingerprint: string;
  /** The person of the token that came with the message; null: nobody. */
  owner: PersonKey | null;
  /** The token that came with the message, sealed by the layer above; null: none. */
  token: string | null;
  start: StreamStart;
  /** How long it waits to be opened, and is found after its end. */
  ttl_ms: number;
}

/** Who has opened a stream for the first time. */
export interface StreamClaimant {
  /** The person that the run acts for by a token; null: the stream stays whose it was. */
  owner: PersonKey | null;
  /** The person who alone may read the stream from now on; null: whoever knows its id. */
  reader: PersonKey | null;
}

/** What arrived with the message of a stream, and was found out then. */
export interface StreamStart {
  request_id: string;
  session_id: string;
  session_is_generated: boolean;
  /** The tag of the session that the guard counted the message in; null: it counted it in none. */
  counted_in: string | null;
  /** Without its token: there, null says "signed out". */
  message: IncomingMessage;
  address: string | null;
  /** A token came with it. */
  token_given: boolean;
  /** Why that token is invalid; absent if it is valid, or none came. */
  token_refused?: TokenReason;
  /** The person of the valid cookie that came with it: a cookie counts when the stream is opened if it is theirs. */
  cookie_person: PersonKey | null;
  /** The parent of its span (`Observer.parentOf`). Absent if the request had none. */
  parent_span?: string;
  /** When the message was accepted, ms since the epoch. Absent in streams of earlier versions. */
  accepted_at?: number;
  /** The trace up to here. */
  trace: TraceLine[];
}

export interface StreamRecord extends NewStream {
  reader: PersonKey | null;
  state: 'waiting' | 'running' | 'ended';
  /** Somebody asked that the run ends. */
  stop_requested: boolean;
  /** Id of the last event; 0: there is none yet. */
  last_event: number;
}
