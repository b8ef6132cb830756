import type { LongTermMemory } from '../agent/long-term-memory.ts';
import type { Store } from '../store/store.ts';

type WatchedStore = Pick<Store, 'condition' | 'check' | 'replicas'>;
/** Long-term memory, without which messages are still answered. */
type WatchedMemory = Pick<LongTermMemory, 'isAvailable' | 'check'>;

/** The result of one check of `/ready`. */
export type Check = { status: 'ok' } | { status: 'failed' | 'degraded'; detail: string };

interface ReadinessReport {
  /** `degraded`: the daemon should get requests, but answers some of them with 503. */
  status: 'ok' | 'degraded' | 'failed';
  /** Why the daemon should get no requests now; null if it should get requests. */
  reason: string | null;
  checks: Readonly<Record<string, Check>>;
}

/** How often probes cause a test write to the store and a test of long-term memory, ms. */
const CHECK_INTERVAL_MS = 1000;

/** Whether this process should get requests, as `/ready` says. It is not ready while it starts and while it stops. */
export class Readiness {
  #phase: 'starting' | 'serving' | 'stopping' = 'starting';
  /** The current step of the start. */
  #step = 'reading the configuration';
  #store: WatchedStore | null = null;
  #memory: WatchedMemory | null = null;
  /** Time of the last tests, ms of the monotonic clock. */
  #checkedAt = Number.NEGATIVE_INFINITY;

  /** @param step the step that begins now, as in "The daemon is starting: {step}." */
  starting(step: string): void {
    this.#step = step;
  }

  useStore(store: WatchedStore): void {
    this.#store = store;
  }

  useMemory(memory: WatchedMemory): void {
    this.#memory = memory;
  }

  serving(): void {
    this.#phase = 'serving';
  }

  stopping(): void {
    this.#phase = 'stopping';
  }

  report(): ReadinessReport {
    const checks: Record<string, Check> = { daemon: this.#daemon() };
    if (this.#store) checks.store = storeCheck(this.#store);
    if (this.#memory) checks.memory = memoryCheck(this.#memory);
    this.#checkAgain();
    const failed = Object.values(checks).find(hasFailed);
    if (failed) return { status: 'failed', reason: failed.detail, checks };
    const isDegraded = Object.values(checks).some((check) => check.status === 'degraded');
    return { status: isDegraded ? 'degraded' : 'ok', reason: null, checks };
  }

  /** Tests both in the background, so that the next probe knows the state of a store that was not used recently. */
  #checkAgain(): void {
    const now = performance.now();
    if (this.#store === null || now - this.#checkedAt < CHECK_INTERVAL_MS) return;
    this.#checkedAt = now;
    // The store's condition reports the failure.
    this.#store.check().catch(() => undefined);
    void this.#memory?.check();
  }

  #daemon(): Check {
    switch (this.#phase) {
      case 'starting':
        return { status: 'failed', detail: `The daemon is starting: ${this.#step}.` };
      case 'stopping':
        return { status: 'failed', detail: 'The daemon is stopping.' };
      case 'serving':
        return { status: 'ok' };
    }
  }
}

function hasFailed(check: Check): check is Exclude<Check, { status: 'ok' }> {
  return check.status === 'failed';
}

function memoryCheck({ isAvailable }: WatchedMemory): Check {
  if (isAvailable) return { status: 'ok' };
  return {
    status: 'degraded',
    detail: 'Long-term memory cannot be reached; messages are answered without it.',
  };
}

/**
 * If a shared store cannot be written, no daemon can write it. The check is then only `degraded`, because a load
 * balancer would drop all daemons if it failed.
 */
function storeCheck(store: WatchedStore): Check {
  const { writable, detail } = store.condition();
  if (writable) return { status: 'ok' };
  const status = store.replicas === null ? 'failed' : 'degraded';
  return { status, detail: detail ?? 'The store cannot be written.' };
}
