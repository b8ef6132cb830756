import { randomBytes } from 'node:crypto';
import { timeOrderedId } from '../../time/clock.ts';
import { AUDIT_RETENTION_MS, type AuditLine, type AuditStore, type NewAuditLine } from '../audit.ts';
import type { RedisKeyspace } from './keyspace.ts';

const KEY_BYTES = 32;
/** Length of the id before a line, which keeps identical lines separate and in order. */
const ID_LENGTH = timeOrderedId(0).length;

/** The lines are in one sorted set, ordered by time. The key of the HMAC is stored separately. */
export class RedisAudit implements AuditStore {
  readonly #redis: RedisKeyspace;

  constructor(redis: RedisKeyspace) {
    this.#redis = redis;
  }

  async note(line: NewAuditLine): Promise<void> {
    const id = timeOrderedId(Date.now());
    await this.#redis.run('note-audit', [this.#lines], JSON.stringify(line), AUDIT_RETENTION_MS, id);
  }

  async list({ since = 0, limit }: { since?: number; limit: number }): Promise<AuditLine[]> {
    const found = await this.#redis.run('list-audit', [this.#lines], since, AUDIT_RETENTION_MS, limit);
    const flat = found as string[];
    const lines: AuditLine[] = [];
    for (let place = 0; place < flat.length; place += 2) {
      const line = JSON.parse((flat[place] as string).slice(ID_LENGTH)) as NewAuditLine;
      lines.push({ at: Number(flat[place + 1]), ...line });
    }
    return lines;
  }

  async key(): Promise<Uint8Array> {
    const name = this.#redis.names.key('audit', null, 'key');
    const made = randomBytes(KEY_BYTES).toString('base64');
    await this.#redis.send(() => this.#redis.client.setnx(name, made));
    const key = await this.#redis.send(() => this.#redis.client.get(name));
    return Buffer.from(key ?? made, 'base64');
  }

  get #lines(): string {
    return this.#redis.names.key('audit', null, 'lines');
  }
}
