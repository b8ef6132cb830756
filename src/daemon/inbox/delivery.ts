import type { Channel, ChannelPlugin, JsonObject, OutgoingReply } from '../../channel/index.ts';
import { StoreUnavailable } from '../errors.ts';
import { type Arrival, arrivedChannel } from '../message/arrival.ts';
import type { CompleteReply } from '../message/outlet.ts';
import { runTurn } from '../message/run-turn.ts';
import type { Services } from '../message/services.ts';
import { runFromInbox } from '../message/steps.ts';
import type { Answering, Deduplicated, Guarded } from '../message/turn.ts';
import { textOfTurn } from '../store/inbox/collect-turn.ts';
import type { AttemptOutcome, InboxClaim, InboxMessage } from '../store/inbox/inbox.ts';
import { Cancellation } from '../time/cancellation.ts';
import { wait } from '../time/clock.ts';
import { backOff, LONGEST_MS, withinBudget } from '../time/retry.ts';
import { TimeLimit } from '../time/time-limit.ts';
import type { DeliveryOutcome } from '../trace/observer.ts';
import { closedQuestion } from './closed-question.ts';
import {
  DeliveryFailed,
  failedForGood,
  failureOfDelivery,
  isInterruptedTooOften,
  toPlatformFailure,
} from './outcome.ts';
import { openReplyTo, outgoingReply } from './outgoing.ts';
import type { Admittance, PlatformReach } from './platform-reach.ts';
import { isVoidPress } from './press.ts';
import { PushOutlet } from './push-outlet.ts';
import type { QuestionsBeingSent } from './questions-being-sent.ts';
import type { SentIds } from './sent-ids.ts';
import { hintAtSignIn } from './sign-in-hint.ts';
import { traceDelivery } from './trace-delivery.ts';
import type { Typing } from './typing.ts';

/** A channel that sends its replies later. */
export interface LaterChannel {
  plugin: ChannelPlugin;
  channel: Channel & { send: NonNullable<Channel['send']> };
}

/** The parts of the worker that a delivery uses. */
interface DeliveryServices {
  services: Services;
  reach: PlatformReach;
  typing: Typing;
  questions: QuestionsBeingSent;
  sentIds: SentIds;
}

/**
 * How long a `send` may take, ms. After that, it counts as failed. A long reply needs this much time, because it is
 * several messages on the platform.
 */
const SEND_MS = 60_000;
/** How long to wait before the next attempt to store an outcome, ms. */
const STORE_AGAIN_MS = 1000;

/**
 * One attempt at a claimed message: a run and the sending of its reply or, if a text is already stored, only the
 * sending. The store counted the attempt when the message was claimed.
 */
export class Delivery {
  readonly #services: Services;
  readonly #reach: PlatformReach;
  readonly #typing: Typing;
  readonly #questions: QuestionsBeingSent;
  readonly #sentIds: SentIds;
  readonly #later: LaterChannel;
  readonly #claim: InboxClaim;
  /** The message as it was claimed; after its run, the message with the stored reply. */
  #message: InboxMessage;
  /** Whether and how the message may be sent to the platform; null if this was not decided yet. */
  #admitted: Admittance | null;

  /** @param admitted for a message with a stored text, whether and how it may be sent; null for other messages. */
  constructor(
    { services, reach, typing, questions, sentIds }: DeliveryServices,
    later: LaterChannel,
    claim: InboxClaim,
    admitted: Admittance | null,
  ) {
    this.#services = services;
    this.#reach = reach;
    this.#typing = typing;
    this.#questions = questions;
    this.#sentIds = sentIds;
    this.#later = later;
    this.#claim = claim;
    this.#message = claim.message;
    this.#admitted = admitted;
  }

  /** Makes the attempt. Rejects only because of a defect of the program. */
  make(): Promise<void> {
    return this.#whileHeld((lost) => (this.#message.state === 'replied' ? this.#send() : this.#run(lost)));
  }

  /** Ends the attempt as if it had not begun. Rejects only because of a defect of the program. */
  giveBack(): Promise<void> {
    return this.#whileHeld(() => this.#end({ kind: 'given_back' }));
  }

