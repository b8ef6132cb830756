import { setTimeout as delay } from 'node:timers/promises';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { EventParser, type ServerEvent } from './event-parser.ts';
import { refusal } from './refusal.ts';
import { ConnectionLost } from './service.ts';

/** What an answer tells while it comes. */
export interface AnswerListener {
  started(session_id: string): void;
  text(piece: string): void;
  tool(name: string, status: string): void;
  /** The connection is being made again (false), or is there again. */
  connected(yes: boolean): void;
}

export interface Answer {
  session_id: string;
  /** The whole of it. */
  response: string;
  stopped: boolean;
}

export interface Patience {
  /** How long to go on without a single new event, ms. */
  patience_ms: number;
  /** Waits between attempts, the last one again and again, ms. */
  waits_ms: readonly number[];
}

/** Longer than a restart takes, and than the stop of a daemon that lets its answers finish. */
export const PATIENCE: Patience = { patience_ms: 120_000, waits_ms: [300, 1000, 2000, 4000] };

/**
 * Reads an answer to its end, over as many connections as it takes: each goes on after the last event that
 * was taken, so that no piece is lost and none comes twice.
 *
 * @param open the bytes of the stream after an event; null: there are none left
 * @throws CliError where the answer failed, or nothing came for too long; the signal's reason
 */
export async function readAnswer(
  open: (after: number) => Promise<AsyncIterable<Uint8Array> | null>,
  listener: AnswerListener,
  signal: AbortSignal,
  { patience_ms, waits_ms }: Patience = PATIENCE,
): Promise<Answer> {
  let last = 0;
  let attempts = 0;
  let heard = performance.now();
  for (;;) {
    let lost = new ConnectionLost('the connection ended early');
    try {
      const pieces = await open(last);
      if (pieces === null) throw incomplete();
      listener.connected(true);
      const parser = new EventParser();
      for await (const piece of pieces) {
        for (const event of parser.push(piece)) {
          const id = Number(event.id);
          if (!(id > last)) continue;
          last = id;
          attempts = 0;
          heard = performance.now();
          const answer = tell(event, listener);
          if (answer) return answer;
        }
      }
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      lost = error;
    }
    listener.connected(false);
    const wait = Math.max(waits_ms[Math.min(attempts++, waits_ms.length - 1)] ?? 0, lost.wait_ms);
    if (performance.now() + wait - heard > patience_ms) throw outOfReach(lost);
    await delay(wait, undefined, { signal });
  }
}

/** @returns the answer where the event ends it. */
function tell({ event, data }: ServerEvent, listener: AnswerListener): Answer | null {
  const { session_id, text, tool_name, status, response, stopped, code, message } = objectIn(data);
  switch (event) {
    case 'stream_start':
      listener.started(words(session_id));
      return null;
    case 'text_chunk':
      listener.text(words(text));
      return null;
    case 'tool_call':
      listener.tool(words(tool_name), words(status));
      return null;
    case 'complete':
    case 'stream_complete':
      return { session_id: words(session_id), response: words(response), stopped: stopped === true };
    case 'error':
      throw refusal({ code, detail: message }, 0, 0);
    default:
      return null;
  }
}

/** An event whose data is no object tells nothing. */
function objectIn(data: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function words(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function incomplete(): CliError {
  return new CliError(EXIT.no, 'the daemon has nothing more to say, and the answer has no end', 'Ask again.');
}

/** The daemon was there, and has been away for too long. */
export function outOfReach(lost: ConnectionLost): CliError {
  return new CliError(
    EXIT.unavailable,
    `the daemon is out of reach: ${lost.message}`,
    'Is it running? `agentd status` tells. The answer, if there is one, is in `agentd sessions show`.',
    { cause: lost },
  );
}
