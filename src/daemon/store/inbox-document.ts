import type { ClaimState } from './claim-state.ts';
import type { AttemptKind, InboxMessage } from './inbox.ts';
import type { IndexEntry, Kind, Tx } from './kernels/kernel.ts';

/** A message of the inbox, its place in the order of storing, and the claim of the attempt that is under way. */
export interface StoredMessage {
  message: InboxMessage;
  serial: number;
  /** How long the next attempt was postponed, ms. */
  wait_ms: number;
  claim: ClaimState | null;
  /** When the record is deleted, ms since the epoch; null before the message is done or has failed. */
  expires_at: number | null;
}

export const MESSAGE: Kind<StoredMessage> = {
  name: 'inbox_message',
  expires: ({ expires_at }) => expires_at,
  indexes: ({ message, serial, claim }) => {
    const { state, platform, message_id, ended_at, text_stored_at } = message;
    const places: IndexEntry[] = [];
    if (message_id !== null) places.push([`message ${message_id}`, serial]);
    if (state === 'failed') places.push(['failed', ended_at ?? 0, serial]);
    if (ended_at === null) places.push(['open', serial]);
    if (state === 'replied' && claim === null)
      places.push([`replied ${platform}`, text_stored_at ?? 0, serial]);
    if (claim !== null) places.push(['claimed', claim.expires_at, serial]);
    return places;
  },
  isWide: (index) => index.startsWith('message '),
};

/**
 * The open messages of one queue, in order. Its place in the indexes says when its first message is due. While a message
 * of the queue is claimed, the queue is in no index.
 */
interface Queue {
  messages: readonly (readonly [id: string, serial: number])[];
  /** The id of the claimed message. */
  claimed: string | null;
  /** What the first message waits for. */
  head: Head | null;
}

interface Head {
  kind: AttemptKind;
  platform: string;
  interrupted: number;
  due_at: number;
  wait_ms: number;
  serial: number;
}

const QUEUE: Kind<Queue> = {
  name: 'inbox_queue',
  expires: () => null,
  indexes: ({ head, claimed }) => {
    if (head === null || claimed !== null) return [];
    const { kind, platform, interrupted, due_at, serial } = head;
    return interrupted > 0
      ? [[`interrupted ${kind} ${platform}`, interrupted, due_at]]
      : [[`due ${kind} ${platform}`, due_at, serial]];
  },
};

/** What the first message of an unclaimed queue waits for, and its id. */
export type WaitingHead = Head & { id: string };

/** The first messages of unclaimed queues that wait for this kind of attempt, the longest due first. */
export function heads(
  tx: Tx,
  which: 'fresh' | 'interrupted',
  kind: AttemptKind,
  platform: string,
  limit: number,
): WaitingHead[] {
  const index = `${which === 'fresh' ? 'due' : 'interrupted'} ${kind} ${platform}`;
  return tx.first(QUEUE, index, limit).map(({ doc }) => {
    const [[id] = []] = doc.messages;
    if (id === undefined || doc.head === null) throw new Error('a queue without messages is in an index');
    return { id, ...doc.head };
  });
}

/** Stores a message, and keeps its queue in step. */
export function putMessage(tx: Tx, stored: StoredMessage): void {
  tx.put(MESSAGE, stored.message.id, stored);
  const { id, queue: name, ended_at } = stored.message;
  const queue = tx.get(QUEUE, name) ?? { messages: [], claimed: null, head: null };
  const others = queue.messages.filter(([other]) => other !== id);
  const messages =
    ended_at === null
      ? [...others, [id, stored.serial] as const].sort(([, one], [, other]) => one - other)
      : others;
  const claimed = stored.claim !== null ? id : queue.claimed === id ? null : queue.claimed;
  putQueue(tx, name, messages, claimed);
}

/** Deletes a message in any state. */
export function dropMessage(tx: Tx, { message: { id, queue: name } }: StoredMessage): void {
  tx.delete(MESSAGE, id);
  const queue = tx.get(QUEUE, name);
  if (queue === null) return;
  const messages = queue.messages.filter(([other]) => other !== id);
  putQueue(tx, name, messages, queue.claimed === id ? null : queue.claimed);
}

function putQueue(tx: Tx, name: string, messages: Queue['messages'], claimed: string | null): void {
  const [first] = messages;
  if (first === undefined) {
    tx.delete(QUEUE, name);
    return;
  }
  const stored = tx.get(MESSAGE, first[0]);
  tx.put(QUEUE, name, { messages, claimed, head: stored && headOf(stored) });
}

function headOf({ message, serial, wait_ms }: StoredMessage): Head {
  const { platform, interrupted, next_attempt_at } = message;
  return { kind: kindOf(message), platform, interrupted, due_at: next_attempt_at, wait_ms, serial };
}

function kindOf({ state }: InboxMessage): AttemptKind {
  return state === 'replied' ? 'send' : 'run';
}
