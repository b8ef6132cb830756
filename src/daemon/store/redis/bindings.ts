import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { SEEN_MS } from '../bounds.ts';
import type { RedisKeyspace } from './keyspace.ts';

/**
 * How long a binding is remembered after its last use, ms: longer than the records that it leads to, which are kept for
 * 7 days after the end of a run.
 */
const BOUND_MS = SEEN_MS + 24 * 60 * 60 * 1000;
/** A caller that has bound a name and has written nothing in this time has died, ms: a command takes at most 5 s. */
const WRITING_MS = 6_000;
/** Pause between two looks at the shard of another caller, ms. */
const PAUSE_MS = 20;
/** Number of looks before the other caller counts as dead. */
const LOOKS_MAX = WRITING_MS / PAUSE_MS;

/**
 * In which shard the records of a foreign name are: the Idempotency-Key of a client, or the message id of a platform.
 * Such a name belongs to a session that its shard does not follow from, and its records are written together with those
 * of the session. So the shard is recorded, in the shard of the name, before the first record is written.
 *
 * A name is bound to the shard of the session of the first request. Repeats name the same session and come to the same
 * shard, where one script decides who is first; so the binding itself never decides whether something runs twice. A
 * request with another session finds what is known about the name in the bound shard. If nothing is, the caller that
 * bound it may still be writing, so it is given time; then the name is bound anew. If the process dies after the binding
 * was made, the next request with the same session goes on as if it were the first.
 */
export class Bindings {
  readonly #redis: RedisKeyspace;
  readonly #kind: string;

  /** @param kind separates the names of one kind of record from those of others. */
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
   * @param look what a shard knows about the name; null for nothing.
   * @returns what another shard knows about the name; null if it is now bound to the shard of `beside`.
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
    // Names contain ids and addresses of people, and nobody could find them to erase them.
    const hash = createHash('sha256').update(name).digest('base64url');
    return this.#redis.names.key('bound', `${this.#kind}:${hash}`, 'shard');
  }
}
