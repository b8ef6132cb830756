import type { Services } from '../services.ts';
import type { TraceRecord } from '../trace/trace-record.ts';
import type { Arrived } from './turn.ts';

/**
 * A message has ended, or one of its runs has.
 * @param runs_again as `Observer.turnTraced` takes it.
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
