import type { IncomingMessage, StreamEvent } from '../../channel/index.ts';
import type { PersonKey, TokenReason } from '../identity/identity.ts';
import type { TraceLine } from '../message/trace.ts';

/**
 * Messages that are answered on an event stream, and the events of their answers (decisions §5). A stream is
 * `waiting` until it is opened for the first time, `running` while its run goes on, then `ended`; what has
 * waited, or been over, for its `ttl_ms` is treated as none, whether deleted yet or not.
 */
export interface StreamStore {
  /**
   * Keeps a new stream, waiting. Atomic: where a stream that there is has the same `idempotency_key`, that one
   * is the result, and nothing is written.
   */
  create(stream: NewStream): Promise<StreamRecord>;
  /** Null where there is none, or its time has passed. */
  find(stream_id: string): Promise<StreamRecord | null>;
  /** The stream that holds the key; one that ended in `error` holds none, so that its message can be repeated. */
  findByKey(idempotency_key: string): Promise<StreamRecord | null>;
  /**
   * Begins the run: `waiting` becomes `running`, the token is deleted, and the stream is its claimant's from then
   * on. Atomic: true for one caller, whose run it is until it has ended or been released, or its process dies;
   * false for all others.
   */
  claim(stream_id: string, claimant: StreamClaimant): Promise<boolean>;
  /**
   * Adds events to a stream that this process runs; their ids go on from the last one's, else it rejects.
   * Where the last one is `stream_complete` or `error` the stream has ended.
   */
  append(stream_id: string, events: readonly StreamEvent[]): Promise<void>;
  /** The events after `after`, in order. */
  read(stream_id: string, after: number): Promise<StreamEvent[]>;
  /** Calls back after events were added, and when somebody asked to stop; perhaps once too often. */
  watch(stream_id: string, listener: StreamListener): () => void;
  /** Tells the process that runs it to stop. */
  askToStop(stream_id: string): Promise<void>;
  /** Gives up a run, which may not have been able to say its end; no effect on one that has ended. */
  release(stream_id: string): Promise<void>;
  /** Ends each stream whose run died or was given up, with this event. @returns how many. */
  reap(last: Omit<StreamEvent, 'id'>): Promise<number>;
}

/** @param added the events, where the store has them at hand; else they are read. */
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
  /** Without its token: there, null says "signed out". */
  message: IncomingMessage;
  address: string | null;
  /** A token came with it. */
  token_given: boolean;
  /** Why that token is invalid; absent if it is valid, or none came. */
  token_refused?: TokenReason;
  /** The person of the valid cookie that came with it: a cookie counts when the stream is opened if it is theirs. */
  cookie_person: PersonKey | null;
  /** The trace up to here. */
  trace: TraceLine[];
}

export interface StreamRecord extends NewStream {
  reader: PersonKey | null;
  state: 'waiting' | 'running' | 'ended';
  /** Id of the last event; 0: there is none yet. */
  last_event: number;
}
