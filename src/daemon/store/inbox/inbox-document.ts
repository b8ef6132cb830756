import type { ClaimState } from '../claims/claim-state.ts';
import type { IndexEntry, Kind, Tx } from '../kernels/kernel.ts';
import type { AttemptKind, InboxMessage, NewInboxMessage } from './inbox.ts';

/** How many open and how many failed messages there may be. */
export interface InboxBounds {
  inboxMax: number;
  failedMax: number;
}

/** A message of the inbox, its place in the order of storing, and the claim of the attempt that is under way. */
export interface StoredMessage {
  message: InboxMessage;
  serial: number;
  /** How long the next attempt was postponed, ms. */
  wait_ms: number;
  claim: ClaimState | null;
  /** `Queue.closed` when it was stored: messages of one turn have the same. */
  after?: number;
  /** The keys of the links of the user who deleted the message on the platform before it was done. */
  deleted_by?: readonly string[];
  /** When the record is deleted, ms since the epoch; null before the message is done or has failed. */
  expires_at: number | null;
}

export const MESSAGE: Kind<StoredMessage> = {
  name: 'inbox_message',
  expires: ({ expires_at }) => expires_at,
  indexes: ({ message, serial, claim }) => {
    const { state, platform, message_id, user_id, ended_at, text_stored_at, turn_id, card, queue } = message;
    const places: IndexEntry[] = [];
    if (message_id !== null) places.push([`message ${message_id}`, serial]);
    if (state === 'failed') places.push(['failed', ended_at ?? 0, serial]);
    if (ended_at === null) places.push(['open', serial]);
    if (isQueued(message)) places.push([queueIndex(queue), serial]);
    if (isCollecting(message)) places.push([collectingIndex(platform, user_id), serial]);
    if (state === 'replied' && claim === null && turn_id === undefined)
      places.push([`replied ${platform}`, text_stored_at ?? 0, serial]);
    if (claim !== null) places.push(['claimed', claim.expires_at, serial]);
    if (card !== undefined)
      places.push([cardIndex(card.question_id), serial], [DUE_CARDS, card.closes_at, serial]);
    return places;
  },
  isWide: (index) => index.startsWith('message '),
};

/** The index of the messages whose replies show a question with buttons. */
export function cardIndex(question_id: string): string {
  return `card ${question_id}`;
}

/** The index of all of them, by the time at which the buttons are taken away. */
export const DUE_CARDS = 'cards';

/** The index of the messages of one user whose turn is not fixed yet. */
export function collectingIndex(platform: string, user_id: string | null): string {
  return `collecting ${JSON.stringify([platform, user_id])}`;
}

/** Whether the message waits for its first run, and for further messages of its turn. */
function isCollecting({ state, attempts, collects, collected, turn_id }: InboxMessage): boolean {
  const isFixed = collected !== undefined || turn_id !== undefined;
  return state === 'waiting' && attempts === 0 && collects !== undefined && !isFixed;
}

/** The index of the messages of one queue, in order. */
function queueIndex(queue: string): string {
  return `queue ${queue}`;
}

/** Whether the message is one of its queue: it is open, and no turn of another message has taken it up. */
function isQueued({ ended_at, turn_id }: InboxMessage): boolean {
  return ended_at === null && turn_id === undefined;
}

/**
 * A queue that has messages. Its place in the indexes says when its first message is due. While a message of the queue
 * is claimed, the queue is in no index. Each step that changes which messages the queue has puts it.
 */
interface Queue {
  /** The first message. */
  first: Place;
  /** The greatest serial of all messages since the queue began. */
  newest: number;
  /** The id of the claimed message. */
  claimed: string | null;
  /** What the first message waits for; null while a message of the queue is claimed. */
  head: Head | null;
  /** When the newest message that collects was received. */
  newest_at?: number;
  /** The collecting of the messages up to this serial has ended, because the sender did something else after them. */
  closed?: number;
}

type Place = readonly [id: string, serial: number];

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
  isUnshared: true,
  indexes: ({ head }) => {
    if (head === null) return [];
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
    if (doc.head === null) throw new Error('a queue with a claimed message is in an index');
    return { id: doc.first[0], ...doc.head };
  });
}

/** Stores a new message. */
export function storeMessage(tx: Tx, message: NewInboxMessage): void {
  const closed = tx.get(QUEUE, message.queue)?.closed;
  const after = closed === undefined ? {} : { after: closed };
  const stored = { message: received(message, tx.now), serial: tx.serial(), wait_ms: 0, ...after };
  putMessage(tx, { ...stored, claim: null, expires_at: null });
}

function received(message: NewInboxMessage, now: number): InboxMessage {
  return {
    ...message,
    state: message.reply === null ? 'waiting' : 'replied',
    received_at: now,
    attempts: 0,
    passing: 0,
    first_run_at: null,
    sends: 0,
    text_stored_at: message.reply === null ? null : now,
    parts_sent: 0,
    interrupted: 0,
    question: message.question ?? null,
    next_attempt_at: now,
    notice: null,
    failure: null,
    notice_failure: null,
    ended_at: null,
  };
}

