import type Database from 'better-sqlite3';

/** Counts the live tokens that are stored with a value that begins with `prefix`. Reads every row that may hold one. */
export function countTokens(db: Database.Database, prefix: string, now: number): number {
  const tokens = db
    .prepare<{ prefix: string; now: number }, number>(
      `WITH stored (token) AS (
         SELECT token FROM links WHERE expires_at > @now
         UNION ALL
         SELECT token FROM streams WHERE token IS NOT NULL AND (expires_at IS NULL OR expires_at > @now)
         UNION ALL
         SELECT metadata ->> '$.jwt_context.token' FROM sessions WHERE expires_at > @now AND metadata <> '{}'
       )
       SELECT count(*) FROM stored WHERE substr(token, 1, length(@prefix)) = @prefix`,
    )
    .pluck();
  return tokens.get({ prefix, now }) ?? 0;
}
