import { setImmediate } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import { MARK_LENGTH, SEALED } from '../../identity/seal.ts';
import type { Clock } from '../../time/clock.ts';
import type { StoredToken } from '../stored-tokens.ts';
import { type GroupCommit, read } from './writer.ts';

/** Maximum number of rows that one read returns. It limits how long a read blocks the event loop. */
const BITE = 500;
/** Maximum number of rows that one read examines if SQLite filters them. */
const SPAN = 1000;

/** A row that may contain a token, with its position in its table (`place`). */
type Row = (StoredToken | { token: null }) & { place: number | string };

/** How far a table has been read, and which tokens to leave out. */
interface Position {
  /** The `place` up to which the table has been read. */
  after: Row['place'];
  /** Tokens that begin with this prefix are left out. */
  unlike: string;
  now: number;
}

interface Tokens {
  tokens: StoredToken[];
  /** The `place` up to which the table has been read; undefined at the end of the table. */
  after: Row['place'] | undefined;
}

/** A table that contains tokens, read step by step. */
interface Table {
  /** A `place` before the first row. */
  start: Row['place'];
  next(position: Position): Tokens;
}

const TOKEN_OF_SESSION = `metadata ->> '$.jwt_context.token'`;

/** The tokens of links, streams and sessions. Each of them is sealed separately. */
const TOKENS = `
  SELECT token FROM links WHERE expires_at > @now
  UNION ALL
  SELECT token FROM streams WHERE token IS NOT NULL AND (expires_at IS NULL OR expires_at > @now)
  UNION ALL
  SELECT ${TOKEN_OF_SESSION} FROM sessions WHERE expires_at > @now AND metadata <> '{}'`;

/** SQL that tests whether a token is unsealed. It must be the same expression as in the index. */
const isUnsealed = (text: string) => `substr(${text}, 1, 10) <> '${SEALED}'`;

/** The tokens of links, sessions and streams, as they are stored, and the texts of actions. */
export class StoredTokens {
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #count;
  readonly #countSeals;
  /** All tables that contain tokens. `#unsealed`: the same tables, limited to unsealed tokens. */
  readonly #all: readonly Table[];
  readonly #unsealed: readonly Table[];
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
    const bites = (start: Row['place'], sql: string): Table => {
      const rows = db.prepare<Position & { bite: number }, Row>(sql);
      return {
        start,
        next(position) {
          const found = rows.all({ ...position, bite: BITE });
          const tokens = found.flatMap(tokenOf).filter(({ token }) => !token.startsWith(position.unlike));
          return { tokens, after: found.at(-1)?.place };
        },
      };
    };
    // Most rows of these tables contain no token, or a token to leave out, so SQLite filters them.
    const spans = (table: 'sessions' | 'streams', columns: string, condition: string): Table => {
      const first = db
        .prepare<[Row['place']], number | null>(`SELECT min(id) FROM ${table} WHERE id > ?`)
        .pluck();
      const rows = db.prepare<Position & { upto: number }, Row>(
        `SELECT id AS place, ${columns} FROM ${table} WHERE id > @after AND id <= @upto AND ${condition}`,
      );
      return {
        start: 0,
        next(position) {
          const from = first.get(position.after) ?? null;
          if (from === null) return { tokens: [], after: undefined };
          const upto = from + SPAN;
          return { tokens: rows.all({ ...position, upto }).flatMap(tokenOf), after: upto };
        },
      };
    };
    const links = bites(
      '',
      `SELECT key AS place, 'link' AS kind, key, token FROM links
       WHERE key > @after AND expires_at > @now ORDER BY key LIMIT @bite`,
    );
    const ofSession = `'session' AS kind, coalesce(former_id, session_id) AS tag, bound_user_id AS user_id,
      ${TOKEN_OF_SESSION} AS token`;
    const isWanted = (token: string) => `substr(${token}, 1, length(@unlike)) <> @unlike`;
    const sessions = spans(
      'sessions',
      ofSession,
      `bound_user_id IS NOT NULL AND expires_at > @now AND ${isWanted(TOKEN_OF_SESSION)}`,
    );
    const unsealedSessions = bites(
      0,
      `SELECT id AS place, ${ofSession} FROM sessions INDEXED BY sessions_unsealed
       WHERE bound_user_id IS NOT NULL AND ${isUnsealed(TOKEN_OF_SESSION)}
         AND id > @after AND expires_at > @now ORDER BY id LIMIT @bite`,
    );
    const streams = spans(
      'streams',
      `'stream' AS kind, stream_id, token`,
      `token IS NOT NULL AND (expires_at IS NULL OR expires_at > @now) AND ${isWanted('token')}`,
    );
    // The index finds unsealed actions by their `args`. Therefore `args` is replaced last: after that, the index no
    // longer finds the other texts of the action.
    const actions = (which: string) =>
      (['answer', 'summary', 'args'] as const).map((field) =>
        bites(
          0,
          `SELECT id AS place, 'action' AS kind, action_id, '${field}' AS field, ${field} AS token FROM actions
           WHERE id > @after ${which} ORDER BY id LIMIT @bite`,
        ),
      );
    this.#all = [links, sessions, streams, ...actions('')];
    this.#unsealed = [links, unsealedSessions, streams, ...actions(`AND ${isUnsealed('args')}`)];
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

  /** Reads every row that may contain a token. */
  count(prefix: string): Promise<number> {
    return read(() => this.#count.get({ prefix, now: this.#clock.now() }) ?? 0);
  }

  /** Reads every row that may contain a token or a text of an action. */
  countSeals(): Promise<Map<string, number>> {
    return read(() => {
      const counts = this.#countSeals.all({ now: this.#clock.now() });
      return new Map(counts.map(({ mark, count }) => [mark, count]));
    });
  }

  async *all(unlike: string): AsyncGenerator<StoredToken[]> {
    for (const table of unlike === SEALED ? this.#unsealed : this.#all) {
      let after: Row['place'] | undefined = table.start;
      while (after !== undefined) {
        const position: Position = { after, unlike, now: this.#clock.now() };
        const found: Tokens = await read(() => table.next(position));
        yield found.tokens;
        await setImmediate();
        after = found.after;
      }
    }
  }

  replace(token: StoredToken, value: string): Promise<boolean> {
    const replace = this.#replace[token.kind === 'action' ? token.field : token.kind];
    return this.#commit.write(() => replace.run({ ...token, value }).changes > 0);
  }
}

/** @returns the token of a row; an empty list if the row contains none. */
function tokenOf({ place: _, ...row }: Row): StoredToken[] {
  return row.token === null ? [] : [row];
}