/** Stores a message, and keeps its queue and the further messages of its turn in step. */
export function putMessage(tx: Tx, stored: StoredMessage): void {
  const { message, serial, claim } = stored;
  const { id, queue: name, collects, received_at } = message;
  tx.put(MESSAGE, id, stored);
  for (const further of message.collected ?? []) follow(tx, further, stored);
  const queue = tx.get(QUEUE, name);
  if (queue === null && !isQueued(message)) return;
  const place = [id, serial] as const;
  const known: Queue = queue ?? { first: place, newest: serial, claimed: null, head: null };
  putQueue(tx, name, {
    ...known,
    ...(collects === undefined ? {} : { newest_at: Math.max(received_at, known.newest_at ?? 0) }),
    newest: Math.max(serial, known.newest),
    first: isQueued(message) && serial < known.first[1] ? place : known.first,
    claimed: claim !== null ? id : known.claimed === id ? null : known.claimed,
  });
}

/** Deletes a message in any state, with the further messages of its turn. */
export function dropMessage(tx: Tx, { message: { id, queue: name, collected = [] } }: StoredMessage): void {
  for (const dropped of [id, ...collected]) tx.delete(MESSAGE, dropped);
  const queue = tx.get(QUEUE, name);
  if (queue !== null) putQueue(tx, name, { ...queue, claimed: queue.claimed === id ? null : queue.claimed });
}

/** The messages that follow this one in its queue, in order. @param limit maximum number of them */
export function following(
  tx: Tx,
  { message: { queue }, serial }: StoredMessage,
  limit: number,
): StoredMessage[] {
  if (tx.get(QUEUE, queue)?.newest === serial) return [];
  const messages = tx.first(MESSAGE, queueIndex(queue), limit + 1).map(({ doc }) => doc);
  return messages.filter((stored) => stored.serial > serial);
}

/** Ends the collecting of the messages in a queue: later messages are other turns, and the first is due now. */
export function endCollecting(tx: Tx, name: string): void {
  const queue = tx.get(QUEUE, name);
  if (queue?.newest_at !== undefined && queue.closed !== queue.newest)
    putQueue(tx, name, { ...queue, closed: queue.newest });
}

/** Gives a further message of a turn the state of the first. */
function follow(tx: Tx, id: string, { message: first, expires_at }: StoredMessage): void {
  const stored = tx.get(MESSAGE, id);
  if (stored === null) return;
  const { state, attempts, passing, first_run_at, interrupted, next_attempt_at } = first;
  const { failure, notice_failure, ended_at } = first;
  const shared = {
    state,
    attempts,
    passing,
    first_run_at,
    interrupted,
    next_attempt_at,
    failure,
    notice_failure,
    ended_at,
  };
  const { message } = stored;
  const isSame = Object.entries(shared).every(
    ([name, value]) => message[name as keyof typeof shared] === value,
  );
  if (!isSame) tx.put(MESSAGE, id, { ...stored, message: { ...message, ...shared }, expires_at });
}

/** Stores a queue after a change of its messages, with what it now waits for. */
function putQueue(tx: Tx, name: string, queue: Queue): void {
  const first = firstOf(tx, name, queue);
  if (first === null) {
    tx.delete(QUEUE, name);
    return;
  }
  const { message, serial } = first;
  const head = queue.claimed === null ? buildHead(first, queue) : null;
  tx.put(QUEUE, name, { ...queue, first: [message.id, serial], head });
}

/** The first message of a queue, which may no longer be the one that the queue names. */
function firstOf(tx: Tx, name: string, { first: [id, serial], newest }: Queue): StoredMessage | null {
  const named = tx.get(MESSAGE, id);
  if (named !== null && isQueued(named.message)) return named;
  return serial === newest ? null : (tx.first(MESSAGE, queueIndex(name), 1)[0]?.doc ?? null);
}

function buildHead({ message, serial, wait_ms }: StoredMessage, queue: Queue): Head {
  const { platform, interrupted, next_attempt_at } = message;
  const due = isCollecting(message)
    ? collectedAt(message, serial, queue)
    : { due_at: next_attempt_at, wait_ms };
  return { kind: toAttemptKind(message), platform, interrupted, ...due, serial };
}

/** When the collecting of the first message of a queue ends. */
function collectedAt(
  { received_at, collects }: InboxMessage,
  serial: number,
  { newest_at = received_at, closed = 0 }: Queue,
): Pick<Head, 'due_at' | 'wait_ms'> {
  const { wait_ms, max_ms } = collects ?? { wait_ms: 0, max_ms: 0 };
  if (serial <= closed) return { due_at: received_at, wait_ms: 0 };
  return { due_at: Math.min(newest_at + wait_ms, received_at + max_ms), wait_ms: Math.min(wait_ms, max_ms) };
}

function toAttemptKind({ state }: InboxMessage): AttemptKind {
  return state === 'replied' ? 'send' : 'run';
}
