import { dueAt } from '../due-at.ts';
import type { Outage, OutageReason, OutageStore } from '../outages.ts';
import type { Reply } from './connection.ts';
import type { RedisKeyspace } from './keyspace.ts';

/** One hash, with a field for each platform. */
export class RedisOutages implements OutageStore {
  readonly #redis: RedisKeyspace;

  constructor(redis: RedisKeyspace) {
    this.#redis = redis;
  }

  async list(): Promise<Outage[]> {
    return outagesOf(...((await this.#run('list-outages')) as [number, string[]]));
  }

  async note(platform: string, reason: OutageReason, words: string, probe_in_ms: number): Promise<void> {
    await this.#run('note-outage', platform, reason, words, probe_in_ms);
  }

  async takeProbe(platform: string, lease_ms: number): Promise<boolean> {
    return (await this.#run('put-off-probe', platform, lease_ms, 1)) === 1;
  }

  async hurry(platform: string): Promise<boolean> {
    return (await this.#run('put-off-probe', platform, 0, 0)) === 1;
  }

  async end(platform: string): Promise<boolean> {
    const ended = await this.#redis.send(() => this.#redis.client.hdel(this.#key, platform));
    return ended === 1;
  }

  get #key(): string {
    return outagesKey(this.#redis);
  }

  #run(script: string, ...args: (string | number)[]): Promise<Reply> {
    return this.#redis.run(script, [this.#key], ...args);
  }
}

export function outagesKey({ names }: RedisKeyspace): string {
  return names.key('outages', null, 'list');
}

/** @param flat platform and JSON of each outage. */
export function outagesOf(now: number, flat: readonly string[]): Outage[] {
  const outages: Outage[] = [];
  for (let place = 0; place < flat.length; place += 2) {
    const { wait_ms, ...outage } = JSON.parse(flat[place + 1] as string);
    const probe_at = dueAt(outage.probe_at, wait_ms, now);
    outages.push({ platform: flat[place] as string, ...outage, probe_at });
  }
  return outages;
}
