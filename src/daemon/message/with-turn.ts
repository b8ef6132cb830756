import type { Services } from '../services.ts';
import type { MessageSpan } from '../trace/span.ts';
import { Trace } from '../trace/trace.ts';
import type { TraceLine } from '../trace/trace-record.ts';
import type { Arrival } from './arrival.ts';
import { describeTurn } from './describe-turn.ts';
import type { Arrived } from './turn.ts';

/**
 * Makes a turn of a message that has arrived, and releases whatever is registered with `defer` when the work on it has
 * ended, in reverse order.
 * @param begun the trace of the message so far.
 */
export async function withTurn<Turn extends Arrived, Result>(
  arrival: Arrival<Turn>,
  services: Services,
  work: (turn: Turn) => Promise<Result>,
  begun: readonly TraceLine[] = [],
): Promise<Result> {
  const deferred: ((failed: boolean) => Promise<void>)[] = [];
  const span = spanOf(arrival, services, begun);
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
    // One that fails must not keep the others.
    for (const release of deferred.reverse()) {
      await release(failed).catch((error: unknown) =>
        services.log.error({ ...describeTurn(turn, services), err: error }, 'could not be released'),
      );
    }
  }
}

/** It begins with what was noted of the message before. */
function spanOf(
  { turn_id, channel, validated, parent_span }: Arrival<Arrived>,
  { observer }: Services,
  begun: readonly TraceLine[],
): MessageSpan | null {
  const [first] = begun;
  const span = observer.messageBegan({
    turn_id,
    channel: channel.name,
    is_later: channel.has_platform,
    parent: parent_span ?? null,
    is_authenticated: channel.has_platform || validated?.verdict.valid === true,
    began_at: first === undefined ? null : first.at - (first.took_ms ?? 0),
  });
  if (span) for (const line of begun) span.past(line);
  return span;
}
