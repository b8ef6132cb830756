import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { GuardedMessage, GuardLimits } from '../../../src/daemon/guard/verdict.ts';
import { guardUser } from '../../../src/daemon/message/keys.ts';
import { SEEN } from '../../../src/daemon/store/inbox/seen.ts';
import { storedDocuments } from '../../support/stored-documents.ts';
import { openStoreAt } from '../store.ts';

export interface GuardOrder {
  contender: 'bare' | 'ours';
  directory: string;
  warm_up_ms: number;
  measure_ms: number;
}

export interface GuardResult {
  /** Checks per second, without the warm-up. */
  rate: number;
  /** Number of allowed messages, warm-up included. */
  passed: number;
  /** Number of allowed messages that are in the store afterwards. */
  kept: number;
}

/** Number of messages that are checked at once, as if each came from its own connection. */
const AT_ONCE = 64;
/**
 * Number of people, who write in turn. The stride is the step from one person to the next. It is a large prime, so that
 * everybody is reached, and consecutive messages are not neighbors on disk.
 */
const PEOPLE = 20_000;
const STRIDE = 7919;
const LIMITS: GuardLimits = {
  max_messages: 1000,
  window_ms: 10_000,
  cooldown_ms: 30_000,
  max_turns: 1_000_000,
  repeat_threshold: 1000,
  repeat_window_ms: 60_000,
  session_ttl_ms: 86_400_000,
};

interface Contender {
  /** Resolves to whether the message is allowed. */
  check(message: GuardedMessage): boolean | Promise<boolean>;
  /** Closes the store, and returns how many messages it has. */
  close(): Promise<number>;
}

/** Answers an order from the parent process. */
process.once('message', async ({ contender, directory, warm_up_ms, measure_ms }: GuardOrder) => {
  const guard = contender === 'bare' ? bareGuard(directory) : ourGuard(directory);
  const warm = performance.now() + warm_up_ms;
  const end = warm + measure_ms;
  let [count, measured, passed] = [0, 0, 0];
  const keepBusy = async () => {
    for (;;) {
      if (await guard.check(messageOf(count++))) passed++;
      const now = performance.now();
      if (now >= end) return;
      if (now >= warm) measured++;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, keepBusy));
  const kept = await guard.close();
  const result: GuardResult = { rate: measured / (measure_ms / 1000), passed, kept };
  process.send?.(result);
  process.disconnect();
});

function messageOf(count: number): GuardedMessage {
  const person = (count * STRIDE) % PEOPLE;
  return {
    user: guardUser({ platform: 'telegraph', user_id: `U${person}`, person: null, address: null }),
    session_id: `telegraph:D${person}`,
    text: `a hash of 43 characters, of text ${String(count).padStart(10, '0')}`,
    message_id: `D${person}:${count}`,
    sent_at: Date.now(),
  };
}

function ourGuard(directory: string): Contender {
  const store = openStoreAt(directory);
  return {
    check: async (message) => (await store.guard.check(message, LIMITS)).allowed,
    async close() {
      await store.close();
      const seen = await storedDocuments(join(directory, 'agentd.db'), SEEN);
      return seen.filter(({ doc }) => doc.verdict !== null).length;
    },
  };
}

/**
 * The bare limit: four sliding windows with one row per hit. Each check is one transaction, which is not synced to
 * disk.
 */
function bareGuard(directory: string): Contender {
  const db = new Database(join(directory, 'bare.db'));
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = NORMAL');
  db.exec('CREATE TABLE hits (key TEXT, at INTEGER, n INTEGER, PRIMARY KEY (key, at, n)) WITHOUT ROWID');
  const forget = db.prepare<[string, number]>('DELETE FROM hits WHERE key = ? AND at <= ?');
  const count = db.prepare<[string], number>('SELECT count(*) FROM hits WHERE key = ?').pluck();
  const add = db.prepare<[string, number, number]>('INSERT INTO hits VALUES (?, ?, ?)');
  let n = 0;
  const check = db.transaction((windows: readonly [key: string, max: number, window_ms: number][]) => {
    const now = Date.now();
    for (const [key, max, window_ms] of windows) {
      forget.run(key, now - window_ms);
      if ((count.get(key) ?? 0) >= max) return false;
    }
    for (const [key] of windows) add.run(key, now, n++);
    return true;
  });
  return {
    check: ({ user, session_id, text, message_id }) =>
      check.immediate([
        [`message:${message_id}`, 1, 7 * 86_400_000],
        [`burst:${user.key}`, LIMITS.max_messages, LIMITS.window_ms],
        [`text:${user.key}:${text}`, LIMITS.repeat_threshold, LIMITS.repeat_window_ms],
        [`session:${session_id}`, LIMITS.max_turns, LIMITS.session_ttl_ms],
      ]),
    async close() {
      const kept =
        db.prepare<[], number>("SELECT count(*) FROM hits WHERE key LIKE 'message:%'").pluck().get() ?? 0;
      db.close();
      return kept;
    },
  };
}
