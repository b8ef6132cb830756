import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { guardUser } from '../../../src/daemon/guard/user.ts';
import type { GuardedMessage, GuardLimits } from '../../../src/daemon/guard/verdict.ts';
import { AnonymousBytes } from '../../../src/daemon/store/sqlite/anonymous-bytes.ts';
import { ErasedIds } from '../../../src/daemon/store/sqlite/erased-ids.ts';
import { GUARD_USER_PACKING, SqliteGuard } from '../../../src/daemon/store/sqlite/guard.ts';
import { GuardTurns } from '../../../src/daemon/store/sqlite/guard-turns.ts';
import { KnownMessages } from '../../../src/daemon/store/sqlite/known-messages.ts';
import { prepareLayout } from '../../../src/daemon/store/sqlite/layout.ts';
import { LIMIT_PACKING, SqliteLimits } from '../../../src/daemon/store/sqlite/limits.ts';
import { PendingActions } from '../../../src/daemon/store/sqlite/pending-actions.ts';
import { SqliteSessions } from '../../../src/daemon/store/sqlite/sessions.ts';
import { StateLog } from '../../../src/daemon/store/sqlite/state-log.ts';
import { GroupCommit, type Resident } from '../../../src/daemon/store/sqlite/writer.ts';
import { ada, aSession } from '../../contract/fixtures.ts';
import { type SeededRandom, seededRandom } from '../../support/random.ts';
import { stateDirectory } from './state-directory.ts';

// After every command, the in-memory state of the guard and of the limits equals the state that a new process would
// load. This is true after any commands of any process, and even if the clock was set forward or back.

const RUNS = Number(process.env.RESIDENT_RUNS ?? 50);
const COMMANDS = 100;

/** This value is so small that the oldest rows are rewritten within a run. */
const SURPLUS = 3;

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DAY = 24 * HOUR;

/** Collects the parts of the in-memory state, so that the test can compare and reload them. */
class WatchedCommit extends GroupCommit {
  readonly logs: StateLog<unknown, unknown>[] = [];
  readonly #residents: Resident[] = [];

  override keep(resident: Resident): void {
    if (resident instanceof StateLog) this.logs.push(resident);
    this.#residents.push(resident);
    super.keep(resident);
  }

