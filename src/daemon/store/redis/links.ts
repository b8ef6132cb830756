import { AgentdError } from '../../errors.ts';
import type { Link, LinkAlias, LinkStore, NewLink } from '../links.ts';
import type { Reply } from './connection.ts';
import { escapeGlob } from './key-names.ts';
import type { RedisKeyspace } from './keyspace.ts';

/** Maximum lifetime of a link, ms. An alias points to it for that long. */
const LINK_MS = 30 * 24 * 60 * 60 * 1000;

/**
 * Links under the documented keys, as plain strings: other programs may write and read them. An alias is a pointer to
 * the key of its link; it counts only if the link also names the alias.
 */
export class RedisLinks implements LinkStore {
  readonly #redis: RedisKeyspace;

  constructor(redis: RedisKeyspace) {
    this.#redis = redis;
  }

  async get(key: string): Promise<Link | null> {
    if (this.#isInOtherSlot(key)) return null;
    const found = await this.#run('get-link', key);
    if (found === null) return null;
    const [token, ends, alias, person, notified] = found as [string, number, string | null, string, number];
    return {
      key,
      token,
      expires_at: ends,
      expiry_notified: notified === 1,
      alias: alias === null ? null : { alias, person: person as LinkAlias['person'] },
    };
  }

  async findByAlias(alias: string): Promise<Link | null> {
    const key = await this.#redis.send(() => this.#redis.client.get(this.#pointer(alias)));
    const link = key === null ? null : await this.get(key);
    return link?.alias?.alias === alias ? link : null;
  }

  async put({ key, token, person, ttl_ms }: NewLink, expected: string | null): Promise<boolean> {
    if (this.#isInOtherSlot(key))
      throw new AgentdError('invalid_request', 'In a Redis Cluster, the id of a linked user has no braces.');
    const args = [token, person, ttl_ms, expected === null ? 0 : 1, expected ?? ''];
    return (await this.#run('put-link', key, ...args)) === 1;
  }

  async bindAlias(key: string, token: string, { alias, person }: LinkAlias): Promise<boolean> {
    const bind = async (write: 0 | 1) =>
      (await this.#run('bind-alias', key, token, alias, person, write)) === 1;
    if (!(await bind(0))) return false;
    // Change the pointer first: if the process dies before the link has the alias, the alias finds no link, and never
    // the link of another person.
    const before = await this.#point(alias, key, null);
    if (await bind(1)) return true;
    await this.#point(alias, typeof before === 'string' ? before : '', key);
    return false;
  }

  async remove(key: string, expected?: string): Promise<boolean> {
    if (this.#isInOtherSlot(key)) return false;
    return (await this.#run('remove-link', key, expected === undefined ? 0 : 1, expected ?? '')) === 1;
  }

  /** Reads the whole key space. */
  async list({ platform, limit }: { platform?: string; limit: number }): Promise<Link[]> {
    const keys: string[] = [];
    for await (const some of this.keys(platform)) keys.push(...some);
    keys.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    const links: Link[] = [];
    for (let place = 0; place < keys.length && links.length < limit; place += limit) {
      const found = await Promise.all(keys.slice(place, place + limit).map((key) => this.get(key)));
      links.push(...found.filter((link) => link !== null));
    }
    return links.slice(0, limit);
  }

  async noteExpiryNotified(key: string, token: string): Promise<void> {
    await this.#run('note-link-expiry', key, token);
  }

  async replaceToken(key: string, token: string, value: string): Promise<boolean> {
    return (await this.#run('replace-link-token', key, token, value)) === 1;
  }

  /** The keys of links, in batches. */
  async *keys(platform?: string): AsyncGenerator<string[]> {
    const pattern = `${platform === undefined ? '*' : escapeGlob(platform)}:jwt:*`;
    for await (const keys of this.#redis.scan(pattern)) yield keys.filter((key) => /^[^:{]+:jwt:/.test(key));
  }

  /**
   * Points an alias to a link. @param expected the key of the link that the alias must point to now; null for any.
   * @returns the key that it pointed to before.
   */
  #point(alias: string, key: string, expected: string | null): Promise<Reply> {
    const args = [key, LINK_MS, expected === null ? 0 : 1, expected ?? ''];
    return this.#redis.run('point-alias', [this.#pointer(alias)], ...args);
  }

  #pointer(alias: string): string {
    return this.#redis.names.key('alias', alias, 'link');
  }

  /** Whether the braces in this key would put it into another slot than the facts about its link. */
  #isInOtherSlot(key: string): boolean {
    return this.#redis.isSharded && /[{}]/.test(key);
  }

  #run(script: string, key: string, ...args: (string | number)[]): Promise<Reply> {
    return this.#redis.run(script, [key, this.#redis.names.besideLink(key)], ...args);
  }
}
