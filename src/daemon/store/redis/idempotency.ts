import { randomSuffix } from '../../time/clock.ts';
import type { KeyClaim } from '../claims.ts';
import type { IdempotencyStore, KeyState, NewKey, StoredAnswer } from '../idempotency.ts';
import { Bindings } from './bindings.ts';
import type { RedisKeyspace } from './keyspace.ts';

export class RedisIdempotency implements IdempotencyStore {
  readonly #redis: RedisKeyspace;
  readonly #bindings: Bindings;

  constructor(redis: RedisKeyspace) {
    this.#redis = redis;
    this.#bindings = new Bindings(redis, 'key');
  }

  async claim(
    key: string,
    fingerprint: string,
    beside = key,
  ): Promise<KeyState | (NewKey & { claim: KeyClaim })> {
    const owner = randomSuffix();
    const elsewhere = this.#redis.isSharded ? await this.#bind(key, fingerprint, beside) : null;
    const found = elsewhere ?? (await this.#look(this.#redis.at(beside), key, fingerprint, owner));
    if (found.outcome !== 'new') return found;
    const place = this.#redis.lieTogether(key, beside) ? {} : { beside };
    return { ...found, claim: { key, fingerprint, owner, ...place } };
  }

  async look(key: string, fingerprint: string): Promise<KeyState | NewKey> {
    const bound = this.#redis.isSharded ? await this.#bindings.find(key) : null;
    return this.#look(bound ?? this.#redis.at(key), key, fingerprint, '');
  }

  async renew(claim: KeyClaim): Promise<boolean> {
    return (await this.#run('renew-claim', claim, claim.owner)) === 1;
  }

  async finish(claim: KeyClaim, answer: StoredAnswer, ttl_ms: number): Promise<boolean> {
    const { key, owner, fingerprint } = claim;
    const args = [key, owner, fingerprint, JSON.stringify(answer), ttl_ms];
    return (await this.#run('finish-key', claim, ...args)) === 1;
  }

  async release(claim: KeyClaim, { counted } = { counted: false }): Promise<void> {
    await this.#run('release-key', claim, claim.owner, counted ? 1 : 0);
  }

  /** What another shard has stored about the key; null if the key is now bound to the shard of `beside`. */
  #bind(key: string, fingerprint: string, beside: string): Promise<KeyState | null> {
    return this.#bindings.bind(key, beside, async (shard) => {
      const found = await this.#look(shard, key, fingerprint, '');
      return found.outcome === 'new' ? null : found;
    });
  }

  async #look(
    shard: RedisKeyspace,
    key: string,
    fingerprint: string,
    owner: string,
  ): Promise<KeyState | NewKey> {
    const claim = shard.names.key('key', key, 'claim');
    const [outcome, more] = (await shard.run('claim-key', [claim], ...[key, fingerprint, owner])) as [
      KeyState['outcome'] | 'new',
      string?,
    ];
    if (outcome === 'done') return { outcome, answer: JSON.parse(more as string) };
    return outcome === 'new' && more === 'counted' ? { outcome, counted: true } : { outcome };
  }

  #run(script: string, claim: KeyClaim, ...args: (string | number)[]) {
    const shard = this.#redis.at(placeOfKey(claim));
    return shard.run(script, [shard.names.key('key', claim.key, 'claim')], ...args);
  }
}

/** The name in whose shard the records of a claimed key are. */
export function placeOfKey({ key, beside = key }: KeyClaim): string {
  return beside;
}
