import { setTimeout as delay } from 'node:timers/promises';
import { type AnswerHandler, EVENT_READERS, type StreamEnd } from '../../channel/event-stream.ts';
import { jsonObject } from '../../channel/json-object.ts';
import { type CliError, failed, unavailable } from '../cli-error.ts';
import { describeRefusal } from './describe-refusal.ts';
import { EventParser } from './event-parser.ts';
import { ConnectionLost } from './stream-client.ts';

export interface AnswerListener extends AnswerHandler {
  /** Called with false when the connection is lost and will be made again, and with true when it works again. */
  connected(yes: boolean): void;
}

export interface Patience {
  /** How long to continue without a new event, ms. */
  patience_ms: number;
  /** Delays between attempts, ms. The last one is repeated. */
  waits_ms: readonly number[];
}

/** The default: longer than a restart takes, and longer than a stopping daemon waits for its answers. */
export const PATIENCE: Patience = { patience_ms: 120_000, waits_ms: [300, 1000, 2000, 4000] };

/**
 * Reads an answer to its end, over several connections if necessary. Each connection continues after the last event
 * that was read, so no piece is lost or repeated.
 *
 * @param open opens the stream after an event; resolves to null if no events are left
 * @throws CliError if the answer failed, or nothing arrived for too long; the reason of `signal` if it aborts
 */
export async function readAnswer(
  open: (after: number) => Promise<AsyncIterable<Uint8Array> | null>,
  listener: AnswerListener,
  signal: AbortSignal,
  { patience_ms, waits_ms }: Patience = PATIENCE,
): Promise<StreamEnd> {
  let end: StreamEnd | null = null;
  const handler = {
    ...listener,
    ended: (last: StreamEnd) => {
      end = last;
    },
    failed({ code, message }: Readonly<Record<string, unknown>>) {
      throw describeRefusal({ code, detail: message }, 0, 0);
    },
  };
  let last = 0;
  let attempts = 0;
  let lastEventAt = performance.now();
  for (;;) {
    let lost = new ConnectionLost('the connection ended early');
    try {
      const pieces = await open(last);
      if (pieces === null) throw failed('the stream ended without the end of the answer', 'Ask again.');
      listener.connected(true);
      const parser = new EventParser();
      for await (const piece of pieces) {
        for (const { id, event, data } of parser.push(piece)) {
          if (!(Number(id) > last)) continue;
          last = Number(id);
          attempts = 0;
          lastEventAt = performance.now();
          if (Object.hasOwn(EVENT_READERS, event)) EVENT_READERS[event]?.(jsonObject(data), handler);
          if (end) return end;
        }
      }
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      lost = error;
    }
    listener.connected(false);
    const wait = Math.max(waits_ms[Math.min(attempts++, waits_ms.length - 1)] ?? 0, lost.wait_ms);
    if (performance.now() + wait - lastEventAt > patience_ms) throw outOfReach(lost);
    await delay(wait, undefined, { signal });
  }
}

/** The error for a daemon that answered before, but has not answered for too long. */
export function outOfReach(lost: ConnectionLost): CliError {
  return unavailable(
    `cannot reach the daemon: ${lost.message}`,
    'Check with `agentd status` that it is running. If it has answered, `agentd sessions show` has the answer.',
    { cause: lost },
  );
}