  async #whileHeld(work: (lost: Cancellation) => Promise<void>): Promise<void> {
    const lost = new Cancellation();
    const drop = this.#services.claims.hold(this.#claim, this.#services.store.inbox, lost);
    try {
      await work(lost);
    } finally {
      drop();
    }
  }

  async #run(lost: Cancellation): Promise<void> {
    const outlet = new PushOutlet(this.#services, this.#later.plugin, this.#claim);
    if (isInterruptedTooOften(this.#message, this.#services.settings)) {
      this.#services.observer.messageEnded(this.#message.platform, 'failed');
      const outcome = failedForGood(this.#message, 'interrupted', await outlet.texts());
      await this.#end({ ...outcome, begun: false });
      return;
    }
    if (await isVoidPress(this.#message, this.#services)) {
      this.#services.log.info(this.#about, 'a second press does nothing: the action was settled before');
      this.#services.observer.messageEnded(this.#message.platform, 'replayed');
      await this.#end({ kind: 'sent' });
      return;
    }
    const collected = await this.#collect(outlet);
    if (collected === null) return;
    const reply_to = this.#replyTo();
    const stopTyping = reply_to === null ? () => {} : this.#typing.keepShowing(this.#later, reply_to);
    try {
      const end = await runTurn(runFromInbox, this.#arrival(lost, outlet, collected), this.#services);
      if (!end.answered) {
        const outcome = await outlet.afterFailure(end.error);
        if (end.isStored) this.#logOutcome(outcome);
        else await this.#end(outcome);
        return;
      }
      this.#message = this.#withReply(end.reply);
      await this.#send();
    } finally {
      stopTyping();
    }
  }

  /**
   * Fixes the turn of a message that collects. @returns its further messages. Null if the turn cannot run now; its claim
   * has then ended.
   */
  async #collect(outlet: PushOutlet): Promise<readonly InboxMessage[] | null> {
    const { store, log } = this.#services;
    if (this.#message.collects === undefined) return [];
    try {
      const collected = await store.inbox.collect(this.#claim);
      if (collected === null) log.info(this.#about, 'the claim of the message was lost before its run');
      return collected;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      await this.#end(await outlet.afterFailure(error));
      return null;
    }
  }

  /** The message as its turn stored it. */
  #withReply({ response, question, sign_in }: CompleteReply): InboxMessage {
    const text_stored_at = this.#services.clock.now();
    return {
      ...this.#message,
      state: 'replied',
      reply: response,
      question: question?.stored ?? null,
      ...(sign_in?.hint ? { sign_in: sign_in.hint } : {}),
      sends: 1,
      text_stored_at,
      parts_sent: 0,
      interrupted: 0,
    };
  }

  async #send(): Promise<void> {
    if (this.#message.closes !== undefined) return this.#attempt((reply_to) => this.#closeCard(reply_to));
    const reply = outgoingReply(this.#message);
    if (reply === null) throw new Error('a message in the state `replied` has no text');
    const { session_id, confirmation } = reply;
    const ended = confirmation && session_id !== null ? this.#questions.begin(session_id) : () => {};
    await this.#attempt((reply_to) => this.#sendReply(reply, reply_to)).finally(ended);
  }

  async #sendReply(reply: OutgoingReply, reply_to: JsonObject): Promise<AttemptOutcome | null> {
    const completed = await this.#completed(reply, reply_to);
    if (completed === null) return null;
    const { channel } = this.#later;
    await this.#inTime(() => channel.send({ ...completed, reply_to }));
    const sent_ids = this.#sentIds.take(reply.id);
    // The question is the last message of a reply.
    const card_id = completed.confirmation?.actions && channel.closeQuestion ? sent_ids.at(-1) : undefined;
    return { kind: 'sent', sent_ids, ...(card_id === undefined ? {} : { card_id }) };
  }

  async #closeCard(reply_to: JsonObject): Promise<AttemptOutcome> {
    const { channel, plugin } = this.#later;
    const closed = await closedQuestion(this.#services, plugin, this.#message);
    if (closed !== null && channel.closeQuestion)
      await this.#inTime(async () => channel.closeQuestion?.({ ...closed, reply_to }));
    return { kind: 'sent' };
  }

  /** @param send sends the text. It resolves to null if the claim is lost */
  async #attempt(send: (reply_to: JsonObject) => Promise<AttemptOutcome | null>): Promise<void> {
    if (this.#message.interrupted >= this.#services.settings.INBOX_MAX_ATTEMPTS) {
      this.#observe('failed');
      await this.#end({ kind: 'failed', failure: 'delivery_failed: interrupted', begun: false });
      return;
    }
    const reply_to = this.#replyTo();
    if (reply_to === null) {
      const failure = 'delivery_failed: no encryption key opens the private part of reply_to';
      this.#observe('failed');
      await this.#end({ kind: 'failed', failure, begun: false });
      return;
    }
    const began = this.#services.clock.now();
    let sent: AttemptOutcome | null;
    try {
      this.#admitted ??= await this.#reach.admit(this.#message.platform);
      if (this.#admitted === 'wait') {
        await this.#end({ kind: 'given_back' });
        return;
      }
      sent = await send(reply_to);
      if (sent === null) return;
    } catch (error) {
      await this.#sendFailed(error, began);
      return;
    }
    this.#observe('sent');
    await this.#noteReach(() => this.#reach.answered(this.#message.platform));
    if (this.#claim.message.state === 'replied') await this.#trace('sent', began);
    await this.#end(sent);
  }

  /** The reply with what it still needs about sign-in. Null if the claim is lost. */
  async #completed(reply: OutgoingReply, reply_to: JsonObject): Promise<OutgoingReply | null> {
    const { sign_in } = this.#message;
    if (sign_in === undefined) return reply;
    const hinted = await hintAtSignIn(this.#services, this.#later, this.#message, sign_in, reply_to);
    const completed = await this.#services.store.inbox.completeSignIn(this.#claim, hinted);
    if (completed === null) return null;
    this.#message = completed;
    return outgoingReply(completed);
  }

  #arrival(
    lost: Cancellation,
    outlet: PushOutlet,
    collected: readonly InboxMessage[],
  ): Arrival<Answering & Deduplicated & Guarded> {
    const { id, request_id, session_id, message: queued, message_id, reply_to, rerun } = this.#message;
    if (queued === null || session_id === null) throw new Error('a text without a message has no run');
    const { parent_span, edited = false, ...message } = queued;
    const text = textOfTurn([this.#message, ...collected]);
    const isEdited = edited || collected.some((one) => one.message?.edited === true);
    const further = collected.map((one) => ({
      id: one.id,
      message_id: one.message_id,
      request_id: one.request_id,
    }));
    return {
      turn_id: id,
      request_id,
      message: { ...message, text, ...(message_id === null ? {} : { message_id }), reply_to },
      ...(further.length === 0 ? {} : { collected: further }),
      ...(rerun === undefined ? {} : { rerun }),
      session_id,
      session_is_generated: false,
      channel: arrivedChannel(this.#later.plugin),
      address: null,
      validated: null,
      ticket: null,
      parent_span,
      edited: isEdited,
      outlet,
      stopped: null,
      // The person wrote it before the first run.
      accepted_at: rerun?.received_at ?? this.#message.received_at,
      lost,
      patient: true,
      reader: null,
      changes: {},
      // The message was deduplicated and checked by the guard before it was enqueued.
      key: null,
      counted_in: null,
    };
  }

  async #sendFailed(error: unknown, began: number): Promise<void> {
    if (this.#services.stopping.aborted) {
      await this.#end({ kind: 'given_back' });
      return;
    }
    const refused = error instanceof DeliveryFailed && error.final;
    const failure = failureOfDelivery(refused ? 'refused' : 'failed', error);
    const [isAway] = await Promise.all([this.#noteFailure(error), this.#trace(failure, began)]);
    const outcome = refused ? { kind: 'failed' as const, failure } : this.#sendAgain(error, failure, isAway);
    this.#observe(outcome.kind === 'failed' ? 'failed' : 'retried');
    await Promise.all([
      this.#end(outcome),
      isAway && this.#admitted === 'probe' ? this.#expireWaiting() : null,
    ]);
  }

  /**
   * The outcome after a failure to send. While the platform cannot be reached, the message is due immediately, because
   * it waits for the platform and not for a certain time.
   */
  #sendAgain(error: unknown, failure: string, isAway: boolean): AttemptOutcome {
    const { sends, text_stored_at } = this.#message;
    const { clock, settings } = this.#services;
    const now = clock.now();
    const asked = error instanceof DeliveryFailed ? error.retry_after_seconds : 0;
    const ends_at = (text_stored_at ?? now) + settings.INBOX_SEND_SECONDS * 1000;
    const wait_ms = withinBudget(isAway ? 0 : backOff(sends, LONGEST_MS.send, asked), ends_at, now);
    if (wait_ms === null) return { kind: 'failed', failure };
    return { kind: 'again', wait_ms, failure, counts: false };
  }

  /** Records what the failure says about the platform. @returns whether the platform now has an outage. */
  async #noteFailure(error: unknown): Promise<boolean> {
    const { id, platform } = this.#message;
    const failure = toPlatformFailure(error);
    let isAway = false;
    await this.#noteReach(async () => {
      if (failure !== null)
        isAway = await this.#reach.failed(platform, id, failure, this.#admitted ?? 'free');
      else if (error instanceof DeliveryFailed) await this.#reach.answered(platform);
    });
    return isAway;
  }

  /** Marks texts as failed if they have waited for the platform for the maximum time. */
  async #expireWaiting(): Promise<void> {
    const { store, clock, settings, log } = this.#services;
    const { platform } = this.#message;
    const stored_until = clock.now() - settings.INBOX_SEND_SECONDS * 1000;
    const failure = 'delivery_failed: the platform could not be reached for too long';
    await this.#noteReach(async () => {
      const messages = await store.inbox.expire(platform, stored_until, failure);
      for (let failed = 0; failed < messages; failed++) this.#observe('failed');
      if (messages > 0) log.error({ channel: platform, messages, failure }, 'messages have failed for good');
    });
  }

  /**
   * Records what was learned about the platform. If the store fails, this is only logged, because the next message will
   * lead to the same result.
   */
  async #noteReach(note: () => Promise<void>): Promise<void> {
    try {
      await note();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      this.#services.log.warn(
        { ...this.#about, err: error },
        'the state of a platform could not be recorded',
      );
    }
  }

  async #inTime(call: () => Promise<void>): Promise<void> {
    const { clock, stopping } = this.#services;
    stopping.throwIfAborted();
    const limit = new TimeLimit(clock, SEND_MS, [stopping]);
    try {
      await limit.within(call());
    } finally {
      limit.lift();
    }
  }

  /**
   * Ends the claim with this outcome. Repeats the write until it succeeds. If the daemon stops before that, the message
   * is processed again at the next start.
   */
  async #end(outcome: AttemptOutcome): Promise<void> {
    const { clock, log, stopping, store } = this.#services;
    this.#logOutcome(outcome);
    for (;;) {
      try {
        const ours = await store.inbox.settle(this.#claim, outcome);
        if (!ours) log.info(this.#about, 'the claim of the message was lost while it was being processed');
        return;
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        log.warn(
          { ...this.#about, err: error },
          'the outcome of an attempt could not be stored yet; will try again',
        );
        if (stopping.aborted) return;
      }
      await wait(clock, STORE_AGAIN_MS);
    }
  }

  /** The `reply_to` for the channel; null if it cannot be opened. */
  #replyTo(): JsonObject | null {
    const { id, reply_to, closes } = this.#message;
    return openReplyTo(this.#services.seal, closes?.message_id ?? id, reply_to);
  }

  #observe(outcome: DeliveryOutcome): void {
    // It is no reply: nobody waits for it.
    if (this.#message.closes !== undefined) return;
    this.#services.observer.deliveryEnded(this.#message.platform, outcome);
  }

  #logOutcome(outcome: AttemptOutcome): void {
    const { log } = this.#services;
    if (outcome.kind === 'again') {
      const { failure, wait_ms } = outcome;
      log.warn({ ...this.#about, failure, wait_ms }, 'message will be tried again');
    } else if (outcome.kind === 'notify' || outcome.kind === 'failed') {
      const level = this.#message.is_hint ? 'warn' : 'error';
      log[level]({ ...this.#about, failure: outcome.failure }, 'message has failed for good');
    }
  }

  async #trace(outcome: string, began: number): Promise<void> {
    try {
      await traceDelivery(this.#services, this.#message, { outcome, began });
    } catch (error) {
      this.#services.log.warn({ ...this.#about, err: error }, 'the trace of a delivery could not be stored');
    }
  }

  get #about(): Record<string, unknown> {
    const { id, request_id, platform, attempts, sends } = this.#message;
    return { request_id, channel: platform, message: id, attempts, sends };
  }
}
