import { type AlarmClock, liveClock } from './clock.ts';
import { LiveSet } from './live-map.ts';

/**
 * Ends work early, like an AbortController. Its signal and its reason are made only if somebody asks for them: a signal
 * with its listeners, and an error with its stack, are a large part of the cost of a message, and most messages need
 * neither.
 */
export class Cancellation {
  #controller: AbortController | null = null;
  /** A list and no set, which would need four times the memory: most work has one listener or two. */
  #listeners: readonly ((reason: unknown) => void)[] = NONE;
  #ended: Reason | null = null;

  /** Aborts when the work is ended. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#ended) this.#controller.abort(this.#ended());
    }
    return this.#controller.signal;
  }

  /** Whether the work was ended, for any reason. */
  get hasEnded(): boolean {
    return this.#ended !== null;
  }

  throwIfEnded(): void {
    if (this.#ended) throw this.#ended();
  }

  /**
   * Calls `listener` when the work is ended, or at once if it has already been.
   * @returns a function that removes the listener.
   */
  onEnd(listener: (reason: unknown) => void): () => void {
    if (this.#ended) {
      listener(this.#ended());
      return () => {};
    }
    this.#listeners = this.#listeners.concat(listener);
    return () => {
      this.#listeners = this.#listeners.filter((one) => one !== listener);
    };
  }

  /** The result of the work, or a rejection as soon as it is ended, even if the work ignores `signal`. */
  within<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const forget = this.onEnd(reject);
      work.then(
        (value) => {
          forget();
          resolve(value);
        },
        (error: unknown) => {
          forget();
          reject(error);
        },
      );
    });
  }

  /** Ends the work for this reason, unless it was ended before. @param getReason called only if somebody is told */
  end(getReason: Reason): void {
    if (this.#ended) return;
    this.#ended = once(getReason);
    this.#controller?.abort(this.#ended());
    for (const listener of this.#listeners) listener(this.#ended());
  }
}

const NONE: readonly never[] = [];

/** Why the work was ended: always the same value. */
type Reason = () => unknown;

/** Makes the value when it is first asked for. */
function once(getReason: Reason): Reason {
  let made: { reason: unknown } | null = null;
  return () => {
    made ??= { reason: getReason() };
    return made.reason;
  };
}

/** Ends work when its time has passed, or when one of the given signals or cancellations ends it. */
export class TimeLimit extends Cancellation {
  readonly #clock: AlarmClock;
  readonly #ms: number;
  readonly #began_at: number;
  #deadline: number;
  #cancel: () => void;
  readonly #release: readonly (() => void)[];
  #passed = false;

  /** @param others end the work, too, with their own reason */
  constructor(clock: AlarmClock, ms: number, others: readonly (AbortSignal | Cancellation)[] = []) {
    super();
    this.#clock = clock;
    this.#ms = ms;
    this.#began_at = clock.now();
    this.#deadline = this.#began_at + ms;
    this.#cancel = this.#passAfter(ms);
    this.#release = others.map((other) =>
      other instanceof Cancellation
        ? other.onEnd((reason) => this.end(() => reason))
        : onAbort(other, () => this.end(() => other.reason)),
    );
    const aborted = others.find((other) => other instanceof AbortSignal && other.aborted);
    if (aborted) this.end(() => (aborted as AbortSignal).reason);
  }

  /** When the time has passed, ms since the epoch. */
  get deadline(): number {
    return this.#deadline;
  }

  /**
   * Starts the time again, because the work makes progress.
   * @param longest how long the work may take in all, ms. A limit beyond that is not shortened.
   */
  restart(longest: number): void {
    const now = this.#clock.now();
    const deadline = Math.min(now + this.#ms, this.#began_at + longest);
    if (this.hasEnded || deadline <= this.#deadline) return;
    this.#cancel();
    this.#deadline = deadline;
    this.#cancel = this.#passAfter(deadline - now);
  }

  /** Whether the time has passed. */
  get passed(): boolean {
    return this.#passed;
  }

  /** Call this when the work has ended. */
  lift(): void {
    this.#cancel();
    for (const release of this.#release) release();
  }

  #passAfter(ms: number): () => void {
    return this.#clock.after(ms, () => {
      this.#passed = true;
      const seconds = (this.#deadline - this.#began_at) / 1000;
      this.end(() => new DOMException(`it took longer than ${seconds} seconds`, 'TimeoutError'));
    });
  }
}

interface Listeners {
  readonly all: LiveSet<() => void>;
  readonly tellAll: () => void;
}

const listenersBySignal = new WeakMap<AbortSignal, Listeners>();

/**
 * Calls `listener` once when a signal aborts. Use this for signals with thousands of listeners, such as the stop of the
 * daemon: a signal searches all its listeners whenever one is added or removed, and this function adds only one
 * listener to the signal.
 * @returns a function that removes the listener. If the signal has already aborted, nothing is called.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  const { all, tellAll } = listenersBySignal.get(signal) ?? listenTogether(signal);
  // A new function for each call, because the same listener may be passed twice.
  const one = () => listener();
  all.add(one);
  return () => {
    if (!all.delete(one) || all.size > 0) return;
    signal.removeEventListener('abort', tellAll);
    listenersBySignal.delete(signal);
  };
}

function listenTogether(signal: AbortSignal): Listeners {
  const all = new LiveSet<() => void>();
  const tellAll = () => {
    for (const listener of all) listener();
    all.clear();
  };
  const listeners = { all, tellAll };
  listenersBySignal.set(signal, listeners);
  signal.addEventListener('abort', tellAll, { once: true });
  return listeners;
}

/**
 * The result of the work, or a rejection as soon as the signal aborts. The work itself continues: others may wait for
 * it.
 */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/**
 * The result of the work or, after `ms`, that of `late`. The work itself continues. Afterwards no timer is left: a timer
 * would keep the process alive after everything has stopped.
 */
export function within<T, L>(work: Promise<T>, ms: number, late: () => L, clock = liveClock): Promise<T | L> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(ms, resolve);
  return Promise.race([work, promise.then(late)]).finally(cancel);
}

/** Resolves when all the work has settled, or after `ms`. */
export function settledWithin(work: Iterable<Promise<unknown>>, ms: number): Promise<unknown> {
  return within(Promise.allSettled(work), ms, () => undefined);
}

/**
 * Thrown when a module uses what it was given for one call or one run after that call or run has ended. By then, the
 * daemon may be answering another person, so nothing is done. The message says what the author of the module must
 * change.
 */
export class ContextEnded extends Error {
  private constructor(message: string) {
    super(message);
    this.name = 'ContextEnded';
  }

  static ofCall(tool: string): ContextEnded {
    return new ContextEnded(
      `the call of the tool \`${tool}\` has ended, so its context can no longer be used: finish all work before \`call\` returns, and do not keep \`context\``,
    );
  }

  static ofRun(): ContextEnded {
    return new ContextEnded(
      'the run of this message has ended, so its tools can no longer be called: finish all work before `run` returns, and do not keep `turn`',
    );
  }
}
