import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { EventSourceMessage } from 'eventsource-parser';
import { type AnswerHandler, EVENT_READERS, type StreamEnd } from '../../channel/event-stream.ts';
import { jsonObject } from '../../channel/json-object.ts';
import { type CliError, failed, unavailable } from '../cli-error.ts';
import { answerIn, type Question, questionIn } from './question.ts';
import { ConnectionLost, describeRefusal, type Outgoing, type StreamClient } from './stream-client.ts';

/** Delays before an undelivered message is sent again, ms. */
const SEND_WAITS_MS = [300, 1000, 2000, 4000, 8000];
/** How long to wait for the end of a stopped answer, ms. */
const STOP_WITHIN_MS = 10_000;

/** Ways to end an answer early. */
export interface Interrupts {
  /** Stops the answer. The text up to then is the reply. */
  stop: AbortSignal;
  /** Leaves the chat at once. */
  leave: AbortSignal;
}

/** Sends the messages of one session, and reports their answers, one after the other. */
export class Conversation {
  readonly #client: Pick<StreamClient, 'start' | 'open' | 'stop'>;
  #session_id: string | null = null;
  /** The question with which the last answer ends. */
  #asks: Question | null = null;

  constructor(client: Pick<StreamClient, 'start' | 'open' | 'stop'>) {
    this.#client = client;
  }

  /** Null before the first answer. */
  get session_id(): string | null {
    return this.#session_id;
  }

  /** The question that the next message may answer with a key; null if there is none. */
  get question(): Question | null {
    return this.#asks;
  }

  /** The next message begins another session. */
  restart(): void {
    this.#session_id = null;
    this.#asks = null;
  }

  /**
   * Sends a message and reports its answer as it arrives. After a question, the message may answer it (`answerIn`). If
   * the answer is stopped before it begins, it is empty.
   * @throws CliError if there is no answer; the reason of `leave` if it aborts
   */
  async send(message: string, listener: AnswerListener, { stop, leave }: Interrupts): Promise<StreamEnd> {
    let stream_id: string;
    try {
      stream_id = await this.#start(message, listener, AbortSignal.any([stop, leave]));
    } catch (error) {
      // A run starts only when its stream is opened. This stream was not opened, so there is no run to stop.
      if (stop.aborted && !leave.aborted) return this.#nothing();
      throw error;
    }
    const ended = new AbortController();
    const gone = AbortSignal.any([leave, ended.signal]);
    const started: AnswerHandler['started'] = (session_id) => {
      this.#session_id = session_id;
      listener.started(session_id);
    };
    const confirmation: AnswerHandler['confirmation'] = (id, data) => {
      this.#asks = questionIn(id, data);
      listener.confirmation?.(id, data);
    };
    const stopAnswer = () => this.#stop(stream_id, ended, leave);
    stop.addEventListener('abort', stopAnswer, { once: true });
    if (stop.aborted) void stopAnswer();
    try {
      return await readAnswer(
        (after) => this.#client.open(stream_id, after, gone),
        { ...listener, started, confirmation },
        gone,
      );
    } catch (error) {
      if (ended.signal.aborted && !leave.aborted) return this.#nothing();
      throw error;
    } finally {
      stop.removeEventListener('abort', stopAnswer);
    }
  }

  /**
   * Asks the daemon to end the stream, while the reader waits for that end. Never rejects: if the request fails, the
   * reader is stopped.
   */
  async #stop(stream_id: string, ended: AbortController, leave: AbortSignal): Promise<void> {
    const timer = setTimeout(() => ended.abort(), STOP_WITHIN_MS);
    leave.addEventListener('abort', () => clearTimeout(timer), { once: true });
    timer.unref();
    try {
      await this.#client.stop(stream_id, leave);
    } catch {
      // The daemon cannot be reached, or does not know the stream, so the end of the stream will not arrive.
      ended.abort();
    }
  }

  async #start(message: string, listener: AnswerListener, signal: AbortSignal): Promise<string> {
    const outgoing = { key: randomUUID(), session_id: this.#session_id, ...this.#answerIn(message) };
    for (let attempts = 0; ; attempts++) {
      try {
        return await this.#client.start(outgoing, signal);
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
        const wait = SEND_WAITS_MS[attempts];
        if (wait === undefined) throw outOfReach(error);
        listener.connected(false);
        await delay(Math.max(wait, Math.min(error.wait_ms, 30_000)), undefined, { signal });
      }
    }
  }

  /** Only the next message answers the question by its id: if the question stays open, its answer asks again. */
  #answerIn(message: string): Pick<Outgoing, 'message' | 'confirm'> {
    const confirm = this.#asks && answerIn(message, this.#asks);
    this.#asks = null;
    return confirm === null ? { message } : { message: '', confirm };
  }

  #nothing(): StreamEnd {
    return { session_id: this.#session_id ?? '', response: '', stopped: true };
  }
}

export interface AnswerListener extends AnswerHandler {
  /** Called with false when the connection is lost and will be made again, and with true when it works again. */
  connected(yes: boolean): void;
}

interface Patience {
  /** How long to continue without a new event, ms. */
  patience_ms: number;
  /** Delays between attempts, ms. The last one is repeated. */
  waits_ms: readonly number[];
}

/** The default: longer than a restart takes, and longer than a stopping daemon waits for its answers. */
const PATIENCE: Patience = { patience_ms: 120_000, waits_ms: [300, 1000, 2000, 4000] };

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
      for await (const { id, event = '', data } of readEvents(pieces)) {
        if (!(Number(id) > last)) continue;
        last = Number(id);
        attempts = 0;
        lastEventAt = performance.now();
        if (Object.hasOwn(EVENT_READERS, event)) EVENT_READERS[event]?.(jsonObject(data), handler);
        if (end) return end;
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
function outOfReach(lost: ConnectionLost): CliError {
  return unavailable(
    `cannot reach the daemon: ${lost.message}`,
    'Check with `agentd status` that it is running. If it has answered, `agentd sessions show` has the answer.',
    { cause: lost },
  );
}

/** Longest event, in characters: much longer than any reply. */
const EVENT_LENGTH_MAX = 8_388_608;

/** The events of a stream, each as soon as it is complete. @throws ParseError if an event is too long */
async function* readEvents(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<EventSourceMessage> {
  const { createParser } = await import('eventsource-parser');
  const events: EventSourceMessage[] = [];
  const parser = createParser({
    maxBufferSize: EVENT_LENGTH_MAX,
    onEvent: (event) => events.push(event),
    onError(error) {
      if (error.type === 'max-buffer-size-exceeded') throw error;
    },
  });
  const decoder = new TextDecoder();
  for await (const piece of pieces) {
    parser.feed(decoder.decode(piece, { stream: true }));
    yield* events.splice(0);
  }
}
