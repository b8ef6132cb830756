import { Trace } from '../trace/trace.ts';
import type { TraceLine } from '../trace/trace-record.ts';
import type { Arrival } from './arrival.ts';
import { beginSpan } from './begin-span.ts';
import { describeTurn } from './describe-turn.ts';
import type { Services } from './services.ts';
import type { Arrived } from './turn.ts';

/**
 * Makes a turn from a message that has arrived. When the work on the turn has ended, calls the functions that were
 * registered with `defer`, in reverse order.
 * @param options.begun the trace of the message so far. Later lines are appended to this array.
 * @param options.collects false: the turn has no span.
 */
export async function withTurn<Turn extends Arrived, Result>(
  arrival: Arrival<Turn>,
  services: Services,
  work: (turn: Turn) => Promise<Result>,
  { begun = [], collects = true }: { begun?: TraceLine[]; collects?: boolean } = {},
): Promise<Result> {
  const deferred: ((failed: boolean) => Promise<void>)[] = [];
  const span = collects ? beginSpan(arrival, services, begun) : null;
  const turn = {
    ...arrival,
    trace: new Trace(services.clock, begun, span),
    span,
    started_at: services.clock.now(),
    defer: (release: (failed: boolean) => Promise<void>) => void deferred.push(release),
  } as Arrived as Turn;
  let failed = true;
  try {
    const result = await work(turn);
    failed = false;
    return result;
  } finally {
    // If one of the functions fails, the others must still be called.
    for (const release of deferred.reverse()) {
      await release(failed).catch((error: unknown) =>
        services.log.error(
          { ...describeTurn(turn, services), err: error },
          'a resource of the turn could not be released',
        ),
      );
    }
  }
}
