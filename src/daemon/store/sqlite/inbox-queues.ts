import type Database from 'better-sqlite3';
import TinyQueue from 'tinyqueue';
import type { Clock } from '../../time/clock.ts';
import { dueAt } from '../due-at.ts';
import type { AttemptKind, InboxState } from '../inbox.ts';
import type { Resident } from './writer.ts';

/** A message that has not ended. */
interface Waiting {
  readonly seq: number;
  readonly platform: string;
  readonly sending: boolean;
  readonly due_at: number;
  /** The number of consecutive attempts during which the process died. */
  readonly interrupted: number;
  /**
   * The claim of the worker that processes the message: the id of its process, `/`, and a number. Null if there is
   * none.
   */
  readonly claim: string | null;
}

interface Queue {
  readonly messages: Waiting[];
  /** The message that is being processed; usually the first. */
  claimed: Waiting | null;
}

/** The first message of an unclaimed queue, as it was when it was added to `#due`. */
interface Head {
  readonly queue: string;
  readonly message: Waiting;
}

interface Wanted {
  kind: AttemptKind;
  interrupted: boolean;
}

interface Row {
  seq: number;
  queue: string;
  platform: string;
  state: InboxState;
  next_attempt_at: number;
  wait_ms: number;
  interrupted: number;
  claim: string | null;
}

/** A clock that goes back by at most this much counts as adjusted, not as set back, ms. */
const SET_BACK_MS = 1000;

const COLUMNS = 'seq, queue, platform, state, next_attempt_at, wait_ms, interrupted, claim';

/**
 * The queues of the inbox, in memory: the messages that have not ended, in their order, and for each queue the claim of
 * one message. The queues are loaded from the table and updated with each write to it. All methods except `isHeld`,
 * `nextDueAt` and `holdsInterrupted` must be called within a commit.
 */
export class InboxQueues implements Resident {
  /**
   * The beginning of each claim of this process, which distinguishes these claims from the claims of other processes.
   */
  readonly #owner: string;
  readonly #queues = new Map<string, Queue>();
  /**
   * Heads by platform, kind, and whether they were interrupted, in the order in which they are claimed. A head that has
   * changed stays in the list and is recognized later, because it is no longer the first message of its queue.
   */
  readonly #due = new Map<string, TinyQueue<Head>>();
  readonly #all;
  readonly #find;
  readonly #free;
  readonly #clock: Clock;
  /** The latest time that the clock has shown. If it shows an earlier time now, it was set back. */
  #latest = 0;
  #size = 0;
  #claims = 0;

