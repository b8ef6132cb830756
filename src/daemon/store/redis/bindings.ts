import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { SEEN_MS } from '../bounds.ts';
import type { RedisKeyspace } from './keyspace.ts';

/**
 * How long a binding is remembered after its last use, ms: longer than the records that it points to, which are kept
 * for 7 days after the end of a run.
 */
const BOUND_MS = SEEN_MS + 24 * 60 * 60 * 1000;
/**
 * How long a caller that has bound a name may take to write its records, ms. After that, it counts as dead, because a
 * command takes at most 5 s.
 */
const WRITING_MS = 6_000;
/** Pause between two searches in the shard of another caller, ms. */
const PAUSE_MS = 20;
/** Number of searches before the other caller counts as dead. */
const LOOKS_MAX = WRITING_MS / PAUSE_MS;

/**
 * Records in which shard the records of a foreign name are. A foreign name is the Idempotency-Key of a client, or the
 * message id of a platform. Its records are written together with the records of a session, so they must be in the
 * shard of that session. The name itself does not determine this shard. So before the first record is written, the name
 * is bound to the shard. The binding is stored in the shard of the name.
 *
 * A name is bound to the shard of the session of its first request. Repeats name the same session and use the same
 * shard, where one script decides which request is the first. So the binding itself never decides whether something
 * runs twice. A request with another session looks for records of the name in the bound shard. If there are none, the
 * caller that bound the name may still be writing them. The request then waits for some time before it binds the name
 * to its own shard. If a process dies after it has bound a name, the next request with the same session continues as if
 * it were the first.
 */
export class Bindings {
  readonly #redis: RedisKeyspace;
  readonly #kind: string;

  /** @param kind separates names of one kind of record from names of other kinds. */
  constructor(redis: RedisKeyspace, kind: string) {
    this.#redis = redis;
    this.#kind = kind;
  }

  /** The shard that a name is bound to; null if it is not bound. */
  async find(name: string): Promise<RedisKeyspace | null> {
    const tag = await this.#redis.send(() => this.#redis.client.hget(this.#key(name), 'shard'));
    return tag === null ? null : this.#redis.tagged(tag);
  }

  /**
   * Binds a name to the shard of `beside`.
   * @param look returns what a shard has stored about the name; null if it has stored nothing.
   * @returns what another shard has stored about the name; null if the name is now bound to the shard of `beside`.
   */
  async bind<Known>(
    name: string,
    beside: string,
    look: (shard: RedisKeyspace) => Promise<Known | null>,
  ): Promise<Known | null> {
    const wanted = this.#redis.at(beside);
    let replaced = '';
    for (let looks = 1; ; looks++) {
      const args = [wanted.tag, BOUND_MS, replaced];
      const [bound, age_ms] = (await this.#redis.run('bind', [this.#key(name)], ...args)) as [string, number];
      const shard = this.#redis.tagged(bound);
      if (shard === wanted) return null;
      const known = await look(shard);
      if (known !== null) return known;
      if (age_ms > WRITING_MS || looks >= LOOKS_MAX) replaced = bound;
      else await setTimeout(PAUSE_MS);
    }
  }

  #key(name: string): string {
    // The name is hashed, because it may contain ids and addresses of people, and erasing a person does not search
    // here.
    const hash = createHash('sha256').update(name).digest('base64url');
    return this.#redis.names.key('bound', `${this.#kind}:${hash}`, 'shard');
  }
}
