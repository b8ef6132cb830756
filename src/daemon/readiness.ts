import type { Store } from './store/store.ts';

type WatchedStore = Pick<Store, 'condition' | 'check' | 'replicas'>;

/** The result of one check of `/ready`. */
export type Check = { status: 'ok' } | { status: 'failed' | 'degraded'; detail: string };

export interface ReadinessReport {
  /** `degraded`: the daemon should get requests, but answers some of them with 503. */
  status: 'ok' | 'degraded' | 'failed';
  /** Why the daemon should get no requests now; null if it should get requests. */
  reason: string | null;
  checks: Readonly<Record<string, Check>>;
}

/** How often probes cause a test write to the store, ms. */
const CHECK_INTERVAL_MS = 1000;

/** Whether this process should get requests, as `/ready` says. It is not ready while it starts and while it stops. */
export class Readiness {
  #phase: 'starting' | 'serving' | 'stopping' = 'starting';
  /** The current step of the start. */
  #step = 'reading the configuration';
  #store: WatchedStore | null = null;
  /** Time of the last test write to the store, ms of the monotonic clock. */
  #checkedAt = Number.NEGATIVE_INFINITY;

  /** @param step the step that begins now, as in "The daemon is starting: {step}." */
  starting(step: string): void {
    this.#step = step;
  }

  useStore(store: WatchedStore): void {
    this.#store = store;
  }

  serving(): void {
    this.#phase = 'serving';
  }

  stopping(): void {
    this.#phase = 'stopping';
  }

  report(): ReadinessReport {
    const checks: Record<string, Check> = { daemon: this.#daemon() };
    if (this.#store) {
      checks.store = storeCheck(this.#store);
      this.#checkAgain(this.#store);
    }
    const failed = Object.values(checks).find(hasFailed);
    if (failed) return { status: 'failed', reason: failed.detail, checks };
    const isDegraded = Object.values(checks).some((check) => check.status === 'degraded');
    return { status: isDegraded ? 'degraded' : 'ok', reason: null, checks };
  }

  /** Makes a test write in the background, so that the next probe knows the state of a store without recent writes. */
  #checkAgain(store: Pick<Store, 'check'>): void {
    const now = performance.now();
    if (now - this.#checkedAt < CHECK_INTERVAL_MS) return;
    this.#checkedAt = now;
    // The store's condition reports the failure.
    store.check().catch(() => undefined);
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
