import type { TraceRecord } from '../trace/trace-record.ts';
import type { Services } from './services.ts';
import type { Arrived } from './turn.ts';

/**
 * Reports the end of a message, or of one of its runs.
 * @param runs_again see `Observer.turnTraced`.
 */
export function endTrace(
  { span }: Pick<Arrived, 'span'>,
  record: TraceRecord,
  runs_again: boolean,
  { observer }: Pick<Services, 'observer'>,
): void {
  span?.end(record);
  observer.turnTraced(record, runs_again);
}
