import { observedTool, trustedTool } from '../observed-tool.ts';
import type { ToolDefinition, ToolDigest, ToolDigestStore } from '../tool-digests.ts';
import type { RedisKeyspace } from './keyspace.ts';
import { readHashes } from './read-hashes.ts';
import { changeRecord } from './versioned-record.ts';

export class RedisToolDigests implements ToolDigestStore {
  readonly #redis: RedisKeyspace;

  constructor(redis: RedisKeyspace) {
    this.#redis = redis;
  }

  observe(name: string, source: string, seen: ToolDefinition): Promise<ToolDigest> {
    return changeRecord(this.#redis, this.#key(name), (value, now) => {
      const result = observedTool(value === null ? null : JSON.parse(value), { name, source, seen, now });
      const next = JSON.stringify(result);
      return { result, value: next === value ? null : next, expires_at: null };
    });
  }

  async find(name: string): Promise<ToolDigest | null> {
    const value = await this.#redis.send(() => this.#redis.client.hget(this.#key(name), 'value'));
    return value === null ? null : JSON.parse(value);
  }

  async list(): Promise<ToolDigest[]> {
    const found: ToolDigest[] = [];
    for await (const records of readHashes(this.#redis, 'tool', 'definition', ['value']))
      found.push(...records.map(({ fields: [value] }) => JSON.parse(value as string)));
    return found.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  trust(name: string, digest: string): Promise<boolean> {
    return changeRecord(this.#redis, this.#key(name), (value, now) => {
      const record = trustedTool(value === null ? null : JSON.parse(value), digest, now);
      return { result: record !== null, value: record && JSON.stringify(record), expires_at: null };
    });
  }

  #key(name: string): string {
    return this.#redis.names.key('tool', name, 'definition');
  }
}
