import { circuitAt, type GuardUserState } from '../../guard/judge.ts';
import type { Circuit, GuardedMessage, GuardLimits, GuardVerdict } from '../../guard/verdict.ts';
import { subOf } from '../../identity/identity.ts';
import { GUARD_LISTED_MAX } from '../bounds.ts';
import type { GuardList, GuardStore } from '../guard.ts';
import type { GuardDesk } from './guard-desk.ts';
import { userStateOf } from './guard-state.ts';
import type { RedisKeyspace } from './keyspace.ts';
import { readHashes } from './read-hashes.ts';
import type { RedisSessions } from './sessions.ts';

export class RedisGuard implements GuardStore {
  readonly #redis: RedisKeyspace;
  readonly #desk: GuardDesk;
  readonly #sessions: RedisSessions;

  constructor(redis: RedisKeyspace, desk: GuardDesk, sessions: RedisSessions) {
    this.#redis = redis;
    this.#desk = desk;
    this.#sessions = sessions;
  }

  async check(message: GuardedMessage, limits: GuardLimits): Promise<GuardVerdict> {
    const { verdicts } = await this.#desk.judge({ guarded: [message], limits, follow: null });
    return verdicts[0] as GuardVerdict;
  }

  async giveBackTurn(session_tag: string): Promise<void> {
    await this.#redis.run('give-back-turn', [this.#count(session_tag)]);
  }

  /** Reads the whole key space. */
  async list(): Promise<GuardList> {
    const now = await this.#redis.now();
    const circuits: GuardList['circuits'] = [];
    for await (const users of this.#users()) {
      for (const { state } of users) {
        const circuit: Circuit | null = circuitAt(state.circuit, now);
        if (circuit && circuit.open_until > now) circuits.push({ ...state.user, ...circuit });
      }
    }
    const sessions: GuardList['sessions'] = [];
    const { names } = this.#redis;
    const fields = ['turns', 'blocked', 'max', 'ends_at'];
    for await (const counts of readHashes(this.#redis, 'session', 'count', fields)) {
      for (const { key, fields: found } of counts) {
        const [turns = 0, blocked = 0, max = 0, ends_at = 0] = found.map(Number);
        if (blocked === 0 || ends_at <= now) continue;
        const tag = names.nameOf(key, 'session', 'count');
        const session_id = (await this.#sessions.find(tag))?.session_id ?? tag;
        sessions.push({ session_id, turns, blocked, max, ends_at });
      }
    }
    return {
      circuits: circuits.sort((a, b) => b.opened_at - a.opened_at).slice(0, GUARD_LISTED_MAX),
      sessions: sessions.sort((a, b) => b.ends_at - a.ends_at).slice(0, GUARD_LISTED_MAX),
    };
  }

  /** Reads the windows of all users. */
  async resetUser(platform: string, name: string): Promise<boolean> {
    const now = await this.#redis.now();
    let isFound = false;
    for await (const users of this.#users()) {
      const named = users.filter(({ state: { user }, ends_at }) => {
        const isNamed = user.user_id === name || (user.person !== null && subOf(user.person) === name);
        return user.platform === platform && isNamed && ends_at > now;
      });
      isFound ||= named.length > 0;
      await this.#delete(named.map(({ key }) => key));
    }
    return isFound;
  }

  async resetSession(session_id: string): Promise<boolean> {
    const reset = (key: string) => this.#redis.run('reset-count', [key], session_id);
    return (await this.#sessions.byId(session_id, reset)) === 1;
  }

  async resetAll(): Promise<void> {
    const { names } = this.#redis;
    for (const pattern of [names.pattern('user', 'guard'), names.pattern('session', 'count')])
      for await (const keys of this.#redis.scan(pattern)) await this.#delete(keys);
  }

  async *#users(): AsyncGenerator<{ key: string; state: GuardUserState; ends_at: number }[]> {
    for await (const hashes of readHashes(this.#redis, 'user', 'guard', ['value', 'expires_at']))
      yield hashes.map(({ key, fields: [value, ends_at] }) => ({
        key,
        state: userStateOf(value as string),
        ends_at: Number(ends_at),
      }));
  }

  #count(session_tag: string): string {
    return this.#redis.names.key('session', session_tag, 'count');
  }

  async #delete(keys: readonly string[]): Promise<void> {
    await this.#redis.send(() => Promise.all(keys.map((key) => this.#redis.client.del(key))));
  }
}
