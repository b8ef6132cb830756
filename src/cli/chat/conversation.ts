import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { AnswerHandler, StreamEnd } from '../../channel/event-stream.ts';
import { type AnswerListener, outOfReach, readAnswer } from './read-answer.ts';
import { ConnectionLost, type Outgoing, type StreamClient } from './stream-client.ts';

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
  /** Id of the action that the last answer asks the person to confirm. */
  #asks: string | null = null;

  constructor(client: Pick<StreamClient, 'start' | 'open' | 'stop'>) {
    this.#client = client;
  }

  /**
   * Sends a message and reports its answer as it arrives. After a question, `y` or `n` answers it. If the answer is
   * stopped before it begins, it is empty.
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
    const confirmation: AnswerHandler['confirmation'] = (id) => {
      this.#asks = id;
      listener.confirmation?.(id);
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

  /** Any message closes the question, so only the next message can answer it. */
  #answerIn(message: string): Pick<Outgoing, 'message' | 'confirm'> {
    const id = this.#asks;
    this.#asks = null;
    const [, yes, no] = /^(?:(y|yes)|(n|no))$/i.exec(message.trim()) ?? [];
    if (id === null || (yes ?? no) === undefined) return { message };
    return { message: '', confirm: { id, approve: yes !== undefined } };
  }

  #nothing(): StreamEnd {
    return { session_id: this.#session_id ?? '', response: '', stopped: true };
  }
}
