import type { PersonKey } from '../identity/identity.ts';
import { readMark } from '../identity/seal.ts';
import type { Kernel, Kind, Tx } from './kernels/kernel.ts';
import { erasedKey, isErased, messageIds } from './traces.ts';

/**
 * Recordings of runs. The layer above seals what a run saw and said; the store reads only whose words
 * are in it. All recordings together have at most RECORDINGS_MAX_BYTES: beyond that, the oldest are deleted.
 */
export interface RecordingStore {
  /**
   * Stores the recording of a turn, and replaces an earlier one of the same turn. It is kept for TRACE_RETENTION_DAYS,
   * or for `UNMARKED_MS` if it is provisional and nobody marks it.
   */
  keep(recording: NewRecording): Promise<RecordingKept>;
  /** The newest recording whose turn, request or message has this id. Null if there is none. */
  find(id: string): Promise<Recording | null>;
  /**
   * Keeps the recording of a turn for TRACE_RETENTION_DAYS, because somebody has marked the answer. A recording that is
   * not stored yet is kept if it is stored within an hour.
   * @returns whether there is a recording now
   */
  mark(turn_id: string): Promise<boolean>;
  /** The turns whose recordings are not sealed with the key of this mark (seal.ts). Reads no contents. */
  sealedUnlike(mark: string): AsyncIterable<string>;
  /** Replaces the sealed content; atomic. False if it was replaced or deleted before that. */
  reseal(turn_id: string, content: string, resealed: string): Promise<boolean>;
}

export interface Recording {
  turn_id: string;
  request_id: string;
  /** The id of the message on its platform; null if it has none. */
  message_id: string | null;
  platform: string;
  session_id: string;
  session_tag: string;
  /** The ids of the turns whose words are in it: its own, and those of its history. */
  turns: readonly string[];
  /** The channel users who wrote these words. */
  users: readonly string[];
  /** The persons for whom these turns acted. */
  persons: readonly PersonKey[];
  /** Whether it is deleted after `UNMARKED_MS` unless somebody marks it. */
  provisional: boolean;
  /** Sealed. */
  content: string;
  /** ms since the epoch. */
  recorded_at: number;
}

export type NewRecording = Omit<Recording, 'recorded_at'>;

/**
 * `erased`: some of its words were erased during the run. `too_large`: it is larger than `RECORDING_MAX_BYTES` or than
 * RECORDINGS_MAX_BYTES. In both cases, nothing is stored.
 */
type RecordingKept = 'kept' | 'erased' | 'too_large';

const HOUR_MS = 60 * 60 * 1000;

/** How long a provisional recording is kept, ms. */
export const UNMARKED_MS = 24 * HOUR_MS;
/** RECORDINGS_MAX_BYTES if it is not given. */
export const RECORDINGS_MAX_BYTES = 1_073_741_824;
/** Maximum size of one recording, bytes. A document of a store must not be too large to be read in one piece. */
const RECORDING_MAX_BYTES = 4_194_304;

/** Approximately what a recording takes besides its content, bytes. */
const HEAD_BYTES = 1024;
/** How many recordings one step deletes to make room. */
const BITE = 50;
/** The number of slices into which the retention is divided, so that the oldest recordings are found. */
const SLICES = 168;

/** A recording without its content, so that a search for somebody's words reads no contents. */
interface Head extends Omit<Recording, 'content'> {
  bytes: number;
  /** The mark of the key that sealed the content. */
  sealed_with: string;
  /** The beginning of its slice, ms since the epoch. */
  slice: number;
  expires_at: number;
}

export const RECORDING: Kind<Head> = {
  name: 'recording',
  expires: ({ expires_at }) => expires_at,
  indexes: ({ slice, recorded_at }) => [[sliceIndex(slice), recorded_at]],
  isWide: () => true,
};

const CONTENT: Kind<{ content: string; expires_at: number }> = {
  name: 'recording_content',
  expires: ({ expires_at }) => expires_at,
};

/** For each id of a request or message, the newest turn that was recorded under it. */
const RECORDED_ID: Kind<{ turn_id: string; expires_at: number }> = {
  name: 'recording_id',
  expires: ({ expires_at }) => expires_at,
};

/** Marks of turns without a recording, by the hash of the turn's id. */
const EARLY_MARK: Kind<{ expires_at: number }> = {
  name: 'recording_mark',
  expires: ({ expires_at }) => expires_at,
};

