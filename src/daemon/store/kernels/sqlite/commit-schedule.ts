import type { SqliteTx } from './transaction.ts';
import { LOCK_RETRY_MS } from './unavailable.ts';

/** A step, or a change of other tables, that waits for the commit. */
export interface Member {
  /** When it was requested, by `performance.now()`, because that clock cannot be set. */
  readonly since: number;
  /** Runs it. A step may run several times, a change of tables only within the transaction. */
  run(): void;
  /** The result of the last run; null if it has to run, or run again. */
  outcome: { value: unknown } | { error: unknown } | null;
  readonly isStep: boolean;
  /** Whether its result was given before the commit. */
  isAnswered: boolean;
  /** Settles with its result. */
  readonly done: PromiseWithResolvers<unknown>;
  told: SqliteTx['told'];
}

export function createMember(isStep: boolean, run: () => void): Member {
  return {
    since: performance.now(),
    run,
    outcome: null,
    isStep,
    isAnswered: false,
    done: Promise.withResolvers(),
    told: [],
  };
}

/** How long a lazy step waits for the commit of another step, ms. */
const LAZY_MS = 20;
/**
 * Maximum time that a commit waits for more steps, ms. The limit is needed because one slow commit does not mean that
 * the next one will be slow.
 */
const JOIN_WAIT_MS = 50;

/** Decides when the steps that wait are committed: with all those of the same tick, and those that come a moment later. */
export class CommitSchedule {
  readonly #commit: () => 'settled' | 'locked';
  readonly #countWaiting: () => number;
  #isScheduled = false;
  #scheduled_at = 0;
  #lazyTimer: NodeJS.Timeout | null = null;
  /** How many steps were waiting at the last look. */
  #waited = 0;
  /** How long the last commit took, ms. */
  #took_ms = 0;

  /** @param commit returns `locked` if steps still wait, because another process holds the lock */
  constructor(commit: () => 'settled' | 'locked', countWaiting: () => number) {
    this.#commit = commit;
    this.#countWaiting = countWaiting;
  }

  /** Commits soon. */
  soon(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#waited = 0;
    this.#scheduled_at = performance.now();
    setImmediate(() => this.#commitScheduled());
  }

  /** Commits with the next step that does not wait, or after `LAZY_MS`. */
  lazily(): void {
    this.#lazyTimer ??= setTimeout(() => this.soon(), LAZY_MS);
  }

  /** Nothing that is lazy waits any longer. */
  clear(): void {
    if (this.#lazyTimer !== null) clearTimeout(this.#lazyTimer);
    this.#lazyTimer = null;
  }

  #commitScheduled(): void {
    if (this.#isGrowing()) {
      setImmediate(() => this.#commitScheduled());
      return;
    }
    this.#isScheduled = false;
    const began = performance.now();
    const outcome = this.#commit();
    this.#took_ms = performance.now() - began;
    if (outcome !== 'locked') return;
    this.#isScheduled = true;
    setTimeout(() => this.#commitScheduled(), LOCK_RETRY_MS);
  }

  /**
   * Whether more steps have arrived since the last look. If so, the commit waits for them, because they then share it. It
   * waits at most as long as the last commit took, so that a step waits about as long as it would for another commit,
   * and never longer than `JOIN_WAIT_MS`.
   */
  #isGrowing(): boolean {
    const count = this.#countWaiting();
    const grows = count > this.#waited;
    this.#waited = count;
    return grows && performance.now() - this.#scheduled_at < Math.min(this.#took_ms, JOIN_WAIT_MS);
  }
}
