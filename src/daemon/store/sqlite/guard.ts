import type Database from 'better-sqlite3';
import type { Clock } from '../../clock.ts';
import { type GuardState, passLayers, type SessionTurns } from '../../guard/layers.ts';
import type { GuardedMessage, GuardLimits, GuardVerdict } from '../../guard/verdict.ts';
import { subOf } from '../../identity/identity.ts';
import type { GuardList, GuardStore } from '../guard.ts';
import {
  circuitAt,
  GUARD_USER_PACKING,
  type GuardUserHit,
  type GuardUserState,
  GuardUserWindows,
} from './guard-user.ts';
import type { KnownMessages } from './known-messages.ts';
import { LOG_SURPLUS, StateLog } from './state-log.ts';
import type { GroupCommit } from './writer.ts';

/** Circuits, and sessions, that one list holds at most. */
const LISTED_MAX = 1000;

/** A count as its row holds it, and when its session ends; null: there is none that lives. */
type TurnsRow = SessionTurns & { session_ends_at: number | null };

/** The loop guard's state: of the users in memory, of the sessions a row each; one transaction a message. */
export class SqliteGuard implements GuardStore {
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #known: KnownMessages;
  readonly #users: StateLog<GuardUserState, GuardUserHit>;
  readonly #turns;
  readonly #beginTurns;
  readonly #keepTurns;
  readonly #endSessionEarlier;
  readonly #endTurnsEarlier;
  readonly #giveBack;
  readonly #listSessions;
  readonly #deleteTurns;
  readonly #deleteAllTurns;
  readonly #sweeps;

