import { hash } from 'node:crypto';
import type { TraceRecord } from '../trace/trace-record.ts';
import { TRACES_FOUND_MAX } from './bounds.ts';
import type { Kernel, Kind, Ring, RingQuery, Tx } from './kernels/kernel.ts';

/** A user of one channel. Without `platform`: all users with this id, on any channel. */
interface TraceUser {
  platform?: string;
  user_id: string;
}

export interface TraceStore {
  /**
   * Stores a trace that is not stored with a turn.
   * @param link_code the id of the link code that it is about. If the code was erased, the trace is not stored.
   */
  keep(trace: TraceRecord, link_code?: string | null): Promise<void>;
  /**
   * Stores the trace of a refused request. Anybody can send such requests, so their traces have a separate limit.
   * Beyond it, only the oldest traces of refused requests are deleted.
   * @param client the tag of the anonymous client (`clientTag`) that sent the request; null or absent if there is none.
   * The embedded store counts the trace for it (ANONYMOUS_STORE_BYTES).
   */
  keepRefused(trace: TraceRecord, client?: string | null): Promise<void>;
  /**
   * The traces whose turn, request, session or message has this id, oldest first. If there are more than 200, only the
   * newest 200.
   */
  find(id: string): Promise<TraceRecord[]>;
  /** The newest traces, at most `limit` of messages and `limit` of refused requests, in the order of storing. */
  recent(limit: number): Promise<TraceRecord[]>;
  /** The traces of this channel user's messages, oldest first. If there are more than 200, only the newest 200. */
  findOf(user: TraceUser): Promise<TraceRecord[]>;
}

/** Erased sessions, turns and link codes, by `erasedKey`. */
const ERASED: Kind<{ expires_at: number }> = {
  name: 'erased',
  expires: ({ expires_at }) => expires_at,
};

/** The hash of an id: the id itself is erased. */
export function erasedKey(id: string): string {
  return hash('sha256', id, 'hex');
}

/** Whether one of these ids was erased lately. */
export function isErased(tx: Tx, ids: readonly (string | null)[]): boolean {
  return ids.some((id) => id !== null && tx.get(ERASED, erasedKey(id)) !== null);
}

/**
 * How long ids of erased sessions, messages and link codes are remembered, ms. During this time, a run that was under way
 * during the erasure cannot store its turn, its trace, or the answer of its key; nor can what was about to be told about a
 * code be stored.
 */
const ERASED_MS = 60 * 60 * 1000;

export function noteErased(tx: Tx, id: string): void {
  tx.put(ERASED, erasedKey(id), { expires_at: tx.now + ERASED_MS });
}

/** A trace with the time when it was stored. */
export interface KeptTrace {
  kept_at: number;
  trace: TraceRecord;
  /** The tag of the anonymous client that sent a refused request. */
  client?: string;
}

export interface TraceRings {
  answered: Ring<KeptTrace>;
  refused: Ring<KeptTrace>;
}

export function traceRings(bounds: {
  traceRetentionMs: number;
  tracesMax: number;
  refusedMax: number;
}): TraceRings {
  const ring = (name: string, max: number): Ring<KeptTrace> => ({
    name,
    max,
    retention_ms: bounds.traceRetentionMs,
    ids: ({
      trace: { turn_id, request_id, session_id, message_id, platform, user_id, collected = [], rerun_of },
    }) => {
      const further = collected.flatMap((message) => [
        message.id,
        message.request_id,
        ...messageIds(platform, message.message_id),
      ]);
      const first = rerun_of ? [rerun_of.turn_id, ...messageIds(platform, rerun_of.message_id)] : [];
      const user = user_id === null ? null : userId(user_id);
      const ids = [
        turn_id,
        request_id,
        session_id,
        ...messageIds(platform, message_id),
        user,
        ...further,
        ...first,
      ];
      return [...new Set(ids.filter((id) => id !== null))];
    },
    client: ({ client = null }) => client,
  });
  return { answered: ring('traces', bounds.tracesMax), refused: ring('refused', bounds.refusedMax) };
}

/** The ids by which a message of a platform is found: its own, alone and with the channel's name before it. */
export function messageIds(platform: string, message_id: string | null): string[] {
  return message_id === null ? [] : [message_id, `${platform}:${message_id}`];
}

/** The id under which the traces of a channel's user are found. It never equals another id of a trace. */
function userId(user_id: string): string {
  return `\n${user_id}`;
}

export function traceStore(kernel: Kernel, rings: TraceRings): TraceStore {
  /** The newest traces of each ring that the query selects, in the order of storing. */
  const findInBoth = async (query: RingQuery<KeptTrace>) => {
    const both = await Promise.all(
      [rings.answered, rings.refused].map((ring) => kernel.findRecords(ring, query)),
    );
    return both
      .flat()
      .sort((a, b) => a.kept_at - b.kept_at)
      .map(({ trace }) => trace);
  };
  const newest = async (query: Omit<RingQuery<KeptTrace>, 'limit'>) =>
    (await findInBoth({ ...query, limit: TRACES_FOUND_MAX })).slice(-TRACES_FOUND_MAX);
  return {
    keep: (trace, link_code = null) =>
      kernel.step((tx) => {
        if (!isErased(tx, [link_code])) keepUnlessErased(tx, rings.answered, trace);
      }),
    keepRefused: (trace, client = null) =>
      kernel.step((tx) => keepUnlessErased(tx, rings.refused, trace, client)),
    recent: (limit) => findInBoth({ limit }),
    find: (id) => newest({ id }),
    findOf: ({ platform, user_id }) =>
      newest({
        id: userId(user_id),
        isFound: ({ trace }) => platform === undefined || trace.platform === platform,
      }),
  };
}

function keepUnlessErased(
  tx: Tx,
  ring: Ring<KeptTrace>,
  trace: TraceRecord,
  client: string | null = null,
): void {
  if (!isErased(tx, [trace.turn_id, trace.session_id]))
    tx.log(ring, { kept_at: tx.now, trace, ...(client === null ? {} : { client }) });
}

export function keepTrace(tx: Tx, ring: Ring<KeptTrace>, trace: TraceRecord): void {
  tx.log(ring, { kept_at: tx.now, trace });
}
