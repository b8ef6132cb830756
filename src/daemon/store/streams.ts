import type { IncomingMessage, StreamEvent } from '../../channel/index.ts';
import type { PersonKey, TokenReason } from '../identity/identity.ts';
import type { TraceLine } from '../trace/trace-record.ts';
import type { StreamClaim } from './claims.ts';

/**
 * Messages that are answered on an event stream, and the events of their answers. A stream is `waiting` until it is
 * opened for the first time, `running` during its run, and then `ended`. If a stream has been waiting or ended for its
 * `ttl_ms`, it is treated as absent, even if it is not deleted yet.
 */
export interface StreamStore {
  /**
   * Stores a new stream as `waiting`. Atomic: if a live stream has the same `idempotency_key`, that stream is returned
   * and nothing is written.
   */
  create(stream: NewStream): Promise<StreamRecord>;
  /** The stream; null if there is none or it has expired. */
  find(stream_id: string): Promise<StreamRecord | null>;
  /**
   * The stream that has the key; null if there is none. A stream that ended with `error` loses its key, so that the
   * message can be sent again.
   */
  findByKey(idempotency_key: string): Promise<StreamRecord | null>;
  /**
   * Begins the run: `waiting` becomes `running`, the token is deleted, and the stream now belongs to its claimant.
   * Atomic: one caller gets the claim, and all others get null.
   * @param first the first events of the run, which are stored with the claim. None of them may end the stream.
   */
  claim(
    stream_id: string,
    claimant: StreamClaimant,
    first?: readonly StreamEvent[],
  ): Promise<StreamClaim | null>;
  /** Extends a claim to `CLAIM_MS` from now. False if it is lost. */
  renew(claim: StreamClaim): Promise<boolean>;
  /**
   * Adds events to a running stream. Rejects if their ids do not follow the last id of the stream. `stream_complete` or
   * `error` ends the stream and the claim. False if the claim is lost; nothing is written.
   */
  append(claim: StreamClaim, events: readonly StreamEvent[]): Promise<boolean>;
  /** The events after `after`, in order; null if there is no such stream, for example because it was erased. */
  read(stream_id: string, after: number): Promise<StreamEvent[] | null>;
  /**
   * Calls the listener after events were added and after a request to stop, possibly more than once. A call is only a
   * hint: it may be lost if another process made the change. So a caller that waits must also read regularly.
   * @returns a function that ends the subscription.
   */
  subscribe(stream_id: string, listener: StreamListener): () => void;
  /** Whether hints of `subscribe` about events and stops can be lost. */
  readonly hintsMayBeLost: boolean;
  /**
   * How long to buffer text before it is appended, ms; 0 if an append costs almost nothing. This delays the text for
   * readers by up to the same time.
   */
  readonly gather_ms: number;
  /** Stores a request to end the run (`StreamRecord.stop_requested`). No effect if the stream is not running. */
  requestStop(stream_id: string): Promise<void>;
  /** Abandons a run: the next `reap` ends the stream. No effect if the run has ended or the claim is lost. */
  release(claim: StreamClaim): Promise<void>;
  /**
   * Ends each running stream that has no valid claim. @param last the event that ends it. @returns the number of
   * streams.
   */
  reap(last: Omit<StreamEvent, 'id'>): Promise<number>;
}

/** @param added the new events, if the store has them in memory; otherwise they must be read. */
export type StreamListener = (change: 'events' | 'stop', added?: readonly StreamEvent[]) => void;

export interface NewStream {
  stream_id: string;
  idempotency_key: string | null;
  /** The fingerprint of the message, as in `IdempotencyStore`. */
  fingerprint: string;
  /** The person of the token that came with the message; null if there is none. */
  owner: PersonKey | null;
  /** The token that came with the message, sealed by the layer above; null if there was none. */
  token: string | null;
  start: StreamStart;
  /** How long a stream waits to be opened, and how long it is kept after its end, ms. */
  ttl_ms: number;
}

/** The person who opens a stream for the first time. */
export interface StreamClaimant {
  /** The person of the run's token. Null: the stream keeps its owner. */
  owner: PersonKey | null;
  /** The only person who may read the stream from now on. Null: anybody who knows its id may read it. */
  reader: PersonKey | null;
}

/** The data that arrived with the message of a stream, and the results of the first checks. */
export interface StreamStart {
  request_id: string;
  session_id: string;
  session_is_generated: boolean;
  /** The tag of the session in which the guard counted the message; null if it was not counted. */
  counted_in: string | null;
  /** The message without its token. A token that is null is kept, because it means "signed out". */
  message: IncomingMessage;
  address: string | null;
  /** Whether a token came with the message. */
  token_given: boolean;
  /** Why that token is invalid; absent if it is valid or no token came. */
  token_refused?: TokenReason;
  /**
   * The person of the valid cookie that came with the message. When the stream is opened, a cookie counts only if it
   * belongs to this person.
   */
  cookie_person: PersonKey | null;
  /** The parent of the message's span (`Observer.parentOf`). Absent if the request had none. */
  parent_span?: string;
  /** When the message was accepted, ms since the epoch. Absent in streams of earlier versions. */
  accepted_at?: number;
  /** The trace of the message up to this point. */
  trace: TraceLine[];
}

export interface StreamRecord extends NewStream {
  reader: PersonKey | null;
  state: 'waiting' | 'running' | 'ended';
  /** Whether somebody has requested to end the run. */
  stop_requested: boolean;
  /** Id of the last event; 0 if there is none yet. */
  last_event: number;
}
