import type Database from 'better-sqlite3';
import type { Clock } from '../../clock.ts';
import { type GuardState, passLayers, type SessionTurns } from '../../guard/layers.ts';
import type { Circuit, GuardedMessage, GuardLimits, GuardUser, GuardVerdict } from '../../guard/verdict.ts';
import type { GuardList, GuardStore } from '../guard.ts';
import { type GuardUserState, GuardUserWindows } from './guard-user.ts';
import { type GroupCommit, read } from './writer.ts';

/** How long the verdict of a platform's message is known (decisions §6). */
const VERDICT_MS = 7 * 24 * 60 * 60 * 1000;
/** Circuits, and sessions, that one list holds at most. */
const LISTED_MAX = 1000;

interface UserRow extends Omit<GuardUser, 'key'> {
  circuit: string | null;
}

/** A count as its row holds it, and when its session ends; null: there is none that lives. */
type TurnsRow = SessionTurns & { session_ends_at: number | null };

interface KnownVerdict {
  platform: string;
  message_id: string;
  verdict: string;
  expires_at: number;
  now: number;
}

/** The loop guard's state: a row a user, a row a session, and the verdicts; one transaction a message. */
export class SqliteGuard implements GuardStore {
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #user;
  readonly #meet;
  readonly #keepUser;
  readonly #turns;
  readonly #beginTurns;
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

