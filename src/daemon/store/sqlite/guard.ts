import type Database from 'better-sqlite3';
import { type AddedHit, hitCount } from '../../guard/hits.ts';
import {
  addMessage,
  circuitAt,
  type GuardState,
  type GuardUserState,
  judge,
  type MessageHit,
} from '../../guard/judge.ts';
import type { GuardedMessage, GuardLimits, GuardVerdict } from '../../guard/verdict.ts';
import { subOf } from '../../identity/identity.ts';
import type { Clock } from '../../time/clock.ts';
import { GUARD_LISTED_MAX } from '../bounds.ts';
import type { GuardList, GuardStore } from '../guard.ts';
import type { GuardTurns } from './guard-turns.ts';
import type { KnownMessages } from './known-messages.ts';
import { packMessage, packUser, unpackMessage, unpackUser } from './packed-hits.ts';
import { LOG_SURPLUS, type Packing, StateLog } from './state-log.ts';
import type { GroupCommit } from './writer.ts';

export const GUARD_USER_PACKING: Packing<GuardUserState, AddedHit<MessageHit>> = {
  pack: packUser,
  unpack: unpackUser,
  packChange: packMessage,
  unpackChange: unpackMessage,
  apply: addMessage,
  size: ({ messages }) => hitCount(messages),
};

/** The state of the loop guard: the users in memory and in a log, the sessions in one row each. */
export class SqliteGuard implements GuardStore {
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #known: KnownMessages;
  readonly #users: StateLog<GuardUserState, AddedHit<MessageHit>>;
  readonly #turns: GuardTurns;

  /** @param surplus the surplus of the log; `LOG_SURPLUS` except in tests. */
  constructor(
    db: Database.Database,
    commit: GroupCommit,
    clock: Clock,
    known: KnownMessages,
    turns: GuardTurns,
    surplus = LOG_SURPLUS,
  ) {
    this.#commit = commit;
    this.#clock = clock;
    this.#known = known;
    this.#users = new StateLog(db, 'guard_log', GUARD_USER_PACKING, clock, surplus);
    commit.keep(this.#users);
    this.#turns = turns;
  }

  check(message: GuardedMessage, limits: GuardLimits): Promise<GuardVerdict> {
    const work = () => this.decide(message, limits);
    // The platform may deliver the message again after a crash. Its first verdict must be durable, so that it still
    // applies.
    return message.message_id === null ? this.#commit.decide(work) : this.#commit.write(work);
  }

  /**
   * Does the same as `check` within a commit or a decision. Used for a message that is stored together with its
   * verdict.
   */
  decide(message: GuardedMessage, limits: GuardLimits, now: number = this.#clock.now()): GuardVerdict {
    const { user, session_id, message_id } = message;
    const first = message_id === null ? null : this.#known.find(user.platform, message_id, now).verdict;
    if (first !== null) {
      const before = { verdict: JSON.parse(first) as GuardVerdict, user: null, turns: null };
      return judge(before, message, limits, now).verdict;
    }
    const counted = this.#turns.find(session_id, now);
    const before: GuardState = {
      verdict: null,
      user: this.#users.get(user.key, now),
      turns: counted.turns,
    };
    const { verdict, state, added, user_expires_at } = judge(before, message, limits, now);
    if (state.user && state.user !== before.user)
      this.#users.put(user.key, state.user, added, user_expires_at);
    if (state.turns && state.turns !== before.turns) this.#turns.put(session_id, state.turns, counted);
    const known = { verdict: JSON.stringify(verdict), user_id: user.user_id };
    if (message_id !== null) this.#known.note(user.platform, message_id, known, now);
    return verdict;
  }

  giveBackTurn(session_tag: string): Promise<void> {
    return this.#commit.write(() => this.#turns.giveBack(session_tag));
  }

  async list(): Promise<GuardList> {
    await this.#commit.flush();
    return this.#commit.read(() => {
      const now = this.#clock.now();
      const circuits = [...this.#users.live(now)]
        .flatMap(([, { user, circuit: opened }]) => {
          const circuit = circuitAt(opened, now);
          return circuit && circuit.open_until > now ? { ...user, ...circuit } : [];
        })
        .sort((a, b) => b.opened_at - a.opened_at)
        .slice(0, GUARD_LISTED_MAX);
      return { circuits, sessions: this.#turns.list(now) };
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
    return this.#commit.write(() => this.#turns.delete(session_id, this.#clock.now()));
  }

  resetAll(): Promise<void> {
    return this.#commit.write(() => {
      for (const [key] of this.#users.live(this.#clock.now())) this.#users.delete(key);
      this.#turns.deleteAll();
    });
  }

  /**
   * Within a commit: deletes about `bite` expired users and counts of turns. @returns the number of deleted or changed
   * entries, but at most `bite`.
   */
  deleteExpired(bite: number): number {
    const deleted = this.#users.deleteExpired(bite);
    return deleted + this.#turns.deleteExpired(bite - deleted, this.#clock.now());
  }
}
