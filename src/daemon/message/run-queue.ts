import { AgentdError } from '../errors.ts';
import type { Lease, LeaseStore } from '../store/leases.ts';
import type { StepLine } from '../trace/trace-record.ts';

export interface RunQueueOptions {
  /** AGENT_CONCURRENCY: runs at once. */
  concurrency: number;
  /** AGENT_QUEUE_MAX: messages that may wait, for their session or for a run. */
  max: number;
  /** AGENT_QUEUE_WAIT_SECONDS, in ms. */
  wait_ms: number;
}

/**
 * Where messages wait: for the other messages of their session, then for one of the bounded number of
 * runs. The wait is bounded in number and time; beyond either the answer is `unavailable` (503). Messages of
 * the inbox are bounded by those who take them from it, and nobody waits at a connection for them: given
 * `patience`, they wait until it aborts and count in neither bound.
 */
export class RunQueue {
  readonly #leases: LeaseStore;
  readonly #options: RunQueueOptions;
  /** Messages here per session, those that run included. */
  readonly #sessions = new Map<string, number>();
  readonly #slots: (() => void)[] = [];
  #running = 0;
  #waiting = 0;

  constructor(leases: LeaseStore, options: RunQueueOptions) {
    this.#leases = leases;
    this.#options = options;
  }

  /** Messages that wait now. */
  get waiting(): number {
    return this.#waiting;
  }

  /** The session's turn; released when the message is done. */
  async takeTurn(session_id: string, line: StepLine, patience?: AbortSignal): Promise<Lease> {
    const here = this.#sessions.get(session_id) ?? 0;
    const contended = here > 0 && !patience;
    if (contended) this.#admitWaiter(line);
    this.#sessions.set(session_id, here + 1);
    try {
      const lease = await this.#wait(line, patience, (signal) => this.#leases.acquire(session_id, signal));
      return {
        lost: lease.lost,
        release: async () => {
          this.#leave(session_id);
          await lease.release();
        },
      };
    } catch (error) {
      this.#leave(session_id);
      throw error;
    } finally {
      if (contended) this.#waiting--;
    }
  }

  /** One of the runs; the result gives it back. */
  async takeRun(line: StepLine, patience?: AbortSignal): Promise<() => void> {
    if (this.#running < this.#options.concurrency) {
      this.#running++;
    } else if (patience) {
      await this.#wait(line, patience, (signal) => this.#nextSlot(signal));
    } else {
      this.#admitWaiter(line);
      try {
        await this.#wait(line, undefined, (signal) => this.#nextSlot(signal));
      } finally {
        this.#waiting--;
      }
    }
    return () => {
      const next = this.#slots.shift();
      // Handed over as it is: the number that runs stays the same.
      if (next) next();
      else this.#running--;
    };
  }

  #nextSlot(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const take = () => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = () => {
        this.#slots.splice(this.#slots.indexOf(take), 1);
        reject(signal.reason);
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#slots.push(take);
    });
  }

  #admitWaiter(line: StepLine): void {
    if (this.#waiting >= this.#options.max) {
      line.reason = 'queue_full';
      throw new AgentdError('unavailable', 'Too many messages are waiting for an answer.', { retryAfter: 5 });
    }
    this.#waiting++;
  }

  async #wait<T>(
    line: StepLine,
    patience: AbortSignal | undefined,
    wait: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    return patience ? this.#untilStopped(line, patience, wait) : this.#inTime(line, wait);
  }

  async #untilStopped<T>(
    line: StepLine,
    stopping: AbortSignal,
    wait: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    try {
      return await wait(stopping);
    } catch (error) {
      if (!stopping.aborted) throw error;
      line.reason = 'stopping';
      throw new AgentdError('unavailable', 'The daemon is stopping.', { retryAfter: 5 });
    }
  }

  async #inTime<T>(line: StepLine, wait: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), this.#options.wait_ms);
    try {
      return await wait(timeout.signal);
    } catch (error) {
      if (!timeout.signal.aborted) throw error;
      line.reason = 'queue_wait';
      throw new AgentdError('unavailable', 'No run was free in time.', { retryAfter: 5 });
    } finally {
      clearTimeout(timer);
    }
  }

  #leave(session_id: string): void {
    const left = (this.#sessions.get(session_id) ?? 1) - 1;
    if (left > 0) this.#sessions.set(session_id, left);
    else this.#sessions.delete(session_id);
  }
}
