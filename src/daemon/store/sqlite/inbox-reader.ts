import type Database from 'better-sqlite3';
import { INBOX_FOUND_MAX } from '../bounds.ts';
import type { InboxCount, InboxMessage, InboxState } from '../inbox.ts';
import { COLUMNS, type InboxRow, messageOf } from './inbox-row.ts';
import { read } from './writer.ts';

/** Reads messages of the inbox for administrators. */
export class InboxReader {
  readonly #list;
  readonly #counts;
  readonly #find;
  readonly #search;

  constructor(db: Database.Database) {
    // Two queries, because each of them uses a different index.
    this.#list = db.prepare<{ states: string; limit: number }, InboxRow>(
      `SELECT ${COLUMNS} FROM inbox WHERE seq IN
         (SELECT seq FROM inbox WHERE ended_at IS NULL AND state IN (SELECT value FROM json_each(@states))
          UNION ALL
          SELECT seq FROM inbox WHERE ended_at IS NOT NULL AND state IN (SELECT value FROM json_each(@states)))
       ORDER BY seq DESC LIMIT @limit`,
    );
    this.#counts = db.prepare<[], InboxCount>(
      `SELECT platform, state, count(*) AS messages, min(received_at) AS oldest_at FROM
         (SELECT platform, state, received_at FROM inbox WHERE ended_at IS NULL
          UNION ALL
          SELECT platform, state, received_at FROM inbox WHERE ended_at IS NOT NULL AND state = 'failed')
       GROUP BY platform, state`,
    );
    this.#find = db.prepare<[string], InboxRow>(`SELECT ${COLUMNS} FROM inbox WHERE id = ?`);
    // Searches the known ids of each channel, and all messages that are not done. Each of these searches uses an index.
    const named = `id = @id OR message_id = @id OR (platform = @channel AND message_id = @rest)
      OR request_id = @id OR session_id = @id`;
    this.#search = db.prepare<{ id: string; channel: string; rest: string }, InboxRow>(
      `WITH RECURSIVE channels (name) AS (
         SELECT min(platform) FROM known_messages UNION ALL
         SELECT (SELECT min(platform) FROM known_messages WHERE platform > name) FROM channels
         WHERE name IS NOT NULL)
       SELECT ${COLUMNS} FROM inbox WHERE id IN (
         SELECT @id UNION ALL
         SELECT known.id FROM channels CROSS JOIN known_messages AS known
           ON platform = name AND (message_id = @id OR (name = @channel AND message_id = @rest)) UNION ALL
         SELECT id FROM inbox WHERE ended_at IS NULL AND (${named}) UNION ALL
         SELECT id FROM inbox WHERE ended_at IS NOT NULL AND state = 'failed' AND (${named}))
       ORDER BY seq DESC LIMIT ${INBOX_FOUND_MAX}`,
    );
  }

  list({ states, limit }: { states: readonly InboxState[]; limit: number }): Promise<InboxMessage[]> {
    return read(() => this.#list.all({ states: JSON.stringify(states), limit }).map(messageOf));
  }

  counts(): Promise<InboxCount[]> {
    return read(() => this.#counts.all());
  }

  find(id: string): Promise<InboxMessage | null> {
    return read(() => {
      const row = this.#find.get(id);
      return row ? messageOf(row) : null;
    });
  }

  search(id: string): Promise<InboxMessage[]> {
    const colon = id.indexOf(':');
    const [channel, rest] = colon < 0 ? ['', ''] : [id.slice(0, colon), id.slice(colon + 1)];
    return read(() => this.#search.all({ id, channel, rest }).map(messageOf));
  }
}
