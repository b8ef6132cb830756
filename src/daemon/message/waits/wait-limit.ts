import { AgentdError, daemonStopping } from '../../errors.ts';
import type { AlarmClock } from '../../time/clock.ts';
import { TimeLimit } from '../../time/time-limit.ts';
import type { StepLine } from '../../trace/trace-record.ts';

/** The current limits. They may change. */
interface WaitLimits {
  /** AGENT_QUEUE_MAX: how many messages may wait, for their session or for a run. */
  readonly max: number;
  /** AGENT_QUEUE_WAIT_SECONDS, in ms. */
  readonly wait_ms: number;
}

/** A message that must wait. */
export interface Waiter {
  line: StepLine;
  /**
   * True: the message waits until the daemon stops, and neither limit applies, because no client is waiting for a
   * response.
   */
  patient: boolean;
}

/** Limits how many messages wait for their session or for a run, and how long they wait. */
export class WaitLimit {
  readonly #clock: AlarmClock;
  readonly #limits: WaitLimits;
  readonly #stopping: AbortSignal;
  #waiting = 0;

  constructor(clock: AlarmClock, stopping: AbortSignal, limits: WaitLimits) {
    this.#clock = clock;
    this.#stopping = stopping;
    this.#limits = limits;
  }

  /** The number of waiting messages that the limit counts. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Calls `wait` at once. Resolves to its result.
   * @throws `unavailable` if too many messages wait, if this message waits too long, or if the daemon stops.
   */
  async bound<T>({ line, patient }: Waiter, wait: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (patient) return this.#untilStopped(line, this.#stopping, wait);
    if (this.#waiting >= this.#limits.max) {
      line.reason = 'queue_full';
      throw new AgentdError('unavailable', 'Too many messages are waiting for an answer.', { retryAfter: 5 });
    }
    this.#waiting++;
    const limit = new TimeLimit(this.#clock, this.#limits.wait_ms, [this.#stopping]);
    try {
      return await this.#untilStopped(line, limit.signal, wait);
    } catch (error) {
      if (!limit.passed) throw error;
      line.reason = 'queue_wait';
      throw new AgentdError('unavailable', 'The message waited too long for its session or for a run.', {
        retryAfter: 5,
      });
    } finally {
      limit.lift();
      this.#waiting--;
    }
  }

  async #untilStopped<T>(
    line: StepLine,
    signal: AbortSignal,
    wait: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    try {
      return await wait(signal);
    } catch (error) {
      if (!this.#stopping.aborted) throw error;
      line.reason = 'stopping';
      throw daemonStopping();
    }
  }
}
