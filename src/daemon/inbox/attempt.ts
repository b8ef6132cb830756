import { setTimeout as delay } from 'node:timers/promises';
import type { Channel, ChannelPlugin, OutgoingReply } from '../../channel/index.ts';
import { StoreUnavailable } from '../errors.ts';
import type { House } from '../house.ts';
import { type Arrival, answer } from '../message/answer.ts';
import { apologise } from '../message/apologise.ts';
import { DeliveryFailed } from '../message/delivery-failed.ts';
import type { Delivery, KeptMessage } from '../message/turn.ts';
import type { InboxClaim } from '../store/inbox.ts';
import { backOff } from './back-off.ts';
import { failureOfDelivery, failureOfRun, isFinal } from './failure.ts';
import { traceDelivery } from './trace-delivery.ts';
import type { Typing } from './typing.ts';

/** A channel that answers later. */
export interface LaterChannel {
  plugin: ChannelPlugin;
  channel: Channel & { send: NonNullable<Channel['send']> };
}

/** A `send` that takes longer has failed, ms; a long reply is several messages of the platform. */
const SEND_MS = 60_000;
/** How long to wait before an outcome is written again that the store could not take, ms. */
const STORE_AGAIN_MS = 1000;

/**
 * One attempt at a claimed message, and what comes of it: a run and the sending of its reply, or, where a
 * text is kept already, the sending alone. Each is tried INBOX_MAX_ATTEMPTS times, counted when an attempt
 * begins; the store has counted this one when it was claimed.
 */
export class Attempt implements KeptMessage {
  readonly #house: House;
  readonly #later: LaterChannel;
  readonly #claim: InboxClaim;
  /** Attempts to send, this one counted, and the reply; as claimed, or as kept since. */
  #sends: number;
  #reply: string | null;

  constructor(house: House, later: LaterChannel, claim: InboxClaim) {
    this.#house = house;
    this.#later = later;
    this.#claim = claim;
    this.#sends = claim.message.sends;
    this.#reply = claim.message.reply;
  }

