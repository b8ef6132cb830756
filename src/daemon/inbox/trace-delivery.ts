import type { Services } from '../message/services.ts';
import type { InboxMessage } from '../store/inbox/inbox.ts';

/**
 * Stores the outcome of an attempt to send in a separate trace, because the trace of the run was complete when the
 * reply was stored. Not called for a first attempt that succeeds, because the message in the inbox already shows that.
 * Texts without a run have no trace.
 */
export async function traceDelivery(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  message: InboxMessage,
  { outcome, began }: { outcome: string; began: number },
): Promise<void> {
  if (message.session_id === null) return;
  const finished_at = clock.now();
  const [word = outcome, words] = outcome.split(': ', 2);
  await store.traces.keep({
    turn_id: message.id,
    request_id: message.request_id,
    session_id: message.session_id,
    message_id: message.message_id,
    platform: message.platform,
    user_id: message.message?.user_id ?? null,
    started_at: began,
    finished_at,
    outcome: word,
    lines: [
      {
        at: finished_at,
        step: 'send-reply',
        verdict: word === 'sent' ? 'ok' : 'failed',
        reason: word,
        detail: {
          sends: message.sends,
          notice: message.notice !== null,
          ...(words === undefined ? {} : { words }),
        },
        took_ms: finished_at - began,
      },
    ],
  });
}
