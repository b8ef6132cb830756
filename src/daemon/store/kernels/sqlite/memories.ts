import type Database from 'better-sqlite3';
import { aliasChange, type MemoryOwner } from '../../../identity/identity.ts';
import { type Clock, timeOrderedId } from '../../../time/clock.ts';
import { bestMemories } from '../../memories/best-memories.ts';
import type { Memory, MemoryQuery, MemoryStore, NewMemory } from '../../memories/memories.ts';
import { extractTerms, type WantedTerm, wantedTerms } from '../../memories/memory-terms.ts';
import type { SqliteKernel } from './kernel.ts';
import { retrying } from './unavailable.ts';

type MemoryRow = Omit<Memory, 'tainted'> & { memory_no: number; tainted: number };

const COLUMNS = 'memory_no, memory_id, text, turn_id, tainted, created_at, used_at';

/** Memories, and an FTS5 index of their words. */
export class SqliteMemories implements MemoryStore {
  readonly description: string;
  readonly #kernel: SqliteKernel;
  readonly #clock: Clock;
  readonly #max: number;
  readonly #statements;

  /** @param max the maximum number of memories of one owner. */
  constructor(db: Database.Database, kernel: SqliteKernel, clock: Clock, max: number) {
    this.description = `sqlite ${db.name}`;
    this.#kernel = kernel;
    this.#clock = clock;
    this.#max = max;
    this.#statements = {
      owner: db.prepare<[string], { owner_no: number; alias: string | null }>(
        'SELECT owner_no, alias FROM memory_owners WHERE owner = ?',
      ),
      addOwner: db
        .prepare<[string, string | null], number>(
          'INSERT INTO memory_owners (owner, alias) VALUES (?, ?) RETURNING owner_no',
        )
        .pluck(),
      setAlias: db.prepare<[string, number]>('UPDATE memory_owners SET alias = ? WHERE owner_no = ?'),
      all: db.prepare<[number], MemoryRow>(
        `SELECT ${COLUMNS} FROM memories WHERE owner_no = +? ORDER BY created_at DESC, memory_no DESC`,
      ),
      // Reads no texts, because only the texts of the best matches are needed.
      ranked: db.prepare<[number], Pick<MemoryRow, 'memory_no' | 'tainted'>>(
        `SELECT memory_no, tainted FROM memories WHERE owner_no = +?
         ORDER BY created_at DESC, memory_no DESC`,
      ),
      one: db.prepare<[number, number], MemoryRow>(
        `SELECT ${COLUMNS} FROM memories WHERE owner_no = ? AND memory_no = ?`,
      ),
      equal: db.prepare<[number, string], MemoryRow>(
        `SELECT ${COLUMNS} FROM memories WHERE owner_no = ? AND text = ?`,
      ),
      leastUsed: db.prepare<[number, number]>(
        `DELETE FROM memories WHERE memory_no IN
           (SELECT memory_no FROM memories WHERE owner_no = +? ORDER BY used_at DESC, memory_no DESC LIMIT -1 OFFSET ?)`,
      ),
      insert: db
        .prepare<[string, number, string, string, number, number, number], number>(
          `INSERT INTO memories (memory_id, owner_no, text, turn_id, tainted, created_at, used_at)
           VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING memory_no`,
        )
        .pluck(),
      renew: db.prepare<[string, number, number, number, number]>(
        'UPDATE memories SET turn_id = ?, tainted = ?, created_at = ?, used_at = ? WHERE memory_no = ?',
      ),
      index: db.prepare<[number, string]>('INSERT INTO memory_terms (rowid, terms) VALUES (?, ?)'),
      find: db.prepare<[string], number>('SELECT rowid FROM memory_terms WHERE memory_terms MATCH ?').pluck(),
      use: db.prepare<[number, number, string]>(
        'UPDATE memories SET used_at = ? WHERE owner_no = ? AND memory_id = ?',
      ),
      delete: db.prepare<[number, string]>('DELETE FROM memories WHERE owner_no = ? AND memory_id = ?'),
      deleteAll: db.prepare<[number]>('DELETE FROM memories WHERE owner_no = ?'),
      deleteOwner: db.prepare<[number]>('DELETE FROM memory_owners WHERE owner_no = ?'),
      taint: db.prepare<[number, string]>(
        'UPDATE memories SET tainted = 1 WHERE owner_no = ? AND turn_id = ?',
      ),
    };
  }

  add(owner: MemoryOwner, { text, turn_id, tainted }: NewMemory): Promise<Memory> {
    return this.#kernel.write(() => {
      const owner_no = this.#claim(owner) ?? this.#statements.addOwner.get(owner.key, owner.alias) ?? 0;
      const now = this.#clock.now();
      const equal = this.#statements.equal.get(owner_no, text);
      if (equal) {
        const stays = tainted && equal.tainted === 1;
        this.#statements.renew.run(turn_id, Number(stays), now, now, equal.memory_no);
        const { memory_id } = equal;
        return { memory_id, text, turn_id, tainted: stays, created_at: now, used_at: now };
      }
      this.#statements.leastUsed.run(owner_no, this.#max - 1);
      const memory_id = timeOrderedId(now);
      const memory_no =
        this.#statements.insert.get(memory_id, owner_no, text, turn_id, Number(tainted), now, now) ?? 0;
      const terms = extractTerms(text).map((term) => tagged(owner_no, term));
      this.#statements.index.run(memory_no, terms.join(' '));
      return { memory_id, text, turn_id, tainted, created_at: now, used_at: now };
    });
  }

  async search(owner: MemoryOwner, query: MemoryQuery): Promise<Memory[]> {
    return this.#read(owner, (owner_no) => {
      const found = wantedTerms(query.text, query.words).map(
        (term) => new Set(this.#statements.find.all(toMatch(owner_no, term))),
      );
      const all = this.#statements.ranked.all(owner_no).map(({ memory_no, tainted }) => ({
        memory_no,
        tainted: tainted === 1,
        matches: found.map((rows) => rows.has(memory_no)),
      }));
      return bestMemories(all, query)
        .flatMap(({ memory_no }) => this.#statements.one.get(owner_no, memory_no) ?? [])
        .map(toMemory);
    });
  }

  list(owner: MemoryOwner): Promise<Memory[]> {
    return this.#read(owner, (owner_no) => this.#statements.all.all(owner_no).map(toMemory));
  }

  use(owner: MemoryOwner, ids: readonly string[]): Promise<void> {
    return this.#kernel.write(() => {
      const owner_no = this.#claim(owner);
      if (owner_no === null) return;
      for (const id of ids) this.#statements.use.run(this.#clock.now(), owner_no, id);
    });
  }

  forget(owner: MemoryOwner, ids: readonly string[] | 'all'): Promise<number> {
    return this.#kernel.write(() => {
      const owner_no = this.#claim(owner);
      if (owner_no === null) return 0;
      if (ids === 'all') {
        const deleted = this.#statements.deleteAll.run(owner_no).changes;
        this.#statements.deleteOwner.run(owner_no);
        return deleted;
      }
      return ids.reduce((sum, id) => sum + this.#statements.delete.run(owner_no, id).changes, 0);
    });
  }

  taint(owner: MemoryOwner, turn_id: string): Promise<void> {
    return this.#kernel.write(() => {
      const owner_no = this.#claim(owner);
      if (owner_no !== null) this.#statements.taint.run(owner_no, turn_id);
    });
  }

  /** Always resolves: the store has its own check. */
  async check(): Promise<void> {}

  /** Does nothing: the memories are closed together with their store. */
  async close(): Promise<void> {}

  /** Reads the owner's memories. Writes only if the owner's alias is new or has changed. */
  async #read(owner: MemoryOwner, work: (owner_no: number) => Memory[]): Promise<Memory[]> {
    const found = await retrying(() => this.#statements.owner.get(owner.key));
    if (!found) return [];
    if (aliasChange(found.alias, owner.alias) !== 'none')
      await this.#kernel.write(() => void this.#claim(owner));
    return retrying(() => work(found.owner_no));
  }

  /**
   * Within a commit: the owner's number; null if nothing is stored under the key. Deletes the memories if they were
   * stored with another alias.
   */
  #claim({ key, alias }: MemoryOwner): number | null {
    const found = this.#statements.owner.get(key);
    if (!found) return null;
    const change = aliasChange(found.alias, alias);
    if (change === 'new_owner') this.#statements.deleteAll.run(found.owner_no);
    if (change !== 'none' && alias !== null) this.#statements.setAlias.run(alias, found.owner_no);
    return found.owner_no;
  }
}

/**
 * Puts a tag of the owner before the term. No tag is a prefix of another tag, so a prefix search finds only words of
 * this owner.
 */
function tagged(owner_no: number, term: string): string {
  return `${owner_no}z${term}`;
}

/** An FTS5 query for the term. The term is quoted, although it contains only letters and digits. */
function toMatch(owner_no: number, { term, prefix }: WantedTerm): string {
  return `"${tagged(owner_no, term).replaceAll('"', '""')}"${prefix ? ' *' : ''}`;
}

function toMemory({ memory_no: _memory_no, tainted, ...row }: MemoryRow): Memory {
  return { ...row, tainted: tainted === 1 };
}