  constructor(db: Database.Database, commit: GroupCommit, clock: Clock) {
    this.#commit = commit;
    this.#clock = clock;
    this.#user = db.prepare<[string], GuardUserState & { expires_at: number }>(
      'SELECT circuit, windows, expires_at FROM guard_users WHERE key = ?',
    );
    this.#meet = db.prepare<GuardUser & GuardUserState & { expires_at: number }>(
      `INSERT INTO guard_users (key, platform, user_id, person, address, circuit, windows, expires_at, look_at)
       VALUES (@key, @platform, @user_id, @person, @address, @circuit, @windows, @expires_at, @expires_at)`,
    );
    this.#keepUser = db.prepare<[string, string | null, string, number, string]>(
      'UPDATE guard_users SET user_id = ?, circuit = ?, windows = ?, expires_at = ? WHERE key = ?',
    );
    const liveSession = (time: string) =>
      `SELECT expires_at FROM sessions WHERE session_id = guard_turns.session_id AND expires_at > ${time}`;
    this.#turns = db.prepare<{ session_id: string; now: number }, TurnsRow>(
      `SELECT turns, blocked, max, ends_at, (${liveSession('@now')}) AS session_ends_at
       FROM guard_turns WHERE session_id = @session_id`,
    );
    this.#beginTurns = db.prepare<SessionTurns & { session_id: string; now: number }>(
      `INSERT INTO guard_turns (session_id, turns, blocked, max, ends_at, look_at)
       VALUES (@session_id, @turns, @blocked, @max, coalesce(
         (SELECT expires_at FROM sessions WHERE session_id = @session_id AND expires_at > @now), @ends_at), @ends_at)`,
    );
    this.#keepTurns = db.prepare<SessionTurns & { session_id: string }>(
      'UPDATE guard_turns SET turns = @turns, blocked = @blocked, max = @max, ends_at = @ends_at WHERE session_id = @session_id',
    );
    this.#giveBack = db.prepare<[string]>(
      'UPDATE guard_turns SET turns = turns - 1 WHERE session_id = ? AND turns > 0',
    );
    this.#verdict = db
      .prepare<[string, string, number], string | null>(
        'SELECT verdict FROM known_messages WHERE platform = ? AND message_id = ? AND expires_at > ?',
      )
      .pluck();
    this.#keepVerdict = db.prepare<KnownVerdict>(
      `INSERT INTO known_messages (platform, message_id, verdict, expires_at)
       VALUES (@platform, @message_id, @verdict, @expires_at)
       ON CONFLICT DO UPDATE SET verdict = @verdict, id = iif(expires_at > @now, id, NULL), expires_at = @expires_at`,
    );
    this.#listCircuits = db.prepare<[number], UserRow>(
      `SELECT platform, user_id, person, address, circuit FROM guard_users
       WHERE circuit ->> 'open_until' > ? ORDER BY circuit ->> 'opened_at' DESC LIMIT ${LISTED_MAX}`,
    );
    this.#listSessions = db.prepare<{ now: number }, SessionTurns & { session_id: string }>(
      `SELECT session_id, turns, blocked, max, coalesce((${liveSession('@now')}), ends_at) AS ends_at
       FROM guard_turns WHERE blocked > 0 AND coalesce((${liveSession('@now')}), ends_at) > @now
       ORDER BY 5 DESC LIMIT ${LISTED_MAX}`,
    );
    this.#usersNamed = db
      .prepare<{ platform: string; user: string }, string>(
        `SELECT key FROM guard_users
         WHERE platform = @platform AND (user_id = @user OR person ->> 2 = @user)`,
      )
      .pluck();
    this.#deleteUser = db.prepare<[string]>('DELETE FROM guard_users WHERE key = ?');
    this.#deleteTurns = db.prepare<{ session_id: string; now: number }>(
      `DELETE FROM guard_turns
       WHERE session_id = @session_id AND coalesce((${liveSession('@now')}), ends_at) > @now`,
    );
    this.#deleteUsers = db.prepare('DELETE FROM guard_users');
    this.#deleteAllTurns = db.prepare('DELETE FROM guard_turns');
    this.#sweeps = [
      `DELETE FROM guard_users WHERE key IN
         (SELECT key FROM guard_users WHERE look_at <= @now AND expires_at <= @now LIMIT @bite)`,
      `UPDATE guard_users SET look_at = expires_at WHERE key IN
         (SELECT key FROM guard_users WHERE look_at <= @now AND expires_at > @now LIMIT @bite)`,
      // A count whose session goes on is looked at again when that ends.
      `UPDATE guard_turns SET ends_at = (${liveSession('@now')}), look_at = (${liveSession('@now')})
       WHERE session_id IN
         (SELECT session_id FROM guard_turns WHERE look_at <= @now AND EXISTS (${liveSession('@now')}) LIMIT @bite)`,
      `UPDATE guard_turns SET look_at = ends_at WHERE session_id IN
         (SELECT session_id FROM guard_turns WHERE look_at <= @now AND ends_at > @now LIMIT @bite)`,
      `DELETE FROM guard_turns WHERE session_id IN
         (SELECT session_id FROM guard_turns
          WHERE look_at <= @now AND ends_at <= @now AND NOT EXISTS (${liveSession('@now')}) LIMIT @bite)`,
    ].map((sql) => db.prepare<{ now: number; bite: number }>(sql));
  }

  check(message: GuardedMessage, limits: GuardLimits): Promise<GuardVerdict> {
    return this.#commit.write(() => this.decide(message, limits));
  }

  /** Within a commit: what `check` does, for a message that is kept in the same one. */
  decide(message: GuardedMessage, limits: GuardLimits, now: number = this.#clock.now()): GuardVerdict {
    const { user, message_id } = message;
    if (message_id !== null) {
      const known = this.#verdict.get(user.platform, message_id, now);
      if (known) return { ...(JSON.parse(known) as GuardVerdict), repeated: true };
    }
    const found = this.#user.get(user.key);
    const windows = new GuardUserWindows(found && found.expires_at > now ? found : null);
    const sent_at = message.sent_at === null ? undefined : Math.min(message.sent_at, now);
    const state = this.#stateOf(message, windows, limits, now, sent_at);
    const verdict = { ...passLayers(state, sent_at ?? now, limits), repeated: false };
    const kept = windows.pack(limits.repeat_window_ms, now);
    const expires_at = now + Math.max(limits.window_ms, limits.repeat_window_ms) + limits.cooldown_ms;
    if (!found) this.#meet.run({ ...user, ...kept, expires_at });
    else {
      const until = Math.max(found.expires_at, expires_at);
      this.#keepUser.run(user.user_id, kept.circuit, kept.windows, until, user.key);
    }
    if (message_id !== null) {
      const { platform } = user;
      const known = { platform, message_id, verdict: JSON.stringify(verdict), expires_at: now + VERDICT_MS };
      this.#keepVerdict.run({ ...known, now });
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
        sessions: this.#listSessions.all({ now }),
      };
    });
  }

  resetUser(platform: string, user: string): Promise<boolean> {
    return this.#commit.write(() => {
      const keys = this.#usersNamed.all({ platform, user });
      for (const key of keys) this.#deleteUser.run(key);
      return keys.length > 0;
    });
  }

  resetSession(session_id: string): Promise<boolean> {
    return this.#commit.write(
      () => this.#deleteTurns.run({ session_id, now: this.#clock.now() }).changes > 0,
    );
  }

  resetAll(): Promise<void> {
    return this.#commit.write(() => {
      this.#deleteUsers.run();
      this.#deleteAllTurns.run();
    });
  }

  /** Within a commit: sees to at most `bite` rows whose time was to have passed by now. @returns how many. */
  deleteExpired(bite: number): number {
    const now = this.#clock.now();
    return this.#sweeps.reduce((sum, sweep) => sum + sweep.run({ now, bite: bite - sum }).changes, 0);
  }

  #stateOf(
    { session_id, text }: GuardedMessage,
    windows: GuardUserWindows,
    limits: GuardLimits,
    now: number,
    sent_at: number | undefined,
  ): GuardState {
    const found = this.#turns.get({ session_id, now });
    const counted = found && (found.session_ends_at ?? found.ends_at) > now ? found : null;
    return {
      circuit: () => windows.circuit,
      keepCircuit: (circuit, opened) => {
        windows.circuit = circuit;
        if (opened) windows.empty();
      },
      hitBurst: (window) => windows.hitBurst(window, now, sent_at),
      hitEqualText: (window) => windows.hitEqualText(text, window, now, sent_at),
      turns: () => ({
        turns: counted?.turns ?? 0,
        blocked: counted?.blocked ?? 0,
        max: counted?.max ?? limits.max_turns,
        ends_at: counted?.session_ends_at ?? counted?.ends_at ?? now + limits.session_ttl_ms,
      }),
      keepTurns: (turns) => {
        if (found) this.#keepTurns.run({ ...turns, session_id });
        else this.#beginTurns.run({ ...turns, session_id, now });
      },
    };
  }
}
