import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Answer, type AnswerListener, outOfReach, readAnswer } from './read-answer.ts';
import { ConnectionLost, type Service } from './service.ts';

/** How often a message is sent again that nobody took, and how long before, ms. */
const SEND_WAITS_MS = [300, 1000, 2000, 4000, 8000];
/** How long the end of a stopped answer is waited for, ms. */
const STOP_WITHIN_MS = 10_000;

/** What ends an answer early. */
export interface Interrupts {
  /** The answer is to stop; what was said so far is the reply. */
  stop: AbortSignal;
  /** Nothing more is of interest. */
  leave: AbortSignal;
}

/** Messages of one session and their answers, one after the other. */
export class Conversation {
  readonly #service: Pick<Service, 'start' | 'open' | 'stop'>;
  #session_id: string | null = null;

  constructor(service: Pick<Service, 'start' | 'open' | 'stop'>) {
    this.#service = service;
  }

  /**
   * Says something and tells the answer as it comes. Stopped before it began, the answer is an empty one.
   * @throws CliError where there is no answer; the reason of `leave`
   */
  async say(message: string, listener: AnswerListener, { stop, leave }: Interrupts): Promise<Answer> {
    const over = AbortSignal.any([stop, leave]);
    let stream_id: string;
    try {
      stream_id = await this.#start(message, listener, over);
    } catch (error) {
      // Nobody has opened it, so nothing runs.
      if (stop.aborted && !leave.aborted) return this.#nothing();
      throw error;
    }
    const ended = new AbortController();
    const gone = AbortSignal.any([leave, ended.signal]);
    const told: AnswerListener = {
      ...listener,
      started: (session_id) => {
        this.#session_id = session_id;
        listener.started(session_id);
      },
    };
    const stopping = () => this.#stop(stream_id, ended, leave);
    stop.addEventListener('abort', stopping, { once: true });
    if (stop.aborted) void stopping();
    try {
      return await readAnswer((after) => this.#service.open(stream_id, after, gone), told, gone);
    } catch (error) {
      if (ended.signal.aborted && !leave.aborted) return this.#nothing();
      throw error;
    } finally {
      stop.removeEventListener('abort', stopping);
    }
  }

  /** The daemon ends the stream, which is where its end is read. Never rejects: what fails ends the reading. */
  async #stop(stream_id: string, ended: AbortController, leave: AbortSignal): Promise<void> {
    const timer = setTimeout(() => ended.abort(), STOP_WITHIN_MS);
    leave.addEventListener('abort', () => clearTimeout(timer), { once: true });
    timer.unref();
    try {
      await this.#service.stop(stream_id, leave);
    } catch {
      // Out of reach, or forgotten: whichever, its end will not be heard.
      ended.abort();
    }
  }

  async #start(message: string, listener: AnswerListener, signal: AbortSignal): Promise<string> {
    const outgoing = { key: randomUUID(), message, session_id: this.#session_id };
    for (let attempts = 0; ; attempts++) {
      try {
        return await this.#service.start(outgoing, signal);
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
        const wait = SEND_WAITS_MS[attempts];
        if (wait === undefined) throw outOfReach(error);
        listener.connected(false);
        await delay(Math.max(wait, Math.min(error.wait_ms, 30_000)), undefined, { signal });
      }
    }
  }

  #nothing(): Answer {
    return { session_id: this.#session_id ?? '', response: '', stopped: true };
  }
}
