import { aliasChange, type MemoryOwner } from '../../../identity/identity.ts';
import type { Log } from '../../../process/log.ts';
import { type Clock, timeOrderedId } from '../../../time/clock.ts';
import { MEMORIES_MAX } from '../../bounds.ts';
import { bestMemories } from '../../memories/best-memories.ts';
import type { Memory, MemoryQuery, MemoryStore, NewMemory } from '../../memories/memories.ts';
import { extractTerms, type WantedTerm, wantedTerms } from '../../memories/memory-terms.ts';
import { Database, type Transaction } from './database.ts';
import { migrate, readSteps } from './migrations.ts';
import { storedKey } from './stored-key.ts';

/** Times are bigint, which the client returns as strings. */
type MemoryRow = Omit<Memory, 'created_at' | 'used_at'> & { created_at: string; used_at: string };

const SCHEMA = { table: 'agentd_schema', lock: 7_243_001 } as const;

/** A message waits for its memories. If they take longer, it is answered without them. */
const LIMITS = { max: 5, query_ms: 2_000 };

const COLUMNS = 'memory_id, text, turn_id, tainted, created_at, used_at';
const NEWEST_FIRST = 'ORDER BY created_at DESC, memory_id DESC';

interface PostgresOptions {
  /** DATABASE_URL */
  url: string;
  clock: Clock;
  log: Pick<Log, 'debug'>;
  /** Maximum number of memories of one owner; `MEMORIES_MAX` if absent. */
  max?: number;
}

/** Opens the memories in a Postgres database. It does not connect before the first use. */
export function openPostgresMemories({ url, clock, log, max = MEMORIES_MAX }: PostgresOptions): MemoryStore {
  return new PostgresMemories(new Database(url, log, LIMITS), clock, max);
}

/** Memories in Postgres, with a text search vector of their words. */
class PostgresMemories implements MemoryStore {
  readonly description: string;
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #max: number;
  readonly #steps = readSteps(new URL('memories/', import.meta.url));
  /** Resolves when the schema is current. Null before the first use and after a failed migration. */
  #migrated: Promise<void> | null = null;

  constructor(database: Database, clock: Clock, max: number) {
    this.description = database.description;
    this.#database = database;
    this.#clock = clock;
    this.#max = max;
  }

