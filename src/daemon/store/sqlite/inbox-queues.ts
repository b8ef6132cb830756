import type Database from 'better-sqlite3';

interface Head {
  seq: number;
  platform: string;
  state: string;
  next_attempt_at: number;
}

/**
 * The queues of the inbox: for each that is not empty, when its first message is due and who has claimed it.
 * All methods that write run within a commit.
 */
export class InboxQueues {
  /** Known from others' claims by it. */
  readonly #owner: string;
  readonly #append;
  readonly #due;
  readonly #claim;
  readonly #held;
  readonly #find;
  readonly #head;
  readonly #put;
  readonly #delete;
  readonly #dead;
  readonly #stopRunning;
  readonly #nextDueAt;
  #claims = 0;

  constructor(db: Database.Database, owner: string) {
    this.#owner = owner;
    this.#append = db.prepare<[string, string, 0 | 1, number, number]>(
      'INSERT OR IGNORE INTO inbox_queues (queue, platform, sending, due_at, first) VALUES (?, ?, ?, ?, ?)',
    );
    this.#due = db.prepare<[0 | 1, number, string, number], { queue: string; first: number }>(
      `SELECT queue, first FROM inbox_queues
       WHERE token IS NULL AND sending = ? AND due_at <= ? AND platform IN (SELECT value FROM json_each(?))
       ORDER BY due_at, first LIMIT ?`,
    );
    this.#claim = db.prepare<[string, string, string]>(
      'UPDATE inbox_queues SET owner = ?, token = ? WHERE queue = ?',
    );
    this.#held = db.prepare<[string, string]>('SELECT 1 FROM inbox_queues WHERE queue = ? AND token = ?');
    this.#find = db.prepare<[string], { first: number; token: string | null }>(
      'SELECT first, token FROM inbox_queues WHERE queue = ?',
    );
    this.#head = db.prepare<[string], Head>(
      `SELECT seq, platform, state, next_attempt_at FROM inbox
       WHERE queue = ? AND ended_at IS NULL ORDER BY seq LIMIT 1`,
    );
    this.#put = db.prepare<[string, string, 0 | 1, number, number]>(
      'INSERT OR REPLACE INTO inbox_queues (queue, platform, sending, due_at, first) VALUES (?, ?, ?, ?, ?)',
    );
    this.#delete = db.prepare<[string]>('DELETE FROM inbox_queues WHERE queue = ?');
    this.#dead = db
      .prepare<[string], string>('SELECT queue FROM inbox_queues WHERE token IS NOT NULL AND owner <> ?')
      .pluck();
    this.#stopRunning = db.prepare<[string]>(
      `UPDATE inbox SET state = 'waiting' WHERE queue = ? AND ended_at IS NULL AND state = 'running'`,
    );
    const firstDue = (sending: 0 | 1) =>
      `SELECT due_at FROM inbox_queues
       WHERE token IS NULL AND sending = ${sending} AND platform IN (SELECT value FROM json_each(@platforms))
       ORDER BY due_at, first LIMIT 1`;
    this.#nextDueAt = db
      .prepare<{ platforms: string }, number | null>(
        `SELECT min(due_at) FROM (SELECT * FROM (${firstDue(0)}) UNION ALL SELECT * FROM (${firstDue(1)}))`,
      )
      .pluck();
  }

  /** A message was added at the end of its queue. */
  append(queue: string, added: { platform: string; sending: boolean; now: number; seq: number }): void {
    this.#append.run(queue, added.platform, added.sending ? 1 : 0, added.now, added.seq);
  }

  /** Claims those that are due, longest due first; `first` is the message that each was claimed for. */
  claim(
    kind: 'run' | 'send',
    platforms: readonly string[],
    now: number,
    limit: number,
  ): { first: number; token: string }[] {
    const due = this.#due.all(kind === 'send' ? 1 : 0, now, JSON.stringify(platforms), limit);
    return due.map(({ queue, first }) => {
      this.#claims++;
      const token = `${this.#owner}/${this.#claims}`;
      this.#claim.run(this.#owner, token, queue);
      return { first, token };
    });
  }

  isHeld(queue: string, token: string): boolean {
    return this.#held.get(queue, token) !== undefined;
  }

  /** Sets a queue to its first message as it is now, claimed by nobody; an empty one is gone. */
  refresh(queue: string): void {
    const head = this.#head.get(queue);
    if (!head) this.#delete.run(queue);
    else
      this.#put.run(queue, head.platform, head.state === 'replied' ? 1 : 0, head.next_attempt_at, head.seq);
  }

  /** A claimed queue is left to the end of its claim. */
  refreshUnlessClaimed(queue: string): void {
    if ((this.#find.get(queue)?.token ?? null) === null) this.refresh(queue);
  }

  /** A message was deleted; whoever had claimed the queue for it has lost the claim. */
  remove(queue: string, seq: number): void {
    if (this.#find.get(queue)?.first === seq) this.refresh(queue);
  }

  /** Ends the claims of every other owner. @returns how many. */
  freeDead(): number {
    const dead = this.#dead.all(this.#owner);
    for (const queue of dead) {
      this.#stopRunning.run(queue);
      this.refresh(queue);
    }
    return dead.length;
  }

  nextDueAt(platforms: readonly string[]): number | null {
    return this.#nextDueAt.get({ platforms: JSON.stringify(platforms) }) ?? null;
  }
}
