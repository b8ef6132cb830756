import { randomUUID } from 'node:crypto';
import type { TokenOrigin } from '../../identity/identity.ts';
import type { ClaimKeeper } from '../../store/claims/claim-keeper.ts';
import type { SessionClaim, SessionPlace } from '../../store/claims/claims.ts';
import type { SessionStore } from '../../store/sessions/sessions.ts';
import type { BegunTurn, CommitOutcome, TurnChanges } from '../../store/sessions/turns.ts';
import type { Store } from '../../store/store.ts';
import { type AlarmClock, wait } from '../../time/clock.ts';
import { LiveMap } from '../../time/live-map.ts';
import type { Cancellation } from '../../time/time-limit.ts';
import { Semaphore } from './semaphore.ts';
import type { Waiter, WaitLimit } from './wait-limit.ts';

/** How long to wait before the next attempt to claim a session that another daemon holds, ms. */
const TRY_AGAIN_MS = 250;

interface SessionLockParts {
  store: Pick<Store, 'beginTurn' | 'commitTurn' | 'replicas'> & {
    sessions: Pick<SessionStore, 'renew' | 'release' | 'wait' | 'leave'>;
  };
  claims: ClaimKeeper;
  clock: AlarmClock;
  waits: WaitLimit;
}

/** A claim that this process holds. */
interface Held {
  /** Lets the next message of the session in this process run. */
  leave(): void;
  /** Stops the renewal of the claim. */
  drop(): void;
  /** Whether the commit of the turn has ended the claim. */
  hasEnded: boolean;
}

interface LockingMessage {
  session_id: string;
  /** Null if the message cannot have had an earlier run. */
  turn_key: string | null;
  /** The claims of the token that came with the message; null if none did. */
  token: TokenOrigin | null;
}

/**
 * Lets the messages of a session run one at a time, in the order of arrival. Within this process, a queue orders them.
 * The session's claim in the store excludes other daemons, and its queue orders the messages of all daemons.
 */
export class SessionLock {
  readonly #parts: SessionLockParts;
  /** A semaphore for each session, which takes memory only while the session is locked. */
  readonly #queues = new LiveMap<string, Semaphore>();
  readonly #daemon = randomUUID();
  #messages = 0;
  readonly #held = new LiveMap<SessionClaim, Held>();

  constructor(parts: SessionLockParts) {
    this.#parts = parts;
  }

  /** The number of sessions that this process has locked or waits for. */
  get size(): number {
    return this.#queues.size;
  }

  /**
   * Locks a session for a message. The message is queued at once, so that the order of arrival is kept.
   * @param lost ended when the claim is lost before it is released.
   * @throws `unavailable` if the session is not free in time.
   */
  async acquire(
    session_tag: string,
    message: LockingMessage,
    waiter: Waiter,
    lost: Cancellation,
  ): Promise<BegunTurn> {
    const queue = this.#queues.get(session_tag) ?? new Semaphore(() => 1);
    this.#queues.set(session_tag, queue);
    const place = { daemon: this.#daemon, message: this.#messages++ };
    let placed: Promise<void> | null = null;
    let leave = queue.tryAcquire();
    try {
      const begun = leave && (await this.#begin(session_tag, message, place));
      if (leave && begun) return this.#hold(begun, leave, lost);
      // A message that asked for the session in vain has its place.
      if (leave) placed = Promise.resolve();
      return await this.#parts.waits.bound(waiter, async (signal) => {
        placed ??= this.#wait(session_tag, place);
        leave ??= await queue.acquire(signal);
        await placed;
        return this.#hold(await this.#beginInTime(session_tag, message, place, signal), leave, lost);
      });
    } catch (error) {
      leave?.();
      this.#forget(session_tag, queue);
      if (placed) void this.#leave(session_tag, place, placed);
      throw error;
    }
  }

  /** Stores the changes of the turn (`Store.commitTurn`), and ends the claim unless it is lost. */
  async commit(claim: SessionClaim, changes: TurnChanges): Promise<CommitOutcome> {
    const held = this.#held.get(claim);
    // After the commit, the claim is gone. A renewal must not report it as lost.
    held?.drop();
    const outcome = await this.#parts.store.commitTurn(claim, { ...changes, ends_claim: true });
    if (held) held.hasEnded = outcome !== 'lost';
    return outcome;
  }

  /** Lets the next message of the session run, at once if the claim has ended. */
  release(claim: SessionClaim): Promise<void> | void {
    const held = this.#held.get(claim);
    this.#held.delete(claim);
    held?.drop();
    const leave = () => {
      held?.leave();
      this.#forget(claim.session_tag);
    };
    if (held?.hasEnded) leave();
    else return this.#parts.store.sessions.release(claim).finally(leave);
  }

  async #beginInTime(
    session_tag: string,
    message: LockingMessage,
    place: SessionPlace,
    signal: AbortSignal,
  ): Promise<BegunTurn> {
    for (;;) {
      const begun = await this.#begin(session_tag, message, place);
      if (begun) return begun;
      await wait(this.#parts.clock, TRY_AGAIN_MS, signal);
    }
  }

  #begin(
    session_tag: string,
    { session_id, turn_key, token }: LockingMessage,
    place: SessionPlace,
  ): Promise<BegunTurn | null> {
    return this.#parts.store.beginTurn(session_tag, session_id, turn_key, token, place);
  }

  /**
   * Queues the message behind the messages of all daemons. If this fails, it gets its place when it asks for the session.
   */
  async #wait(session_tag: string, place: SessionPlace): Promise<void> {
    const { replicas, sessions } = this.#parts.store;
    if (replicas) await sessions.wait(session_tag, place).catch(() => {});
  }

  /** If this fails, the place expires. */
  async #leave(session_tag: string, place: SessionPlace, placed: Promise<void>): Promise<void> {
    await placed;
    await this.#parts.store.sessions.leave(session_tag, place).catch(() => {});
  }

  #hold(begun: BegunTurn, leave: () => void, lost: Cancellation): BegunTurn {
    const { store, claims } = this.#parts;
    const { claim } = begun;
    this.#held.set(claim, { leave, drop: claims.hold(claim, store.sessions, lost), hasEnded: false });
    return begun;
  }

  #forget(session_tag: string, queue = this.#queues.get(session_tag)): void {
    if (queue?.isIdle && this.#queues.get(session_tag) === queue) this.#queues.delete(session_tag);
  }
}
