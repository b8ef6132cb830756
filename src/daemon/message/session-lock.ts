import { type AlarmClock, wait } from '../clock.ts';
import type { ClaimKeeper } from '../store/claim-keeper.ts';
import type { SessionClaim } from '../store/claims.ts';
import type { SessionStore } from '../store/sessions.ts';
import { Semaphore } from './semaphore.ts';
import type { Waiter, WaitLimit } from './wait-limit.ts';

/** How long to wait before a session that another daemon has claimed is tried again, ms. */
const TRY_AGAIN_MS = 250;

export interface SessionLockParts {
  sessions: Pick<SessionStore, 'claim' | 'renew' | 'release'>;
  claims: ClaimKeeper;
  clock: AlarmClock;
  waits: WaitLimit;
}

/** A session that is locked for one message. */
export interface LockedSession {
  claim: SessionClaim;
  release(): Promise<void>;
}

/**
 * Lets one message of a session run at a time: first in the order of arrival within this process, then by the session's
 * claim in the store, which another daemon may hold.
 */
export class SessionLock {
  readonly #parts: SessionLockParts;
  /** A session takes memory only while it is locked. */
  readonly #lines = new Map<string, Semaphore>();

  constructor(parts: SessionLockParts) {
    this.#parts = parts;
  }

  /** Sessions that are locked by this process, or waited for. */
  get size(): number {
    return this.#lines.size;
  }

  /**
   * Takes its place in the order of arrival at once.
   * @param lost aborted when the claim is lost before it is released.
   * @throws `unavailable` if the session is not free in time
   */
  async acquire(session_tag: string, waiter: Waiter, lost: AbortController): Promise<LockedSession> {
    const line = this.#lines.get(session_tag) ?? new Semaphore(1);
    this.#lines.set(session_tag, line);
    let leave = line.tryAcquire();
    try {
      const claim = leave && (await this.#parts.sessions.claim(session_tag));
      if (leave && claim) return this.#locked(claim, leave, lost);
      return await this.#parts.waits.bound(waiter, async (signal) => {
        leave ??= await line.acquire(signal);
        return this.#locked(await this.#claimInTime(session_tag, signal), leave, lost);
      });
    } catch (error) {
      leave?.();
      this.#forget(session_tag, line);
      throw error;
    }
  }

  async #claimInTime(session_tag: string, signal: AbortSignal): Promise<SessionClaim> {
    for (;;) {
      const claim = await this.#parts.sessions.claim(session_tag);
      if (claim) return claim;
      await wait(this.#parts.clock, TRY_AGAIN_MS, signal);
    }
  }

  #locked(claim: SessionClaim, leave: () => void, lost: AbortController): LockedSession {
    const { sessions, claims } = this.#parts;
    const drop = claims.hold(claim, sessions, lost);
    return {
      claim,
      release: async () => {
        drop();
        try {
          await sessions.release(claim);
        } finally {
          leave();
          this.#forget(claim.session_tag);
        }
      },
    };
  }

  #forget(session_tag: string, line = this.#lines.get(session_tag)): void {
    if (line?.isIdle && this.#lines.get(session_tag) === line) this.#lines.delete(session_tag);
  }
}
