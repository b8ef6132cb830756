import type Database from 'better-sqlite3';
import type { Clock } from '../../clock.ts';
import { type GuardState, passLayers, type SessionTurns } from '../../guard/layers.ts';
import type { Circuit, GuardedMessage, GuardLimits, GuardUser, GuardVerdict } from '../../guard/verdict.ts';
import type { GuardList, GuardStore } from '../store.ts';
import type { SlidingWindows, Window } from './windows.ts';
import { type GroupCommit, read } from './writer.ts';

/** How long the verdict of a platform's message is known (decisions §6). */
const VERDICT_MS = 7 * 24 * 60 * 60 * 1000;
/** Circuits, and sessions, that one list holds at most. */
const LISTED_MAX = 1000;

interface UserRow extends Omit<GuardUser, 'key'> {
  circuit: string | null;
}

/** The loop guard's state, one transaction a message. */
export class SqliteGuard implements GuardStore {
  readonly #windows: SlidingWindows;
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #circuit;
  readonly #meet;
  readonly #keepCircuit;
  readonly #turns;
  readonly #keepTurns;
  readonly #giveBack;
  readonly #verdict;
  readonly #keepVerdict;
  readonly #listCircuits;
  readonly #listSessions;
  readonly #usersNamed;
  readonly #deleteUser;
  readonly #deleteTurns;
  readonly #deleteUsers;
  readonly #deleteAllTurns;
  readonly #sweeps;