/** The bytes of the recordings that were stored in one span of time. */
interface Slice {
  from: number;
  to: number;
  kept: number;
  provisional: number;
}

/** Oldest first. */
const SLICE_LIST: Kind<{ slices: readonly Slice[] }> = { name: 'recording_slices', expires: () => null };

function sliceIndex(from: number): string {
  return `slice ${from}`;
}

interface RecordingBounds {
  traceRetentionMs: number;
  recordingsMaxBytes: number;
}

export function recordingStore(kernel: Kernel, bounds: RecordingBounds): RecordingStore {
  return {
    async keep(recording) {
      for (;;) {
        const outcome = await kernel.step((tx) => keep(tx, recording, bounds));
        if (outcome !== 'made_room') return outcome;
      }
    },
    find: (id) =>
      kernel.step((tx) => {
        const head = tx.get(RECORDING, id) ?? findHead(tx, id);
        const stored = head && tx.get(CONTENT, head.turn_id);
        if (!head || !stored) return null;
        const { bytes: _bytes, slice: _slice, sealed_with: _key, expires_at: _expires, ...known } = head;
        return { ...known, content: stored.content };
      }),
    mark: (turn_id) => kernel.step((tx) => mark(tx, turn_id, bounds)),
    async *sealedUnlike(mark) {
      for await (const { doc } of kernel.scan(RECORDING)) if (doc.sealed_with !== mark) yield doc.turn_id;
    },
    reseal: (turn_id, content, resealed) => kernel.step((tx) => reseal(tx, turn_id, content, resealed)),
  };
}

function findHead(tx: Tx, id: string): Head | null {
  const turn_id = tx.get(RECORDED_ID, id)?.turn_id;
  return turn_id === undefined ? null : tx.get(RECORDING, turn_id);
}

/** @returns `made_room` if only older recordings were deleted, so that the step must be repeated */
function keep(tx: Tx, recording: NewRecording, bounds: RecordingBounds): RecordingKept | 'made_room' {
  const { content, ...known } = recording;
  const { turn_id, session_id, session_tag, turns } = known;
  const bytes = Buffer.byteLength(content) + HEAD_BYTES;
  if (bytes > Math.min(RECORDING_MAX_BYTES, bounds.recordingsMaxBytes)) return 'too_large';
  if (isErased(tx, [turn_id, session_id, session_tag, ...turns])) return 'erased';
  const earlier = tx.get(RECORDING, turn_id);
  if (earlier) dropRecording(tx, earlier);
  const slices = liveSlices(tx, bounds);
  const total = slices.reduce((sum, slice) => sum + slice.kept + slice.provisional, 0);
  if (total + bytes > bounds.recordingsMaxBytes) {
    makeRoom(tx, slices, total + bytes - bounds.recordingsMaxBytes);
    return 'made_room';
  }
  const isMarked = tx.get(EARLY_MARK, erasedKey(turn_id)) !== null;
  const provisional = known.provisional && !isMarked;
  const length = sliceLength(bounds);
  const slice = Math.floor(tx.now / length) * length;
  const head: Head = {
    ...known,
    provisional,
    recorded_at: tx.now,
    bytes,
    slice,
    sealed_with: readMark(content),
    expires_at: tx.now + (provisional ? UNMARKED_MS : bounds.traceRetentionMs),
  };
  putRecording(tx, head, content);
  putSlices(tx, countSlices(slices, head, bytes, bounds));
  return 'kept';
}

function sliceLength({ traceRetentionMs }: RecordingBounds): number {
  return Math.max(HOUR_MS, Math.ceil(traceRetentionMs / SLICES));
}

function putRecording(tx: Tx, head: Head, content: string): void {
  const { turn_id, expires_at } = head;
  tx.put(RECORDING, turn_id, head);
  tx.put(CONTENT, turn_id, { content, expires_at });
  for (const id of listIds(head)) tx.put(RECORDED_ID, id, { turn_id, expires_at });
}

function listIds({ request_id, message_id, platform }: Head): string[] {
  return [request_id, ...messageIds(platform, message_id)];
}

