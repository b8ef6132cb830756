import type { MessageSpan } from '../trace/span.ts';
import type { TraceLine } from '../trace/trace-record.ts';
import type { Arrival } from './arrival.ts';
import type { Services } from './services.ts';
import type { Arrived } from './turn.ts';

/**
 * Starts the span of a message, and adds the trace lines that were written before the start.
 * @returns null if no spans are collected.
 */
export function beginSpan(
  { turn_id, channel, validated, parent_span }: Arrival<Arrived>,
  { observer }: Pick<Services, 'observer'>,
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