  add(owner: MemoryOwner, { text, turn_id, tainted }: NewMemory): Promise<Memory> {
    return this.#write(async (transaction) => {
      const { query } = transaction;
      // Locks the row of the owner, too: it must not be deleted before the memory refers to it.
      await query(
        `INSERT INTO agentd_memory_owners (owner, alias) VALUES ($1, $2)
         ON CONFLICT (owner) DO UPDATE SET owner = excluded.owner`,
        [storedKey(owner.key), owner.alias],
      );
      await claim(owner, transaction);
      const now = this.#clock.now();
      const [renewed] = await query<MemoryRow>(
        `UPDATE agentd_memories SET turn_id = $3, tainted = tainted AND $4, created_at = $5, used_at = $5
         WHERE owner = $1 AND text = $2 RETURNING ${COLUMNS}`,
        [storedKey(owner.key), text, turn_id, tainted, now],
      );
      if (renewed) return toMemory(renewed);
      await query(
        `DELETE FROM agentd_memories WHERE memory_id IN
           (SELECT memory_id FROM agentd_memories WHERE owner = $1 ORDER BY used_at DESC, memory_id DESC OFFSET $2)`,
        [storedKey(owner.key), this.#max - 1],
      );
      const memory_id = timeOrderedId(now);
      await query(
        `INSERT INTO agentd_memories (memory_id, owner, text, terms, turn_id, tainted, created_at, used_at)
         VALUES ($1, $2, $3, array_to_tsvector($4::text[]), $5, $6, $7, $7)`,
        [memory_id, storedKey(owner.key), text, extractTerms(text), turn_id, tainted, now],
      );
      return { memory_id, text, turn_id, tainted, created_at: now, used_at: now };
    });
  }

  async search(owner: MemoryOwner, query: MemoryQuery): Promise<Memory[]> {
    const wanted = wantedTerms(query.text, query.words);
    await this.#settle(owner);
    const all = await this.#database.query<{
      memory_id: string;
      tainted: boolean;
      matches: boolean[];
    }>(
      `SELECT memory_id, tainted,
         ARRAY(SELECT terms @@ wanted.query::tsquery FROM unnest($2::text[]) WITH ORDINALITY AS wanted (query, place)
               ORDER BY place) AS matches
       FROM agentd_memories WHERE owner = $1 ${NEWEST_FIRST}`,
      [storedKey(owner.key), wanted.map(toQuery)],
    );
    const ids = bestMemories(all, query).map(({ memory_id }) => memory_id);
    if (ids.length === 0) return [];
    const rows = await this.#database.query<MemoryRow>(
      `SELECT ${COLUMNS} FROM agentd_memories WHERE owner = $1 AND memory_id = ANY($2)`,
      [storedKey(owner.key), ids],
    );
    return rows.map(toMemory).sort((a, b) => ids.indexOf(a.memory_id) - ids.indexOf(b.memory_id));
  }

  async list(owner: MemoryOwner): Promise<Memory[]> {
    await this.#settle(owner);
    const rows = await this.#database.query<MemoryRow>(
      `SELECT ${COLUMNS} FROM agentd_memories WHERE owner = $1 ${NEWEST_FIRST}`,
      [storedKey(owner.key)],
    );
    return rows.map(toMemory);
  }

  async use(owner: MemoryOwner, ids: readonly string[]): Promise<void> {
    await this.#write(async (transaction) => {
      await claim(owner, transaction);
      await transaction.query(
        'UPDATE agentd_memories SET used_at = $3 WHERE owner = $1 AND memory_id = ANY($2)',
        [storedKey(owner.key), ids, this.#clock.now()],
      );
    });
  }

  forget(owner: MemoryOwner, ids: readonly string[] | 'all'): Promise<number> {
    return this.#write(async (transaction) => {
      await claim(owner, transaction);
      const some = ids === 'all' ? '' : 'AND memory_id = ANY($2)';
      const rows = await transaction.query(
        `DELETE FROM agentd_memories WHERE owner = $1 ${some} RETURNING memory_id`,
        ids === 'all' ? [storedKey(owner.key)] : [storedKey(owner.key), ids],
      );
      if (ids === 'all')
        await transaction.query('DELETE FROM agentd_memory_owners WHERE owner = $1', [storedKey(owner.key)]);
      return rows.length;
    });
  }

  taint(owner: MemoryOwner, turn_id: string): Promise<void> {
    return this.#write(async (transaction) => {
      await claim(owner, transaction);
      await transaction.query('UPDATE agentd_memories SET tainted = true WHERE owner = $1 AND turn_id = $2', [
        storedKey(owner.key),
        turn_id,
      ]);
    });
  }

  async check(): Promise<void> {
    await this.#prepare();
    await this.#database.query('SELECT 1 FROM agentd_memories LIMIT 0');
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  async #write<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    await this.#prepare();
    return this.#database.transaction(work);
  }

  /**
   * Called before a read: deletes the memories if they belong to another alias. Writes only if the owner's alias is new
   * or has changed.
   */
  async #settle(owner: MemoryOwner): Promise<void> {
    await this.#prepare();
    if (owner.alias === null) return;
    const [found] = await this.#database.query<{ alias: string | null }>(
      'SELECT alias FROM agentd_memory_owners WHERE owner = $1',
      [storedKey(owner.key)],
    );
    if (found && aliasChange(found.alias, owner.alias) !== 'none')
      await this.#database.transaction((transaction) => claim(owner, transaction));
  }

  #prepare(): Promise<void> {
    this.#migrated ??= migrate(this.#database, { ...SCHEMA, steps: this.#steps }).catch((error: unknown) => {
      this.#migrated = null;
      throw error;
    });
    return this.#migrated;
  }
}

/** Locks the memories of an owner until the transaction ends. Deletes them if they were stored with another alias. */
async function claim(owner: MemoryOwner, { query }: Transaction): Promise<void> {
  const [key, alias] = [storedKey(owner.key), owner.alias];
  const [found] = await query<{ alias: string | null }>(
    'SELECT alias FROM agentd_memory_owners WHERE owner = $1 FOR UPDATE',
    [key],
  );
  const change = found ? aliasChange(found.alias, alias) : 'none';
  if (change === 'new_owner') await query('DELETE FROM agentd_memories WHERE owner = $1', [key]);
  if (change !== 'none')
    await query('UPDATE agentd_memory_owners SET alias = $2 WHERE owner = $1', [key, alias]);
}

/** A text search query for the term. The term is quoted, although it contains only letters and digits. */
function toQuery({ term, prefix }: WantedTerm): string {
  return `'${term.replaceAll("'", "''").replaceAll('\\', '\\\\')}'${prefix ? ':*' : ''}`;
}

function toMemory({ created_at, used_at, ...row }: MemoryRow): Memory {
  return { ...row, created_at: Number(created_at), used_at: Number(used_at) };
}
