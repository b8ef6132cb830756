import { setImmediate } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import type { Clock } from '../../clock.ts';
import { MARK_LENGTH, SEALED } from '../../identity/seal.ts';
import type { StoredToken } from '../stored-tokens.ts';
import { type GroupCommit, read } from './writer.ts';

/** Rows that are read at once: bounds how long one read holds the event loop. */
const BITE = 500;

/** A row that may hold a token, with its place in its table. */
type Row = (StoredToken | { token: null }) & { place: number | string };

interface Bite {
  /** The place of the last row of the bite before. */
  after: Row['place'];
  now: number;
  bite: number;
}

const TOKEN_OF_SESSION = `metadata ->> '$.jwt_context.token'`;

/** The tokens that are sealed alone. */
const TOKENS = `
  SELECT token FROM links WHERE expires_at > @now
  UNION ALL
  SELECT token FROM streams WHERE token IS NOT NULL AND (expires_at IS NULL OR expires_at > @now)
  UNION ALL
  SELECT ${TOKEN_OF_SESSION} FROM sessions WHERE expires_at > @now AND metadata <> '{}'`;

const UNSEALED_ACTIONS = `AND substr(args, 1, 10) <> '${SEALED}'`;

/** The tokens of links, sessions and streams, as they are stored, and the texts of actions. */
export class StoredTokens {
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #count;
  readonly #countSeals;
  readonly #tables;
  readonly #actions;
  readonly #replace;

  constructor(db: Database.Database, commit: GroupCommit, clock: Clock) {
    this.#commit = commit;
    this.#clock = clock;
    this.#count = db
      .prepare<{ prefix: string; now: number }, number>(
        `WITH stored (token) AS (${TOKENS} UNION ALL SELECT args FROM actions)
         SELECT count(*) FROM stored WHERE substr(token, 1, length(@prefix)) = @prefix`,
      )
      .pluck();
    this.#countSeals = db.prepare<{ now: number }, { mark: string; count: number }>(
      `WITH stored (token) AS (${TOKENS}
         UNION ALL SELECT args FROM actions
         UNION ALL SELECT summary FROM actions
         UNION ALL SELECT answer FROM actions)
       SELECT iif(substr(token, 1, ${SEALED.length}) = '${SEALED}', substr(token, 1, ${MARK_LENGTH}), '') AS mark,
         count(*) AS count
       FROM stored WHERE token IS NOT NULL GROUP BY mark`,
    );
    const table = (start: Row['place'], sql: string) => ({ start, rows: db.prepare<Bite, Row>(sql) });
    this.#tables = [
      table(
        '',
        `SELECT key AS place, 'link' AS kind, key, token FROM links
         WHERE key > @after AND expires_at > @now ORDER BY key LIMIT @bite`,
      ),
      table(
        0,
        `SELECT id AS place, 'session' AS kind, coalesce(former_id, session_id) AS tag, bound_user_id AS user_id,
           iif(bound_user_id IS NULL, NULL, ${TOKEN_OF_SESSION}) AS token FROM sessions
         WHERE id > @after AND expires_at > @now ORDER BY id LIMIT @bite`,
      ),
      table(
        0,
        `SELECT id AS place, 'stream' AS kind, stream_id, token FROM streams
         WHERE id > @after AND (expires_at IS NULL OR expires_at > @now) ORDER BY id LIMIT @bite`,
      ),
    ];
    // The index of unsealed actions goes by the arguments, so these are replaced last.
    const actions = (which: string) =>
      (['answer', 'summary', 'args'] as const).map((field) =>
        table(
          0,
          `SELECT id AS place, 'action' AS kind, action_id, '${field}' AS field, ${field} AS token FROM actions
           WHERE id > @after ${which} ORDER BY id LIMIT @bite`,
        ),
      );
    this.#actions = { all: actions(''), unsealed: actions(UNSEALED_ACTIONS) };
    const replaceText = (field: string) =>
      db.prepare(`UPDATE actions SET ${field} = @value WHERE action_id = @action_id AND ${field} = @token`);
    this.#replace = {
      link: db.prepare('UPDATE links SET token = @value WHERE key = @key AND token = @token'),
      session: db.prepare(
        `UPDATE sessions SET metadata = json_set(metadata, '$.jwt_context.token', @value)
         WHERE (former_id = @tag OR (former_id IS NULL AND session_id = @tag))
           AND bound_user_id = @user_id AND ${TOKEN_OF_SESSION} = @token`,
      ),
      stream: db.prepare('UPDATE streams SET token = @value WHERE stream_id = @stream_id AND token = @token'),
      args: replaceText('args'),
      summary: replaceText('summary'),
      answer: replaceText('answer'),
    };
  }

  /** Reads every row that may hold a token. */
  count(prefix: string): Promise<number> {
    return read(() => this.#count.get({ prefix, now: this.#clock.now() }) ?? 0);
  }

  /** Reads every row that may hold a token or a text of an action. */
  countSeals(): Promise<Map<string, number>> {
    return read(() => {
      const counts = this.#countSeals.all({ now: this.#clock.now() });
      return new Map(counts.map(({ mark, count }) => [mark, count]));
    });
  }

  async *all(unlike: string): AsyncGenerator<StoredToken[]> {
    const actions = unlike === SEALED ? this.#actions.unsealed : this.#actions.all;
    for (const { start, rows } of [...this.#tables, ...actions]) {
      let after: Row['place'] | undefined = start;
      while (after !== undefined) {
        const bite: Bite = { after, now: this.#clock.now(), bite: BITE };
        const found: Row[] = await read(() => rows.all(bite));
        yield found.flatMap(tokenOf).filter(({ token }) => !token.startsWith(unlike));
        await setImmediate();
        after = found.at(-1)?.place;
      }
    }
  }

  replace(token: StoredToken, value: string): Promise<boolean> {
    const replace = this.#replace[token.kind === 'action' ? token.field : token.kind];
    return this.#commit.write(() => replace.run({ ...token, value }).changes > 0);
  }
}

/** @returns nothing if the row holds no token. */
function tokenOf({ place: _, ...row }: Row): StoredToken[] {
  return row.token === null ? [] : [row];
}