  constructor(db: Database.Database, owner: string, clock: Clock) {
    this.#clock = clock;
    this.#owner = owner;
    this.#all = db.prepare<[], Row>(`SELECT ${COLUMNS} FROM inbox WHERE ended_at IS NULL ORDER BY seq`);
    this.#find = db.prepare<[number], Row>(`SELECT ${COLUMNS} FROM inbox WHERE seq = ? AND ended_at IS NULL`);
    this.#free = db.prepare<[number]>(
      `UPDATE inbox SET claim = NULL, state = iif(state = 'running', 'waiting', state), interrupted = interrupted + 1
       WHERE seq = ?`,
    );
  }

  /** The number of messages that have not ended. */
  get size(): number {
    return this.#size;
  }

  load(): void {
    this.#queues.clear();
    this.#due.clear();
    this.#size = 0;
    const now = this.#clock.now();
    this.#latest = now;
    for (const row of this.#all.iterate()) this.#append(row.queue, waitingOf(row, now));
  }

  /** Adds a new message to the end of its queue. */
  append(queue: string, added: { seq: number; platform: string; sending: boolean; due_at: number }): void {
    this.#append(queue, { ...added, interrupted: 0, claim: null });
  }

  /**
   * Claims queues that are due, in the order of `byTurn`. The caller must write the claims into the rows.
   * @returns the message for which each queue was claimed.
   */
  claim(wanted: Wanted, platforms: readonly string[], limit: number): { seq: number; owner: string }[] {
    const claimed: { seq: number; owner: string }[] = [];
    const now = this.#noticeClock();
    while (claimed.length < limit) {
      const head = this.#first(wanted, platforms);
      if (!head || head.message.due_at > now) break;
      this.#claims++;
      const owner = `${this.#owner}/${this.#claims}`;
      this.#put(head.queue, { ...head.message, claim: owner });
      claimed.push({ seq: head.message.seq, owner });
    }
    return claimed;
  }

  isHeld(queue: string, owner: string): boolean {
    return this.#queues.get(queue)?.claimed?.claim === owner;
  }

  /** Updates the claimed message of the queue after it was changed, ended or deleted. */
  followClaimed(queue: string): void {
    const seq = this.#queues.get(queue)?.claimed?.seq;
    if (seq !== undefined) this.follow(queue, seq);
  }

  /** Updates a message of the queue from its row after it was changed, restarted, ended or deleted. */
  follow(queue: string, seq: number): void {
    const row = this.#find.get(seq);
    if (row) this.#put(queue, waitingOf(row, this.#clock.now()));
    else this.#take(queue, seq);
    this.#noteHead(queue);
  }

  /** Ends the claims of all other processes. Their messages wait again. @returns the number of ended claims. */
  freeDead(): number {
    const dead = [...this.#queues].flatMap(([queue, { claimed }]) =>
      claimed && !claimed.claim?.startsWith(`${this.#owner}/`) ? [{ queue, seq: claimed.seq }] : [],
    );
    for (const { queue, seq } of dead) {
      this.#free.run(seq);
      this.follow(queue, seq);
    }
    return dead.length;
  }

  /** When the first unclaimed head is due; null if there is none. */
  nextDueAt(kind: AttemptKind, platforms: readonly string[]): number | null {
    this.#noticeClock();
    const heads = [false, true].map((interrupted) => this.#first({ kind, interrupted }, platforms));
    const times = heads.flatMap((head) => (head ? [head.message.due_at] : []));
    return times.length === 0 ? null : Math.min(...times);
  }

  /** Whether there is an unclaimed head that was interrupted. */
  holdsInterrupted(kind: AttemptKind, platforms: readonly string[]): boolean {
    return this.#first({ kind, interrupted: true }, platforms) !== undefined;
  }

  /**
   * Returns the current time. If the clock was set back, loads all messages again, because their due times depend on
   * the old time.
   */
  #noticeClock(): number {
    const now = this.#clock.now();
    if (now < this.#latest - SET_BACK_MS) this.load();
    else this.#latest = Math.max(this.#latest, now);
    return now;
  }

  #append(queue: string, message: Waiting): void {
    this.#put(queue, message);
    if (this.#queues.get(queue)?.messages.length === 1) this.#noteHead(queue);
  }

  /** Replaces the message, or inserts it in the order of `seq`. */
  #put(queue: string, message: Waiting): void {
    const found = this.#queues.get(queue) ?? { messages: [], claimed: null };
    this.#queues.set(queue, found);
    const { messages } = found;
    const behind = messages.findLastIndex(({ seq }) => seq <= message.seq);
    const known = messages[behind]?.seq === message.seq;
    if (known) messages[behind] = message;
    else messages.splice(behind + 1, 0, message);
    if (!known) this.#size++;
    if (message.claim !== null) found.claimed = message;
    else if (found.claimed?.seq === message.seq) found.claimed = null;
  }

  #take(queue: string, seq: number): void {
    const found = this.#queues.get(queue);
    const place = found?.messages.findIndex((message) => message.seq === seq) ?? -1;
    if (!found || place < 0) return;
    found.messages.splice(place, 1);
    this.#size--;
    if (found.claimed?.seq === seq) found.claimed = null;
    if (found.messages.length === 0) this.#queues.delete(queue);
  }

  #noteHead(queue: string): void {
    const found = this.#queues.get(queue);
    const message = found?.messages[0];
    if (!message || found?.claimed) return;
    const name = dueName(message.platform, {
      kind: message.sending ? 'send' : 'run',
      interrupted: message.interrupted > 0,
    });
    const due = this.#due.get(name) ?? new TinyQueue<Head>([], byTurn);
    this.#due.set(name, due);
    due.push({ queue, message });
  }

  #first(wanted: Wanted, platforms: readonly string[]): Head | undefined {
    const firsts = platforms.flatMap((platform) => {
      const due = this.#due.get(dueName(platform, wanted));
      while (due?.peek() && !this.#isHead(due.peek())) due.pop();
      return due?.peek() ?? [];
    });
    return firsts.sort(byTurn)[0];
  }

  #isHead(head: Head | undefined): boolean {
    const found = head && this.#queues.get(head.queue);
    return found !== undefined && found.claimed === null && found.messages[0] === head?.message;
  }
}

/** Sorts by the number of interruptions, then by the due time, then by age; the smallest values first. */
function byTurn({ message: a }: Head, { message: b }: Head): number {
  return a.interrupted - b.interrupted || a.due_at - b.due_at || a.seq - b.seq;
}

function dueName(platform: string, { kind, interrupted }: Wanted): string {
  return `${kind} ${interrupted ? 'interrupted' : 'fresh'} ${platform}`;
}

function waitingOf(row: Row, now: number): Waiting {
  const { seq, platform, state, next_attempt_at, wait_ms, interrupted, claim } = row;
  return {
    seq,
    platform,
    sending: state === 'replied',
    due_at: dueAt(next_attempt_at, wait_ms, now),
    interrupted,
    claim,
  };
}
