import { randomUUID } from 'node:crypto';

/** The current time behind a port, so that tests can control it. */
export interface Clock {
  /** ms since the epoch. */
  now(): number;
  /** Monotonic time, ms since an arbitrary moment. Absent if `now` is monotonic, too. */
  steady?(): number;
}

/** A clock that can also call back, so that tests control every wait. */
export interface AlarmClock extends Clock {
  /** Calls `ring` once, after `ms`. Does not keep the process alive. @returns a function that cancels the call */
  after(ms: number, ring: () => void): () => void;
}

export const systemClock: AlarmClock = {
  now: () => Date.now(),
  steady: () => performance.now(),
  after(ms, ring) {
    const timer = setTimeout(ring, ms).unref();
    return () => clearTimeout(timer);
  },
};

/** Keeps the process alive while it waits, unlike `systemClock`. */
export const liveClock: Pick<AlarmClock, 'after'> = {
  after(ms, ring) {
    const timer = setTimeout(ring, ms);
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms`. Rejects with the reason of the signal as soon as the signal aborts. */
export function wait(clock: Pick<AlarmClock, 'after'>, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', giveUp);
      resolve();
    });
    const giveUp = () => {
      cancel();
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', giveUp, { once: true });
  });
}

/**
 * Runs the work repeatedly: each run begins `ms` after the previous one has ended. The work must report its own
 * failures.
 * @returns a function that stops the repetition. It returns a promise that resolves when no work is running.
 */
export function every(clock: AlarmClock, ms: number, work: () => Promise<void> | void): () => Promise<void> {
  let stopped = false;
  let underWay: Promise<void> | void;
  let cancel = clock.after(ms, again);
  async function again(): Promise<void> {
    underWay = work();
    await underWay;
    if (!stopped) cancel = clock.after(ms, again);
  }
  return async () => {
    stopped = true;
    cancel();
    await underWay;
  };
}

/**
 * 128 random bits, base64url (22 characters): secret enough to act as a capability (agentd-message(7), "Session ids").
 */
export function randomSuffix(): string {
  return Buffer.from(`${random64()}${random64()}`, 'hex').toString('base64url');
}

/** 64 random bits in hex, of a UUID's places that are random: Node makes UUIDs from cached random bytes. */
function random64(): string {
  const id = randomUUID();
  return `${id.slice(0, 4)}${id.slice(24)}`;
}

/**
 * A UUID that sorts by the time when it was made (RFC 9562 §5.7). Rows with these ids as keys are written next to each
 * other; with random keys, each row would touch a different page.
 */
export function timeOrderedId(now: number): string {
  // Everything except the time and the version is as in a random UUID, which Node makes from cached random bytes.
  return `${beginningAt(now)}${randomUUID().slice(15)}`;
}

/**
 * The beginning that all ids of the last millisecond share. It is kept because a busy daemon makes many ids in each
 * millisecond.
 */
let beginning = { now: Number.NaN, text: '' };

function beginningAt(now: number): string {
  if (now !== beginning.now) {
    const time = now.toString(16).padStart(12, '0');
    beginning = { now, text: `${time.slice(0, 8)}-${time.slice(8)}-7` };
  }
  return beginning.text;
}

/**
 * When something that was postponed is due. The wait is never longer than `wait_ms`: if more time remains, the clock
 * was set back, and it is due now.
 * @param at the planned time, ms since the epoch.
 * @param wait_ms how long it was postponed.
 */
export function dueAt(at: number, wait_ms: number, now: number): number {
  return at - now > wait_ms ? now : at;
}
