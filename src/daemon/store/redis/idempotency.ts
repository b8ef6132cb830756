import { randomSuffix } from '../../clock.ts';
import type { KeyClaim } from '../claims.ts';
import type { IdempotencyStore, KeyState, StoredAnswer } from '../idempotency.ts';
import type { RedisConnection } from './connection.ts';

export class RedisIdempotency implements IdempotencyStore {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  async claim(key: string, fingerprint: string): Promise<KeyState | { outcome: 'new'; claim: KeyClaim }> {
    const owner = randomSuffix();
    const found = await this.#look(key, fingerprint, owner);
    return found.outcome === 'new' ? { outcome: 'new', claim: { key, fingerprint, owner } } : found;
  }

  look(key: string, fingerprint: string): Promise<KeyState | { outcome: 'new' }> {
    return this.#look(key, fingerprint, '');
  }

  async renew({ key, owner }: KeyClaim): Promise<boolean> {
    return (await this.#redis.run('renew-claim', [this.#key(key)], owner)) === 1;
  }

  async finish(
    { key, owner, fingerprint }: KeyClaim,
    answer: StoredAnswer,
    ttl_ms: number,
  ): Promise<boolean> {
    const args = [key, owner, fingerprint, JSON.stringify(answer), ttl_ms];
    return (await this.#redis.run('finish-key', [this.#key(key)], ...args)) === 1;
  }

  async release({ key, owner }: KeyClaim): Promise<void> {
    await this.#redis.run('release-key', [this.#key(key)], owner);
  }

  async #look(key: string, fingerprint: string, owner: string): Promise<KeyState | { outcome: 'new' }> {
    const [outcome, answer] = (await this.#redis.run(
      'claim-key',
      [this.#key(key)],
      ...[key, fingerprint, owner],
    )) as [KeyState['outcome'] | 'new', string?];
    return outcome === 'done' ? { outcome, answer: JSON.parse(answer as string) } : { outcome };
  }

  #key(key: string): string {
    return this.#redis.names.key('key', key, 'claim');
  }
}