  /** Makes the attempt. Rejects only for defects of the program. */
  async make(typing: Typing): Promise<void> {
    const { state, attempts, reply_to } = this.#claim.message;
    if (state === 'replied') {
      await this.sendReply();
      return;
    }
    if (attempts > this.#max) {
      // Counted when they began: the process died during each of them.
      await this.#giveUp('interrupted');
      return;
    }
    const stopTyping = typing.keepShowing(this.#later, reply_to);
    try {
      await answer(this.#later.plugin, this.#house, this.#arrival());
    } catch (error) {
      await this.#runFailed(error);
    } finally {
      stopTyping();
    }
  }

  async keepReply(reply: string): Promise<boolean> {
    const kept = await this.#house.store.inbox.keepReply(this.#claim, reply);
    if (kept) {
      this.#reply = reply;
      this.#sends = 1;
    }
    return kept;
  }

  async sendReply(): Promise<Delivery> {
    const { message } = this.#claim;
    const text = message.apology ?? this.#reply;
    if (text === null) return 'lost';
    if (this.#sends > this.#max) {
      await this.#giveUp('delivery_failed: interrupted');
      return 'failed';
    }
    const began = this.#house.clock.now();
    const reply: OutgoingReply = {
      // A platform that knows the id of a reply must not take the apology for its repetition.
      id: message.apology === null ? message.id : `${message.id}-apology`,
      session_id: message.session_id,
      text,
      reply_to: message.reply_to,
    };
    try {
      await this.#sendInTime(reply);
    } catch (error) {
      return this.#deliveryFailed(error, began);
    }
    if (message.state === 'replied') await this.#trace('sent', began);
    await this.#settle(() => this.#house.store.inbox.finish(this.#claim));
    return 'sent';
  }

  willRunAgain(error: unknown): boolean {
    if (this.#house.stopping.aborted) return true;
    return !isFinal(error) && this.#claim.message.attempts < this.#max;
  }

  get #max(): number {
    return this.#house.settings.INBOX_MAX_ATTEMPTS;
  }

  #arrival(): Arrival {
    const { id, request_id, session_id, message, message_id, reply_to } = this.#claim.message;
    if (message === null || session_id === null) throw new Error('a text that is said has no run');
    return {
      turn_id: id,
      request_id,
      message: { ...message, ...(message_id === null ? {} : { message_id }), reply_to },
      session_id,
      session_is_generated: false,
      address: null,
      validated: null,
      inbox: this,
      stream: null,
      // Progress is shown by typing; the words go out whole.
      emit: () => {},
    };
  }

  async #runFailed(error: unknown): Promise<void> {
    const failure = failureOfRun(error);
    if (this.#house.stopping.aborted) await this.#again(failure, 0);
    else if (this.willRunAgain(error)) await this.#again(failure, backOff(this.#claim.message.attempts));
    else await this.#giveUp(failure);
  }

  async #deliveryFailed(error: unknown, began: number): Promise<Delivery> {
    const refused = error instanceof DeliveryFailed && error.final;
    const failure = failureOfDelivery(refused ? 'refused' : 'failed', error);
    const { inbox } = this.#house.store;
    await this.#trace(failure, began);
    if (this.#house.stopping.aborted) await this.#again(failure, 0);
    else if (refused) {
      this.#house.log.error({ ...this.#about, failure }, 'the platform refused the reply for good');
      await this.#settle(() => inbox.fail(this.#claim, failure));
    } else if (this.#sends < this.#max) {
      const asked = error instanceof DeliveryFailed ? error.retryAfterSeconds : 0;
      await this.#again(failure, backOff(this.#sends, asked));
    } else await this.#giveUp(failure);
    return refused ? 'refused' : 'failed';
  }

  async #again(failure: string, wait_ms: number): Promise<void> {
    this.#house.log.warn({ ...this.#about, failure, wait_ms }, 'message will be tried again');
    const at = this.#house.clock.now() + wait_ms;
    await this.#settle(() => this.#house.store.inbox.retryLater(this.#claim, at, failure));
  }

  async #giveUp(failure: string): Promise<void> {
    this.#house.log.error({ ...this.#about, failure }, 'message has failed for good');
    await this.#settle(() => apologise(this.#house, this.#claim, failure));
  }

  async #sendInTime(reply: OutgoingReply): Promise<void> {
    const limit = AbortSignal.any([AbortSignal.timeout(SEND_MS), this.#house.stopping]);
    limit.throwIfAborted();
    const { promise: over, reject } = Promise.withResolvers<never>();
    const giveUp = () => reject(limit.reason);
    limit.addEventListener('abort', giveUp, { once: true });
    try {
      await Promise.race([this.#later.channel.send(reply), over]);
    } finally {
      limit.removeEventListener('abort', giveUp);
    }
  }

  /** Writes what came of the attempt, however long that takes; where the daemon stops before, it begins anew. */
  async #settle(write: () => Promise<boolean>): Promise<void> {
    const { log, stopping } = this.#house;
    for (;;) {
      try {
        const ours = await write();
        if (!ours) log.info(this.#about, 'message was taken away while it was worked on');
        return;
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        log.warn({ ...this.#about, err: error }, 'the outcome of a message could not be written yet');
        if (stopping.aborted) return;
      }
      await delay(STORE_AGAIN_MS);
    }
  }

  async #trace(outcome: string, began: number): Promise<void> {
    try {
      await traceDelivery(this.#house, this.#claim.message, { outcome, began, sends: this.#sends });
    } catch (error) {
      this.#house.log.warn({ ...this.#about, err: error }, 'the trace of a delivery could not be kept');
    }
  }

  get #about(): Record<string, unknown> {
    const { id, request_id, platform, attempts } = this.#claim.message;
    return { request_id, channel: platform, message: id, attempts, sends: this.#sends };
  }
}