/** The slices without those whose recordings have all expired. */
function liveSlices(tx: Tx, { traceRetentionMs }: RecordingBounds): Slice[] {
  const slices = tx.get(SLICE_LIST, '')?.slices ?? [];
  return slices
    .map((slice) => ({
      ...slice,
      kept: slice.to + traceRetentionMs <= tx.now ? 0 : slice.kept,
      provisional: slice.to + UNMARKED_MS <= tx.now ? 0 : slice.provisional,
    }))
    .filter(({ kept, provisional }) => kept + provisional > 0);
}

function putSlices(tx: Tx, slices: readonly Slice[]): void {
  const filled = slices.filter(({ kept, provisional }) => kept + provisional > 0);
  tx.put(SLICE_LIST, '', { slices: filled.toSorted((a, b) => a.from - b.from) });
}

/** The slices after a recording was added, or deleted if `bytes` is negative. */
function countSlices(
  slices: readonly Slice[],
  { slice: from, provisional }: Pick<Head, 'slice' | 'provisional'>,
  bytes: number,
  bounds: RecordingBounds,
): Slice[] {
  const known = slices.find((slice) => slice.from === from);
  const slice = known ?? { from, to: from + sliceLength(bounds), kept: 0, provisional: 0 };
  return [...slices.filter((one) => one !== known), withBytes(slice, provisional, bytes)];
}

/** A slice with more bytes of recordings, or with fewer if `bytes` is negative. */
function withBytes(slice: Slice, provisional: boolean, bytes: number): Slice {
  const member = provisional ? 'provisional' : 'kept';
  return { ...slice, [member]: Math.max(0, slice[member] + bytes) };
}

/** Deletes the oldest recordings, at least one, until this many bytes are free or the step has deleted enough. */
function makeRoom(tx: Tx, slices: readonly Slice[], bytes: number): void {
  const [oldest, ...others] = slices;
  if (oldest === undefined) return;
  const found = tx.first(RECORDING, sliceIndex(oldest.from), BITE);
  let free = 0;
  let left: Slice = oldest;
  for (const { doc } of found) {
    if (free >= bytes) break;
    free += doc.bytes;
    left = withBytes(left, doc.provisional, -doc.bytes);
    deleteRecording(tx, doc);
  }
  // What is still counted belongs to recordings that have expired.
  putSlices(tx, found.length === 0 ? others : [left, ...others]);
}

function deleteRecording(tx: Tx, head: Head): void {
  for (const id of listIds(head))
    if (tx.get(RECORDED_ID, id)?.turn_id === head.turn_id) tx.delete(RECORDED_ID, id);
  tx.delete(CONTENT, head.turn_id);
  tx.delete(RECORDING, head.turn_id);
}

/** Deletes a recording before its time. */
export function dropRecording(tx: Tx, { turn_id }: Pick<Head, 'turn_id'>): void {
  const head = tx.get(RECORDING, turn_id);
  if (head === null) return;
  deleteRecording(tx, head);
  const slices = tx.get(SLICE_LIST, '')?.slices ?? [];
  putSlices(
    tx,
    slices.map((slice) =>
      slice.from === head.slice ? withBytes(slice, head.provisional, -head.bytes) : slice,
    ),
  );
}

function mark(tx: Tx, turn_id: string, bounds: RecordingBounds): boolean {
  const head = tx.get(RECORDING, turn_id);
  const stored = tx.get(CONTENT, turn_id);
  if (head === null || stored === null) {
    tx.put(EARLY_MARK, erasedKey(turn_id), { expires_at: tx.now + HOUR_MS });
    return false;
  }
  if (!head.provisional) return true;
  const marked = {
    ...head,
    provisional: false,
    expires_at: head.recorded_at + bounds.traceRetentionMs,
  };
  putRecording(tx, marked, stored.content);
  const slices = countSlices(liveSlices(tx, bounds), head, -head.bytes, bounds);
  putSlices(tx, countSlices(slices, marked, head.bytes, bounds));
  return true;
}

function reseal(tx: Tx, turn_id: string, content: string, resealed: string): boolean {
  const head = tx.get(RECORDING, turn_id);
  const stored = tx.get(CONTENT, turn_id);
  if (head === null || stored?.content !== content) return false;
  tx.put(CONTENT, turn_id, { ...stored, content: resealed });
  tx.put(RECORDING, turn_id, { ...head, sealed_with: readMark(resealed) });
  return true;
}