  reload(): void {
    for (const resident of this.#residents) resident.load?.();
  }
}

interface Process {
  commit: WatchedCommit;
  turns: GuardTurns;
  sessions: SqliteSessions;
  guard: SqliteGuard;
  limits: SqliteLimits;
}

function processOn(db: Database.Database, clock: { now(): number }): Process {
  const commit = new WatchedCommit(db);
  const known = new KnownMessages(db);
  commit.keep(known);
  const turns = new GuardTurns(db, commit, 1000);
  const guard = new SqliteGuard(db, commit, clock, known, turns, SURPLUS);
  const sessions = new SqliteSessions(db, commit, clock, {
    ...{ counts: turns, pending: new PendingActions(db, clock), erased: new ErasedIds(db, clock) },
    anonymous: new AnonymousBytes(Number.POSITIVE_INFINITY),
  });
  return { commit, guard, turns, sessions, limits: new SqliteLimits(db, commit, clock, SURPLUS) };
}

/** The whole state, including expired entries, because the clock may be set back. */
function contentOf({ commit: { logs }, turns }: Process): unknown[] {
  const counts = ['s1', 's2'].map((session) => turns.find(session, Number.NEGATIVE_INFINITY).row);
  const packings = [GUARD_USER_PACKING.pack, LIMIT_PACKING.pack];
  const states = logs.map((log, place) =>
    [...log.live(Number.NEGATIVE_INFINITY)]
      .map(([key, state, expires_at]) => [key, expires_at, packings[place]?.(state as never)])
      .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
  );
  return [...states, counts];
}

const LIMITS: readonly GuardLimits[] = [
  {
    max_messages: 3,
    window_ms: 10 * SECOND,
    cooldown_ms: 30 * SECOND,
    max_turns: 4,
    repeat_threshold: 2,
    repeat_window_ms: 60 * SECOND,
    session_ttl_ms: HOUR,
  },
  {
    max_messages: 5,
    window_ms: 60 * SECOND,
    cooldown_ms: SECOND,
    max_turns: 200,
    repeat_threshold: 3,
    repeat_window_ms: 5 * SECOND,
    session_ttl_ms: 10 * SECOND,
  },
];

const LONGEST_COOLDOWN_MS = 30 * SECOND;

function aMessage(random: SeededRandom, now: number): GuardedMessage {
  const person = random.chance(0.3) ? ada : null;
  const address = random.chance(0.3) ? `192.0.2.${random.below(2)}` : null;
  const user_id = random.pick(['u1', 'u2']);
  return {
    user: guardUser({ platform: 'chat', user_id, person, address }),
    session_id: random.pick(['s1', 's2']),
    text: random.pick(['a', 'b', 'c', 'd']),
    message_id: random.chance(0.2) ? random.pick(['m1', 'm2', 'm3', 'm4', 'm5']) : null,
    sent_at: random.chance(0.4) ? now + 5000 - random.below(70 * SECOND) : null,
  };
}

/** Runs a random command. Checks that no wait exceeds its maximum, measured with the current clock. */
async function step(
  random: SeededRandom,
  { guard, limits, sessions, commit }: Process,
  time: { now: number },
) {
  const check = async () => {
    const rules = random.pick(LIMITS);
    const message = aMessage(random, time.now);
    const verdict = await guard.check(message, rules);
    if (verdict.repeated || verdict.allowed) return;
    if (verdict.reason === 'turn_limit')
      expect(verdict.ends_at - time.now).toBeLessThanOrEqual(rules.session_ttl_ms);
    else if (message.sent_at === null)
      expect(verdict.retry_after_ms).toBeLessThanOrEqual(LONGEST_COOLDOWN_MS);
  };
  const hit = async () => {
    const limit = { max: random.pick([1, 2, 5]), window_ms: random.pick([SECOND, 10 * SECOND, 60 * SECOND]) };
    const state = await limits.hit(random.pick(['k1', 'k2', 'k3']), limit);
    expect(state.retry_after_ms).toBeLessThanOrEqual(limit.window_ms);
    expect(state.reset_ms).toBeLessThanOrEqual(limit.window_ms);
  };
  const fail = async () => {
    const undone = commit.write(() => {
      guard.decide(aMessage(random, time.now), random.pick(LIMITS));
      throw new Error('undone');
    });
    await expect(undone).rejects.toThrow('undone');
  };
  const begin = async () => {
    if (await sessions.find('s1')) return;
    const claim = await sessions.claim('s1');
    const expires_at = time.now + random.pick([SECOND, HOUR]);
    if (claim) await sessions.save(claim, aSession(time.now, { session_id: 's1', expires_at }), 'new');
    if (claim) await sessions.release(claim);
  };
  const sweep = () =>
    commit.write(() => {
      guard.deleteExpired(random.pick([1, 1000]));
      limits.deleteExpired(random.pick([1, 1000]));
      sessions.deleteExpired(random.pick([1, 1000]));
    });
  const choice = random.below(100);
  if (choice < 35) await check();
  else if (choice < 60) await hit();
  else if (choice < 68) await Promise.all([check(), check(), hit(), random.chance(0.3) ? fail() : hit()]);
  else if (choice < 72) await fail();
  else if (choice < 76) await guard.resetUser('chat', random.pick(['u1', 'u2', 'ada']));
  else if (choice < 77) await guard.resetAll();
  else if (choice < 79) await guard.resetSession('s1');
  else if (choice < 80) await guard.giveBackTurn('s1');
  else if (choice < 82) await begin();
  else if (choice < 83) await sessions.end('s1');
  else if (choice < 86) await sweep();
  else {
    const steps = [1, 100, SECOND, 9 * SECOND, 30 * SECOND, 61 * SECOND, HOUR, DAY];
    time.now += random.pick(steps) * (random.chance(0.35) ? -1 : 1);
  }
}

it('after every command, the state in memory equals the state that a new process would load', {
  timeout: 60_000 + RUNS * 1000,
}, async () => {
  const path = join(stateDirectory(), 'x.db');
  const time = { now: 0 };
  const clock = { now: () => time.now };
  const connect = () => {
    const db = new Database(path);
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = OFF');
    return db;
  };
  const [first, second, reader] = [connect(), connect(), connect()];
  prepareLayout(reader);
  const random = seededRandom(7);
  const fresh = processOn(reader, clock);
  const both = [processOn(first, clock), processOn(second, clock)];
  for (let run = 0; run < RUNS; run++) {
    reader.exec(
      `DELETE FROM guard_log; DELETE FROM limit_log; DELETE FROM guard_turns;
       DELETE FROM known_messages; DELETE FROM sessions`,
    );
    time.now = Date.UTC(2030, 0, 1);
    for (let command = 0; command < COMMANDS; command++) {
      const place = random.below(2);
      if (random.chance(0.02)) both[place] = processOn(place === 0 ? first : second, clock);
      const acting = both[place] as Process;
      await step(random, acting, time);
      await acting.commit.flush();
      const held = await acting.commit.read(() => contentOf(acting));
      const loaded = await fresh.commit.read(() => {
        fresh.commit.reload();
        return contentOf(fresh);
      });
      expect(held, `run ${run}, command ${command}`).toEqual(loaded);
    }
  }
  for (const db of [first, second, reader]) db.close();
});