  constructor(db: Database.Database, windows: SlidingWindows, commit: GroupCommit, clock: Clock) {
    this.#windows = windows;
    this.#commit = commit;
    this.#clock = clock;
    this.#circuit = db
      .prepare<[string, number], string | null>(
        'SELECT circuit FROM guard_users WHERE key = ? AND expires_at > ?',
      )
      .pluck();
    this.#meet = db.prepare<GuardUser & { expires_at: number }>(
      `INSERT INTO guard_users (key, platform, user_id, person, address, expires_at)
       VALUES (@key, @platform, @user_id, @person, @address, @expires_at)
       ON CONFLICT DO UPDATE SET user_id = @user_id, expires_at = max(expires_at, @expires_at)`,
    );
    this.#keepCircuit = db.prepare<[string, string]>('UPDATE guard_users SET circuit = ? WHERE key = ?');
    this.#turns = db.prepare<{ session_id: string; now: number }, SessionTurns>(
      'SELECT turns, blocked, max, ends_at FROM guard_turns WHERE session_id = @session_id AND ends_at > @now',
    );
    this.#keepTurns = db.prepare<SessionTurns & { session_id: string; now: number }>(
      `INSERT OR REPLACE INTO guard_turns (session_id, turns, blocked, max, ends_at)
       VALUES (@session_id, @turns, @blocked, @max, coalesce(
         (SELECT expires_at FROM sessions WHERE session_id = @session_id AND expires_at > @now), @ends_at))`,
    );
    this.#giveBack = db.prepare<[string]>(
      'UPDATE guard_turns SET turns = turns - 1 WHERE session_id = ? AND turns > 0',
    );
    this.#verdict = db
      .prepare<[string, string, number], string>(
        'SELECT verdict FROM guard_verdicts WHERE platform = ? AND message_id = ? AND expires_at > ?',
      )
      .pluck();
    this.#keepVerdict = db.prepare<[string, string, string, number]>(
      'INSERT OR REPLACE INTO guard_verdicts (platform, message_id, verdict, expires_at) VALUES (?, ?, ?, ?)',
    );
    this.#listCircuits = db.prepare<[number], UserRow>(
      `SELECT platform, user_id, person, address, circuit FROM guard_users
       WHERE circuit ->> 'open_until' > ? ORDER BY circuit ->> 'opened_at' DESC LIMIT ${LISTED_MAX}`,
    );
    this.#listSessions = db.prepare<[number], SessionTurns & { session_id: string }>(
      `SELECT session_id, turns, blocked, max, ends_at FROM guard_turns
       WHERE blocked > 0 AND ends_at > ? ORDER BY ends_at DESC LIMIT ${LISTED_MAX}`,
    );
    this.#usersNamed = db
      .prepare<{ platform: string; user: string }, string>(
        `SELECT key FROM guard_users
         WHERE platform = @platform AND (user_id = @user OR person ->> 2 = @user)`,
      )
      .pluck();
    this.#deleteUser = db.prepare<[string]>('DELETE FROM guard_users WHERE key = ?');
    this.#deleteTurns = db.prepare<[string, number]>(
      'DELETE FROM guard_turns WHERE session_id = ? AND ends_at > ?',
    );
    this.#deleteUsers = db.prepare('DELETE FROM guard_users');
    this.#deleteAllTurns = db.prepare('DELETE FROM guard_turns');
    this.#sweeps = [
      db.prepare<[number, number]>(
        'DELETE FROM guard_users WHERE key IN (SELECT key FROM guard_users WHERE expires_at <= ? LIMIT ?)',
      ),
      db.prepare<[number, number]>(
        `DELETE FROM guard_turns WHERE session_id IN
           (SELECT session_id FROM guard_turns WHERE ends_at <= ? LIMIT ?)`,
      ),
      db.prepare<[number, number]>(
        `DELETE FROM guard_verdicts WHERE (platform, message_id) IN
           (SELECT platform, message_id FROM guard_verdicts WHERE expires_at <= ? LIMIT ?)`,
      ),
    ];
  }

  check(message: GuardedMessage, limits: GuardLimits): Promise<GuardVerdict> {
    return this.#commit.write(() => this.decide(message, limits));
  }

  /** Within a commit: what `check` does, for a message that is kept in the same one. */
  decide(message: GuardedMessage, limits: GuardLimits): GuardVerdict {
    const { user, message_id } = message;
    const now = this.#clock.now();
    if (message_id !== null) {
      const known = this.#verdict.get(user.platform, message_id, now);
      if (known !== undefined) return { ...(JSON.parse(known) as GuardVerdict), repeated: true };
    }
    const kept_ms = Math.max(limits.window_ms, limits.repeat_window_ms) + limits.cooldown_ms;
    this.#meet.run({ ...user, expires_at: now + kept_ms });
    const sent_at = message.sent_at === null ? undefined : Math.min(message.sent_at, now);
    const state = this.#stateOf(message, limits, now, sent_at);
    const verdict = { ...passLayers(state, sent_at ?? now, limits), repeated: false };
    if (message_id !== null) {
      this.#keepVerdict.run(user.platform, message_id, JSON.stringify(verdict), now + VERDICT_MS);
    }
    return verdict;
  }

  giveBackTurn(session_id: string): Promise<void> {
    return this.#commit.write(() => {
      this.#giveBack.run(session_id);
    });
  }

  list(): Promise<GuardList> {
    return read(() => {
      const now = this.#clock.now();
      return {
        circuits: this.#listCircuits
          .all(now)
          .map(({ circuit, ...user }) => ({ ...user, ...(JSON.parse(circuit ?? '') as Circuit) })),
        sessions: this.#listSessions.all(now),
      };
    });
  }

  resetUser(platform: string, user: string): Promise<boolean> {
    return this.#commit.write(() => {
      const keys = this.#usersNamed.all({ platform, user });
      for (const key of keys) {
        this.#deleteUser.run(key);
        this.#windows.forgetBelow(windowsOf(key));
      }
      return keys.length > 0;
    });
  }

  resetSession(session_id: string): Promise<boolean> {
    return this.#commit.write(() => this.#deleteTurns.run(session_id, this.#clock.now()).changes > 0);
  }

  resetAll(): Promise<void> {
    return this.#commit.write(() => {
      this.#deleteUsers.run();
      this.#deleteAllTurns.run();
      this.#windows.forgetBelow(WINDOWS);
    });
  }

  /** Within a commit: deletes at most `bite` rows whose time has passed. @returns how many. */
  deleteExpired(bite: number): number {
    const now = this.#clock.now();
    return this.#sweeps.reduce((sum, sweep) => sum + sweep.run(now, bite - sum).changes, 0);
  }

  #stateOf(
    { user: { key }, session_id, text }: GuardedMessage,
    limits: GuardLimits,
    now: number,
    sent_at: number | undefined,
  ): GuardState {
    const windows = windowsOf(key);
    const hit = (window_key: string, window: Window) =>
      sent_at === undefined
        ? this.#windows.hit(window_key, window, now)
        : this.#windows.hitSent(window_key, window, now, sent_at);
    return {
      circuit: () => JSON.parse(this.#circuit.get(key, now) ?? 'null') as Circuit | null,
      keepCircuit: (circuit, opened) => {
        this.#keepCircuit.run(JSON.stringify(circuit), key);
        if (opened) this.#windows.forgetBelow(windows);
      },
      hitBurst: (window) => hit(`${windows}burst`, window),
      hitEqualText: (window) => hit(`${windows}text:${text}`, window),
      turns: () =>
        this.#turns.get({ session_id, now }) ?? {
          turns: 0,
          blocked: 0,
          max: limits.max_turns,
          ends_at: now + limits.session_ttl_ms,
        },
      keepTurns: (turns) => void this.#keepTurns.run({ ...turns, session_id, now }),
    };
  }
}

/** All of the guard's windows are below this key; other limits are not. */
const WINDOWS = 'guard:';

function windowsOf(key: string): string {
  return `${WINDOWS}${key}:`;
}
