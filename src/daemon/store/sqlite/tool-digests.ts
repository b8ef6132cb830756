import type Database from 'better-sqlite3';
import type { Clock } from '../../time/clock.ts';
import { observedTool, trustedTool } from '../observed-tool.ts';
import type { ToolDefinition, ToolDigest, ToolDigestStore } from '../tool-digests.ts';
import { type GroupCommit, read } from './writer.ts';

interface Row {
  name: string;
  source: string;
  /** A definition as JSON, like `changed`. */
  trusted: string;
  trusted_at: number;
  changed: string | null;
  changed_at: number | null;
}

const COLUMNS = 'name, source, trusted, trusted_at, changed, changed_at';

/** How MCP servers define their tools: one row for each tool. */
export class SqliteToolDigests implements ToolDigestStore {
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #find;
  readonly #list;
  readonly #put;

  constructor(db: Database.Database, commit: GroupCommit, clock: Clock) {
    this.#commit = commit;
    this.#clock = clock;
    this.#find = db.prepare<[string], Row>(`SELECT ${COLUMNS} FROM tool_digests WHERE name = ?`);
    this.#list = db.prepare<[], Row>(`SELECT ${COLUMNS} FROM tool_digests ORDER BY name`);
    this.#put = db.prepare<Row>(
      `INSERT OR REPLACE INTO tool_digests (${COLUMNS})
       VALUES (@name, @source, @trusted, @trusted_at, @changed, @changed_at)`,
    );
  }

  observe(name: string, source: string, seen: ToolDefinition): Promise<ToolDigest> {
    return this.#commit.write(() =>
      this.#store(observedTool(this.#get(name), { name, source, seen, now: this.#clock.now() })),
    );
  }

  find(name: string): Promise<ToolDigest | null> {
    return read(() => this.#get(name));
  }

  list(): Promise<ToolDigest[]> {
    return read(() => this.#list.all().map(recordOf));
  }

  trust(name: string, digest: string): Promise<boolean> {
    return this.#commit.write(() => {
      const record = trustedTool(this.#get(name), digest, this.#clock.now());
      if (record) this.#store(record);
      return record !== null;
    });
  }

  #get(name: string): ToolDigest | null {
    const row = this.#find.get(name);
    return row ? recordOf(row) : null;
  }

  #store(tool: ToolDigest): ToolDigest {
    const changed = tool.changed && JSON.stringify(tool.changed);
    this.#put.run({ ...tool, trusted: JSON.stringify(tool.trusted), changed });
    return tool;
  }
}

function recordOf({ trusted, changed, ...row }: Row): ToolDigest {
  return {
    ...row,
    trusted: JSON.parse(trusted) as ToolDefinition,
    changed: changed === null ? null : (JSON.parse(changed) as ToolDefinition),
  };
}
