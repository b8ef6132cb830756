import { StoreUnavailable } from '../../errors.ts';
import type { Lease, LeaseStore } from '../leases.ts';

interface Waiter {
  grant(): void;
  refuse(reason: unknown): void;
}

/**
 * Leases in memory: one daemon works on the file, so its process is the whole world, and a lease ends with
 * it. A key takes memory only while it is held.
 */
export class SqliteLeases implements LeaseStore {
  /** Those that wait, in order of asking; a key that is held has an entry. */
  readonly #held = new Map<string, Waiter[]>();
  /** Of the leases that are out. */
  readonly #losses = new Set<AbortController>();
  #closed = false;

  /** Keys that are held now. */
  get size(): number {
    return this.#held.size;
  }

  async acquire(key: string, signal: AbortSignal): Promise<Lease> {
    signal.throwIfAborted();
    if (this.#closed) throw closed();
    const waiters = this.#held.get(key);
    if (waiters) await turnOf(waiters, signal);
    else this.#held.set(key, []);
    return this.#lease(key);
  }

  /** Refuses those that wait and tells the holders that their leases are lost. */
  close(): void {
    this.#closed = true;
    for (const waiters of this.#held.values()) {
      for (const waiter of waiters.splice(0)) waiter.refuse(closed());
    }
    for (const loss of this.#losses) loss.abort(closed());
  }

  #lease(key: string): Lease {
    const loss = new AbortController();
    this.#losses.add(loss);
    return {
      lost: loss.signal,
      release: async () => {
        // A second release must not give away what another holds by now.
        if (this.#losses.delete(loss)) this.#pass(key);
      },
    };
  }

  #pass(key: string): void {
    const next = this.#held.get(key)?.shift();
    if (next) next.grant();
    else this.#held.delete(key);
  }
}

/** Resolves when the waiter has come to the front; one that gives up leaves the line. */
function turnOf(waiters: Waiter[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      waiters.splice(waiters.indexOf(waiter), 1);
      reject(signal.reason);
    };
    const waiter: Waiter = {
      grant() {
        signal.removeEventListener('abort', giveUp);
        resolve();
      },
      refuse(reason) {
        signal.removeEventListener('abort', giveUp);
        reject(reason);
      },
    };
    signal.addEventListener('abort', giveUp, { once: true });
    waiters.push(waiter);
  });
}

function closed(): StoreUnavailable {
  return new StoreUnavailable(new Error('the store is closed'));
}
