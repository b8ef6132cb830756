import { randomSuffix } from '../../time/clock.ts';
import type { Summary, SummaryStore } from '../summaries.ts';
import type { RedisKeyspace } from './keyspace.ts';

export class RedisSummaries implements SummaryStore {
  readonly #redis: RedisKeyspace;

  constructor(redis: RedisKeyspace) {
    this.#redis = redis;
  }

  async find(session_tag: string, principal: string): Promise<Summary | null> {
    const found = await this.#run('find-summary', session_tag, fieldOf(principal));
    // Of older summaries it is not known whether they are tainted.
    return found === null ? null : { tainted: true, ...JSON.parse(found as string) };
  }

  async begin(session_tag: string, ttl_ms: number): Promise<string | null> {
    const token = randomSuffix();
    return (await this.#run('begin-summary', session_tag, token, ttl_ms)) === 1 ? token : null;
  }

  async keep(session_tag: string, token: string, summary: Summary): Promise<boolean> {
    const args = [token, fieldOf(summary.principal), JSON.stringify(summary)];
    return (await this.#run('keep-summary', session_tag, ...args)) === 1;
  }

  #run(script: string, session_tag: string, ...args: (string | number)[]) {
    return this.#redis.run(
      script,
      [this.#redis.names.key('session', session_tag, 'state')],
      session_tag,
      ...args,
    );
  }
}

/** The prefix keeps principals different from the other fields of the hash. */
function fieldOf(principal: string): string {
  return `of:${principal}`;
}
