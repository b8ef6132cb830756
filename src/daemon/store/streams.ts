import type { IncomingMessage, StreamEvent } from '../../channel/index.ts';
import type { PersonKey, TokenReason } from '../identity/identity.ts';
import { clientTag } from '../session/session.ts';
import type { TraceLine } from '../trace/trace-record.ts';
import { type ClaimState, clamped, isValid, newClaim, ONLY_CLAIMS, renewed } from './claims/claim-state.ts';
import type { StreamClaim } from './claims/claims.ts';
import type { Kernel, Kind, Tx } from './kernels/kernel.ts';
import { stepsOf } from './steps-of.ts';

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
   * Begins the run: `waiting` becomes `running`, and the stream now belongs to its claimant. The token is deleted, and so
   * are the text and the trace of the message.
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
  /** How many streams of each channel wait to be opened, and how many are running. */
  counts(): Promise<StreamCount[]>;
  /**
   * Ends each running stream that has no valid claim. @param last the event that ends it. @returns the number of
   * streams.
   */
  reap(last: Omit<StreamEvent, 'id'>): Promise<number>;
}

/** @param added the new events, if the store has them in memory; otherwise they must be read. */
export type StreamListener = (change: 'events' | 'stop', added?: readonly StreamEvent[]) => void;

/** The streams of one channel in one state. */
export interface StreamCount {
  platform: string;
  state: 'waiting' | 'running';
  streams: number;
}

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
interface StreamStart {
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
  /** The parent of the message's span (`Observer.readParent`). Absent if the request had none. */
  parent_span?: string;
  /** When the message was accepted, ms since the epoch. */
  accepted_at: number;
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

interface StoredStream {
  record: StreamRecord;
  claim: ClaimState | null;
  /** Null while the stream is running. */
  expires_at: number | null;
}

/** A stream. Its list are its events. */
export const STREAM: Kind<StoredStream, StreamEvent> = {
  name: 'stream',
  hasList: true,
  expires: ({ expires_at }) => expires_at,
  indexes: ({ record, claim }) => (record.state === 'running' ? [['running', claim?.expires_at ?? 0]] : []),
  client: ({ record: { owner, start } }) =>
    owner === null && start.address !== null ? clientTag(start.address) : null,
};

const STREAM_KEY: Kind<{ stream_id: string; expires_at: number | null }> = {
  name: 'stream_key',
  expires: ({ expires_at }) => expires_at,
};

/** Maximum number of running streams that one `reap` looks at. */
const REAPED_MAX = 10_000;

/** How hints of changes travel (`StreamStore`). */
export type StreamHints = Pick<StreamStore, 'gather_ms' | 'hintsMayBeLost'>;

export function streamStore(kernel: Kernel, hints: StreamHints): StreamStore {
  const step = stepsOf(kernel);
  return {
    create: step((tx, stream) => {
      const same = stream.idempotency_key === null ? null : findByKey(tx, stream.idempotency_key);
      if (same !== null) return same.record;
      const record: StreamRecord = {
        ...stream,
        reader: null,
        state: 'waiting',
        stop_requested: false,
        last_event: 0,
      };
      putStream(tx, { record, claim: null, expires_at: tx.now + stream.ttl_ms });
      return record;
    }),
    async counts() {
      const counts = new Map<string, StreamCount>();
      for await (const { doc } of kernel.scan(STREAM)) {
        const { state, start } = doc.record;
        if (state === 'ended') continue;
        const { platform } = start.message;
        const count = counts.get(`${state} ${platform}`) ?? { platform, state, streams: 0 };
        count.streams++;
        counts.set(`${state} ${platform}`, count);
      }
      return [...counts.values()];
    },
    find: step((tx, stream_id) => tx.get(STREAM, stream_id)?.record ?? null),
    findByKey: step((tx, key) => findByKey(tx, key)?.record ?? null),
    claim: step((tx, stream_id, claimant, first = []) => {
      const stored = tx.get(STREAM, stream_id);
      if (stored?.record.state !== 'waiting') return null;
      const claim = newClaim(tx);
      const owner = claimant.owner ?? stored.record.owner;
      const record: StreamRecord = {
        ...stored.record,
        state: 'running',
        token: null,
        start: startOfRun(stored.record.start),
        owner,
        reader: claimant.reader,
      };
      putStream(tx, { record, claim, expires_at: null });
      appendEvents(tx, stream_id, first);
      return { stream_id, owner: claim.owner };
    }),
    renew: step((tx, claim) => {
      const stored = heldStream(tx, claim);
      if (stored?.claim) putStream(tx, { ...stored, claim: renewed(stored.claim, tx) });
      return stored !== null;
    }, ONLY_CLAIMS),
    append: step((tx, claim, events) => {
      if (heldStream(tx, claim) === null) return false;
      appendEvents(tx, claim.stream_id, events);
      return true;
    }),
    read: step((tx, stream_id, after) =>
      tx.get(STREAM, stream_id) === null ? null : tx.items<StreamEvent>(STREAM, stream_id, after),
    ),
    subscribe: (stream_id, listener) =>
      kernel.watch(channelName(stream_id), (change, added) =>
        listener(change as 'events' | 'stop', added as readonly StreamEvent[] | undefined),
      ),
    ...hints,
    requestStop: step(requestStop, { onlyClaims: true }),
    release: step((tx, claim) => {
      const stored = heldStream(tx, claim);
      if (stored === null) return;
      putStream(tx, { ...stored, claim: null, record: { ...stored.record, stop_requested: false } });
    }, ONLY_CLAIMS),
    reap: step((tx, last) => {
      let reaped = 0;
      for (const { key, doc } of tx.first(STREAM, 'running', REAPED_MAX)) {
        const { claim, record } = doc;
        if (claim !== null && isValid(claim, tx)) {
          const limited = clamped(claim, tx);
          if (limited !== claim) putStream(tx, { ...doc, claim: limited });
          continue;
        }
        appendEvents(tx, key, [{ ...last, id: record.last_event + 1 }]);
        reaped++;
      }
      return reaped;
    }),
  };
}

function requestStop(tx: Tx, stream_id: string): void {
  const stored = tx.get(STREAM, stream_id);
  if (stored?.record.state !== 'running' || stored.claim === null) return;
  putStream(tx, { ...stored, record: { ...stored.record, stop_requested: true } });
  tx.tell(channelName(stream_id), 'stop');
}

/** A running stream is stored again with each of its events, so it keeps nothing that only its run needs. */
function startOfRun({ message, ...start }: StreamStart): StreamStart {
  const { platform, user_id, channel_id, thread_id, metadata } = message;
  const signedOut = metadata.jwt_token === null ? { jwt_token: null } : {};
  return {
    ...start,
    message: { platform, user_id, channel_id, thread_id, text: '', metadata: signedOut },
    trace: [],
  };
}

/** The stream of a claim that is still held; null if it is lost. */
export function heldStream(tx: Tx, { stream_id, owner }: StreamClaim): StoredStream | null {
  const stored = tx.get(STREAM, stream_id);
  return stored?.claim?.owner === owner ? stored : null;
}

/**
 * Adds events to a running stream. The caller has checked that the claim is held.
 * @throws if the events do not follow the last event of the stream.
 */
export function appendEvents(tx: Tx, stream_id: string, events: readonly StreamEvent[]): void {
  const stored = expectNext(tx, stream_id, events);
  const last = events.at(-1);
  if (last === undefined) return;
  tx.append(STREAM, stream_id, events);
  const record = { ...stored.record, last_event: last.id };
  const isEnd = last.event === 'stream_complete' || last.event === 'error';
  if (isEnd)
    putStream(tx, { record: endRecord(tx, record, last), claim: null, expires_at: tx.now + record.ttl_ms });
  else putStream(tx, { ...stored, record });
  tx.tell(channelName(stream_id), 'events', events);
}

/** @throws if the events do not follow the last event of a running stream. */
function expectNext(tx: Tx, stream_id: string, events: readonly StreamEvent[]): StoredStream {
  const stored = tx.get(STREAM, stream_id);
  if (stored?.record.state !== 'running') throw new Error('events are added to a stream that is not running');
  events.forEach(({ id }, index) => {
    if (id !== stored.record.last_event + 1 + index)
      throw new Error(`event ${id} does not follow the last event of its stream`);
  });
  return stored;
}

/** After a failure, the client can send the message again with the same key. */
function endRecord(tx: Tx, record: StreamRecord, { event }: StreamEvent): StreamRecord {
  const { idempotency_key } = record;
  if (event === 'error' && idempotency_key !== null) tx.delete(STREAM_KEY, idempotency_key);
  return {
    ...record,
    state: 'ended',
    stop_requested: false,
    idempotency_key: event === 'error' ? null : idempotency_key,
  };
}

function findByKey(tx: Tx, key: string): StoredStream | null {
  const stream_id = tx.get(STREAM_KEY, key)?.stream_id;
  return stream_id === undefined ? null : tx.get(STREAM, stream_id);
}

function putStream(tx: Tx, stored: StoredStream): void {
  const { stream_id, idempotency_key } = stored.record;
  tx.put(STREAM, stream_id, stored);
  if (idempotency_key === null) return;
  const known = tx.get(STREAM_KEY, idempotency_key);
  if (known?.stream_id !== stream_id || known.expires_at !== stored.expires_at)
    tx.put(STREAM_KEY, idempotency_key, { stream_id, expires_at: stored.expires_at });
}

/** Deletes a stream with its events. */
export function dropStream(tx: Tx, { stream_id, idempotency_key }: StreamRecord): void {
  tx.delete(STREAM, stream_id);
  if (idempotency_key !== null) tx.delete(STREAM_KEY, idempotency_key);
}

function channelName(stream_id: string): string {
  return `stream ${stream_id}`;
}
