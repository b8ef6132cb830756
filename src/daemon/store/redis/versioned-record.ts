import { randomSuffix } from '../../time/clock.ts';
import type { RedisKeyspace } from './keyspace.ts';
import { untilWritten } from './until-written.ts';

/** The next state of a record. */
export interface NextRecord<Result> {
  result: Result;
  /** The new value of the record; null if it stays unchanged. */
  value: string | null;
  /** When the record expires; null for never. */
  expires_at: number | null;
}

/**
 * Changes a record by a rule that runs in this process, not in a script: reads the record, calls the rule, and writes
 * the result if nobody has changed the record in the meantime.
 * @param rule is called with the value, or null if there is none, and the time.
 */
export function changeRecord<Result>(
  redis: RedisKeyspace,
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
