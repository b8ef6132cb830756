import type { JsonObject } from '../../channel/index.ts';
import { StoreUnavailable } from '../errors.ts';
import type { Services } from '../message/services.ts';
import type { AttemptOutcome, InboxClaim, InboxMessage } from '../store/inbox/inbox.ts';
import { wait } from '../time/clock.ts';
import { Cancellation } from '../time/time-limit.ts';
import { openReplyTo } from './outgoing.ts';

/** How long to wait before the next attempt to store an outcome, ms. */
const STORE_AGAIN_MS = 1000;

/** One attempt at a claimed message. The store counted it when the message was claimed. */
export class Attempt {
  readonly claim: InboxClaim;
  /** The message as it was claimed; after its run, the message with the stored reply. */
  message: InboxMessage;
  readonly #services: Services;

  constructor(services: Services, claim: InboxClaim) {
    this.#services = services;
    this.claim = claim;
    this.message = claim.message;
  }

  get about(): Record<string, unknown> {
    const { id, request_id, platform, attempts, sends } = this.message;
    return { request_id, channel: platform, message: id, attempts, sends };
  }

  /** The `reply_to` for the channel; null if it cannot be opened. */
  replyTo(): JsonObject | null {
    const { id, reply_to, closes } = this.message;
    return openReplyTo(this.#services.seal, closes?.message_id ?? id, reply_to);
  }

  /** Renews the claim while the work lasts. */
  async whileHeld(work: (lost: Cancellation) => Promise<void>): Promise<void> {
    const lost = new Cancellation();
    const drop = this.#services.claims.hold(this.claim, this.#services.store.inbox, lost);
    try {
      await work(lost);
    } finally {
      drop();
    }
  }

  /**
   * Ends the claim with this outcome. Repeats the write until it succeeds. If the daemon stops before that, the message
   * is processed again at the next start.
   */
  async end(outcome: AttemptOutcome): Promise<void> {
    const { clock, log, stopping, store } = this.#services;
    this.logOutcome(outcome);
    for (;;) {
      try {
        const ours = await store.inbox.settle(this.claim, outcome);
        if (!ours) log.info(this.about, 'the claim of the message was lost while it was being processed');
        return;
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        log.warn(
          { ...this.about, err: error },
          'the outcome of an attempt could not be stored yet; will try again',
        );
        if (stopping.aborted) return;
      }
      await wait(clock, STORE_AGAIN_MS);
    }
  }

  logOutcome(outcome: AttemptOutcome): void {
    const { log } = this.#services;
    if (outcome.kind === 'again') {
      const { failure, wait_ms } = outcome;
      log.warn({ ...this.about, failure, wait_ms }, 'message will be tried again');
    } else if (outcome.kind === 'notify' || outcome.kind === 'failed') {
      const level = this.message.is_hint ? 'warn' : 'error';
      log[level]({ ...this.about, failure: outcome.failure }, 'message has failed for good');
    }
  }
}
