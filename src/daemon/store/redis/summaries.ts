import { randomSuffix } from '../../clock.ts';
import type { Summary, SummaryStore } from '../summaries.ts';
import type { RedisConnection } from './connection.ts';

/** Summaries are fields of the hash of their session, so they end with it. */
export class RedisSummaries implements SummaryStore {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  async find(session_tag: string, principal: string): Promise<Summary | null> {
    const found = await this.#redis.run('find-summary', [this.#key(session_tag)], session_tag, principal);
    return found === null ? null : (JSON.parse(found as string) as Summary);
  }

  async begin(session_tag: string, ttl_ms: number): Promise<string | null> {
    const token = randomSuffix();
    const args = [session_tag, token, ttl_ms];
    return (await this.#redis.run('begin-summary', [this.#key(session_tag)], ...args)) === 1 ? token : null;
  }

  async keep(session_tag: string, token: string, summary: Summary): Promise<boolean> {
    const args = [session_tag, token, summary.principal, JSON.stringify(summary)];
    return (await this.#redis.run('keep-summary', [this.#key(session_tag)], ...args)) === 1;
  }

  #key(session_tag: string): string {
    return this.#redis.names.key('session', session_tag, 'state');
  }
}
