import { randomSuffix } from '../../clock.ts';
import type { RedisConnection } from './connection.ts';
import { untilWritten } from './until-written.ts';

/** What becomes of a record. */
export interface NextRecord<Result> {
  result: Result;
  /** Its new value; null: it stays as it is. */
  value: string | null;
  /** Null: never. */
  expires_at: number | null;
}

/**
 * Changes a record by a rule that is not the store's: it is read, the rule computes, and it is written if nobody has
 * changed it meanwhile.
 * @param rule gets the value, null if there is none, and the time.
 */
export function changeRecord<Result>(
  redis: RedisConnection,
  key: string,
  rule: (value: string | null, now: number) => NextRecord<Result>,
): Promise<Result> {
  return untilWritten(async () => {
    const [now, version, value] = (await redis.run('read-versions', [key])) as [
      number,
      string | null,
      string | null,
    ];
    const next = rule(value, now);
    if (next.value === null) return { result: next.result };
    const args = [version ?? '', randomSuffix(), next.value, next.expires_at ?? ''];
    const written = await redis.run('compare-and-set', [key], ...args);
    return written === 1 ? { result: next.result } : null;
  }).then(({ result }) => result);
}