  /** @param surplus of the log; `LOG_SURPLUS` except in tests. */
  constructor(
    db: Database.Database,
    commit: GroupCommit,
    clock: Clock,
    known: KnownMessages,
    surplus = LOG_SURPLUS,
  ) {
    this.#commit = commit;
    this.#clock = clock;
    this.#known = known;
    this.#users = new StateLog(db, 'guard_log', GUARD_USER_PACKING, clock, surplus);
    commit.keep(this.#users);
    const liveSession = (time: string) =>
      `SELECT expires_at FROM sessions
       WHERE (sessions.session_id = guard_turns.session_id OR former_id = guard_turns.session_id)
         AND expires_at > ${time}`;
    this.#turns = db.prepare<[number, string], TurnsRow>(
      `SELECT turns, blocked, max, ends_at, (${liveSession('?')}) AS session_ends_at
       FROM guard_turns WHERE session_id = ?`,
    );
    this.#beginTurns = db.prepare<SessionTurns & { session_id: string; now: number }>(
      `INSERT INTO guard_turns (session_id, turns, blocked, max, ends_at, look_at)
       VALUES (@session_id, @turns, @blocked, @max, coalesce(
         (SELECT expires_at FROM sessions
          WHERE (session_id = @session_id OR former_id = @session_id) AND expires_at > @now), @ends_at), @ends_at)`,
    );
    this.#keepTurns = db.prepare<SessionTurns & { session_id: string }>(
      'UPDATE guard_turns SET turns = @turns, blocked = @blocked, max = @max, ends_at = @ends_at WHERE session_id = @session_id',
    );
    this.#endSessionEarlier = db.prepare<{ session_id: string; latest: number }>(
      `UPDATE sessions SET expires_at = @latest, look_at = min(look_at, @latest)
       WHERE (session_id = @session_id OR former_id = @session_id) AND expires_at > @latest`,
    );
    this.#endTurnsEarlier = db.prepare<{ session_id: string; latest: number }>(
      `UPDATE guard_turns SET ends_at = min(ends_at, @latest), look_at = min(look_at, @latest)
       WHERE session_id = @session_id`,
    );
    this.#giveBack = db.prepare<[string]>(
      'UPDATE guard_turns SET turns = turns - 1 WHERE session_id = ? AND turns > 0',
    );
    this.#listSessions = db.prepare<{ now: number }, SessionTurns & { session_id: string }>(
      `SELECT coalesce((SELECT session_id FROM sessions WHERE former_id = guard_turns.session_id), session_id)
         AS session_id, turns, blocked, max, coalesce((${liveSession('@now')}), ends_at) AS ends_at
       FROM guard_turns WHERE blocked > 0 AND coalesce((${liveSession('@now')}), ends_at) > @now
       ORDER BY ends_at DESC LIMIT ${LISTED_MAX}`,
    );
    this.#deleteTurns = db.prepare<{ session_id: string; now: number }>(
      `DELETE FROM guard_turns
       WHERE session_id IN (@session_id, (SELECT former_id FROM sessions WHERE session_id = @session_id))
         AND coalesce((${liveSession('@now')}), ends_at) > @now`,
    );
    this.#deleteAllTurns = db.prepare('DELETE FROM guard_turns');
    this.#sweeps = [
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
      const { verdict } = this.#known.find(user.platform, message_id, now);
      if (verdict !== null) return { ...(JSON.parse(verdict) as GuardVerdict), repeated: true };
    }
    const sent_at = message.sent_at === null ? undefined : Math.min(message.sent_at, now);
    const windows = new GuardUserWindows(user, this.#users.get(user.key, now), now, sent_at);
    const state = this.#stateOf(message, windows, limits, now);
    const verdict = { ...passLayers(state, sent_at ?? now, limits), repeated: false };
    const expires_at = now + Math.max(limits.window_ms, limits.repeat_window_ms) + limits.cooldown_ms;
    if (windows.change === 'all') this.#users.put(user.key, windows.state, expires_at);
    else if (windows.change) this.#users.add(user.key, windows.change, expires_at);
    if (message_id !== null)
      this.#known.note(user.platform, message_id, { verdict: JSON.stringify(verdict) }, now);
    return verdict;
  }

  giveBackTurn(session_id: string): Promise<void> {
    return this.#commit.write(() => {
      this.#giveBack.run(session_id);
    });
  }

  list(): Promise<GuardList> {
    return this.#commit.read(() => {
      const now = this.#clock.now();
      const circuits = [...this.#users.live(now)]
        .flatMap(([, { user, circuit: opened }]) => {
          const circuit = circuitAt(opened, now);
          return circuit && circuit.open_until > now ? { ...user, ...circuit } : [];
        })
        .sort((a, b) => b.opened_at - a.opened_at)
        .slice(0, LISTED_MAX);
      return { circuits, sessions: this.#listSessions.all({ now }) };
    });
  }

  resetUser(platform: string, user: string): Promise<boolean> {
    return this.#commit.write(() => {
      const named = [...this.#users.live(this.#clock.now())].filter(
        ([, { user: met }]) =>
          met.platform === platform &&
          (met.user_id === user || (met.person !== null && subOf(met.person) === user)),
      );
      for (const [key] of named) this.#users.delete(key);
      return named.length > 0;
    });
  }

  resetSession(session_id: string): Promise<boolean> {
    return this.#commit.write(
      () => this.#deleteTurns.run({ session_id, now: this.#clock.now() }).changes > 0,
    );
  }

  resetAll(): Promise<void> {
    return this.#commit.write(() => {
      for (const [key] of this.#users.live(this.#clock.now())) this.#users.delete(key);
      this.#deleteAllTurns.run();
    });
  }

  /** Within a commit: sees to at most `bite` rows whose time was to have passed by now. @returns how many. */
  deleteExpired(bite: number): number {
    const now = this.#clock.now();
    return this.#sweeps.reduce(
      (sum, sweep) => sum + sweep.run({ now, bite: bite - sum }).changes,
      this.#users.deleteExpired(bite),
    );
  }

  /**
   * The count of a session. If it ends later than a session that is used now (the clock was set back, or
   * SESSION_TTL_SECONDS lowered), it ends with that one: who has used up the turns waits no longer.
   */
  #foundTurns(session_id: string, now: number, latest: number): TurnsRow | undefined {
    const found = this.#turns.get(now, session_id);
    if (!found || (found.session_ends_at ?? found.ends_at) <= latest) return found;
    this.#endSessionEarlier.run({ session_id, latest });
    this.#endTurnsEarlier.run({ session_id, latest });
    return this.#turns.get(now, session_id);
  }

  #stateOf(
    { session_id, text }: GuardedMessage,
    windows: GuardUserWindows,
    limits: GuardLimits,
    now: number,
  ): GuardState {
    const found = this.#foundTurns(session_id, now, now + limits.session_ttl_ms);
    const counted = found && (found.session_ends_at ?? found.ends_at) > now ? found : null;
    return {
      circuit: () => windows.circuit(),
      keepCircuit: (circuit, opened) => windows.keepCircuit(circuit, opened),
      hitBurst: (window) => windows.hitBurst(window),
      hitEqualText: (window) => windows.hitEqualText(text, window),
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
