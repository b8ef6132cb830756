import type Database from 'better-sqlite3';
import TinyQueue from 'tinyqueue';
import type { Clock } from '../../clock.ts';
import { dueAt } from '../due-at.ts';
import type { AttemptKind, InboxState } from '../inbox.ts';
import type { Resident } from './writer.ts';

/** A message that has not ended. */
interface Waiting {
  readonly seq: number;
  readonly platform: string;
  readonly sending: boolean;
  readonly due_at: number;
  /** Attempts in a row during which the process died. */
  readonly interrupted: number;
  /** Of who works on it: the owner, `/`, a number. */
  readonly claim: string | null;
}

interface Queue {
  readonly messages: Waiting[];
  /** The one that is worked on; mostly the first. */
  claimed: Waiting | null;
}

/** The first message of a queue that nobody works on, as it was then. */
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

/** A clock that goes back by less is being adjusted, ms. */
const SET_BACK_MS = 1000;

const COLUMNS = 'seq, queue, platform, state, next_attempt_at, wait_ms, interrupted, claim';

/**
 * The queues of the inbox, in memory: the messages that have not ended, in their order, and who works on one
 * of each. They are made of the table, and follow what is written to it. All methods but `isHeld`, `nextDueAt`
 * and `holdsInterrupted` run within a commit.
 */
export class InboxQueues implements Resident {
  /** Known from others' claims by it. */
  readonly #owner: string;
  readonly #queues = new Map<string, Queue>();
  /**
   * Heads by platform, kind and whether a process died on them, in the order in which they are claimed. A head
   * that has changed since is left in; it is recognized by no longer being the head.
   */
  readonly #due = new Map<string, TinyQueue<Head>>();
  readonly #all;
  readonly #find;
  readonly #free;
  readonly #clock: Clock;
  /** The latest time that was seen; a clock that shows an earlier one was set back. */
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

  /** Messages that have not ended. */
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

  /** A message was added at the end of its queue. */
  append(queue: string, added: { seq: number; platform: string; sending: boolean; due_at: number }): void {
    this.#append(queue, { ...added, interrupted: 0, claim: null });
  }

  /**
   * Claims those that are due, longest due first; the rows are the caller's to write.
   * @returns the message that each was claimed for.
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

  /** The message of the queue that is worked on was changed, ended or deleted. */
  followClaimed(queue: string): void {
    const seq = this.#queues.get(queue)?.claimed?.seq;
    if (seq !== undefined) this.follow(queue, seq);
  }

  /** A message of the queue was changed, begun anew, ended or deleted: it stands here as its row is now. */
  follow(queue: string, seq: number): void {
    const row = this.#find.get(seq);
    if (row) this.#put(queue, waitingOf(row, this.#clock.now()));
    else this.#take(queue, seq);
    this.#noteHead(queue);
  }

  /** Ends the claims of every other owner; their messages wait again. @returns how many. */
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

  /** Is there an unclaimed head that a process died on? */
  holdsInterrupted(kind: AttemptKind, platforms: readonly string[]): boolean {
    return this.#first({ kind, interrupted: true }, platforms) !== undefined;
  }

  /** Puts all messages in order anew if the clock was set back: what waits was to be due by the time before. */
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

  /** In the place of the message as it was, or where it belongs. */
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

/** The message that the fewest processes died on, then the longest due, then the oldest. */
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
