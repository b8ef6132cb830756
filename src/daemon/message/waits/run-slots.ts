import { AgentdError } from '../../errors.ts';
import type { AlarmClock } from '../../time/clock.ts';
import { TimeLimit } from '../../time/time-limit.ts';
import type { StepLine } from '../../trace/trace-record.ts';

/** A number of slots, granted in the order of the requests. */
export class Semaphore {
  readonly #waiters: (() => void)[] = [];
  readonly #slots: () => number;
  #taken = 0;

  /** @param slots how many there are now. If there are fewer than before, held slots are kept until their release. */
  constructor(slots: () => number) {
    this.#slots = slots;
  }

  /** Whether nobody holds a slot or waits for one. */
  get isIdle(): boolean {
    return this.#taken === 0;
  }

  /** The number of slots that are held. */
  get taken(): number {
    return this.#taken;
  }

  /** The number of callers that wait for a slot. */
  get waiting(): number {
    return this.#waiters.length;
  }

  /**
   * Takes a slot if one is free now. @returns a function that releases it; calling it again has no effect. Null if no
   * slot is free.
   */
  tryAcquire(): (() => void) | null {
    if (this.#taken >= this.#slots()) return null;
    this.#taken++;
    return this.#release();
  }

  /** Must be called after the number of slots has changed: callers that wait get the new ones. */
  resized(): void {
    while (this.#taken < this.#slots() && this.#waiters.length > 0) {
      this.#taken++;
      this.#waiters.shift()?.();
    }
  }

  /** Takes a slot as soon as one is free. Rejects with the signal's reason as soon as the signal aborts. */
  async acquire(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    return this.tryAcquire() ?? this.#next(signal);
  }

  #next(signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const take = () => {
        signal.removeEventListener('abort', giveUp);
        resolve(this.#release());
      };
      const giveUp = () => {
        this.#waiters.splice(this.#waiters.indexOf(take), 1);
        reject(signal.reason);
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiters.push(take);
    });
  }

  #release(): () => void {
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const next = this.#taken > this.#slots() ? undefined : this.#waiters.shift();
      // The slot is passed on to the next caller, so the number of taken slots does not change.
      if (next) next();
      else this.#taken--;
    };
  }
}

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
      throw new AgentdError('unavailable', 'The daemon is stopping.', { retryAfter: 5 });
    }
  }
}

/** The slots for concurrent runs of this process (AGENT_CONCURRENCY), granted in the order of the requests. */
export class RunSlots extends Semaphore {
  readonly #waits: WaitLimit;

  /** @param concurrency how many runs there may be now */
  constructor(concurrency: () => number, waits: WaitLimit) {
    super(concurrency);
    this.#waits = waits;
  }

  /**
   * Takes a slot for a run. @returns a function that releases it; a promise only if no slot is free now.
   * @throws `unavailable` if no slot is free in time.
   */
  take(waiter: Waiter): (() => void) | Promise<() => void> {
    return this.tryAcquire() ?? this.#waits.bound(waiter, (signal) => this.acquire(signal));
  }
}
