import type { JsonObject, OutgoingReply } from '../../channel/index.ts';
import { StoreUnavailable } from '../errors.ts';
import { findSendersLink } from '../linking/find-link.ts';
import type { Services } from '../message/services.ts';
import { DAY_MS } from '../store/bounds.ts';
import type { AttemptOutcome, InboxMessage } from '../store/inbox/inbox.ts';
import { backOff, LONGEST_MS, withinBudget } from '../time/retry.ts';
import { TimeLimit } from '../time/time-limit.ts';
import type { DeliveryOutcome } from '../trace/observer.ts';
import { findPrivateChat, type PushTarget } from './ask-channel.ts';
import type { Attempt } from './attempt.ts';
import { DeliveryFailed, describeDeliveryFailure, toPlatformFailure } from './outcome.ts';
import { sealReplyTo, toClosedQuestion, toOutgoingReply } from './outgoing.ts';
import type { Admittance, PlatformReach } from './platform-reach.ts';
import type { QuestionsBeingSent } from './questions-being-sent.ts';
import type { SentIds } from './sent-ids.ts';
import { hintAtSignIn } from './sign-in-hint.ts';

/** The parts of the worker that the sending of a text uses. */
export interface SendingParts {
  services: Services;
  reach: PlatformReach;
  questions: QuestionsBeingSent;
  sentIds: SentIds;
}

/**
 * How long a `send` may take, ms. After that, it counts as failed. A long reply needs this much time, because it is
 * several messages on the platform.
 */
const SEND_MS = 60_000;

/** Sends the stored text of a message to its platform, and ends the attempt. */
export class Sending {
  readonly #services: Services;
  readonly #parts: Omit<SendingParts, 'services'>;
  readonly #target: PushTarget;
  readonly #attempt: Attempt;
  /** Whether and how the message may be sent to the platform; null if this was not decided yet. */
  #admitted: Admittance | null;

  constructor(parts: SendingParts, target: PushTarget, attempt: Attempt, admitted: Admittance | null) {
    this.#services = parts.services;
    this.#parts = parts;
    this.#target = target;
    this.#attempt = attempt;
    this.#admitted = admitted;
  }

  async send(): Promise<void> {
    const { closes, link_change } = this.#attempt.message;
    if (closes !== undefined) return this.#try((reply_to) => this.#closeCard(reply_to));
    const obstacle = link_change === undefined ? null : this.#completeNotice(link_change);
    if (obstacle !== null) return this.#giveUp(obstacle);
    const reply = toOutgoingReply(this.#attempt.message);
    if (reply === null) throw new Error('a message in the state `replied` has no text');
    const { session_id, confirmation } = reply;
    const ended = confirmation && session_id !== null ? this.#parts.questions.begin(session_id) : () => {};
    await this.#try((reply_to) => this.#sendReply(reply, reply_to)).finally(ended);
  }

  async #sendReply(reply: OutgoingReply, reply_to: JsonObject): Promise<AttemptOutcome | null> {
    const completed = await this.#completed(reply, reply_to);
    if (completed === null) return null;
    const { channel } = this.#target;
    await this.#inTime(() => channel.send({ ...completed, reply_to }));
    const sent_ids = this.#parts.sentIds.take(reply.id);
    // The question is the last message of a reply.
    const card_id = completed.confirmation?.actions && channel.closeQuestion ? sent_ids.at(-1) : undefined;
    return { kind: 'sent', sent_ids, ...(card_id === undefined ? {} : { card_id }) };
  }

  async #closeCard(reply_to: JsonObject): Promise<AttemptOutcome> {
    const { channel, plugin } = this.#target;
    const closed = await toClosedQuestion(this.#services, plugin, this.#attempt.message);
    if (closed !== null && channel.closeQuestion)
      await this.#inTime(async () => channel.closeQuestion?.({ ...closed, reply_to }));
    return { kind: 'sent' };
  }

  /**
   * Adds its words, and the chat of its user, to a notice that a command has stored.
   * @returns why it is not sent; null if it can be
   */
  #completeNotice(link_change: NonNullable<InboxMessage['link_change']>): string | null {
    const { message } = this.#attempt;
    const { id, user_id, received_at } = message;
    const { clock, log, seal, texts } = this.#services;
    // By then, the user has noticed it or never will.
    if (clock.now() >= received_at + DAY_MS) return 'the link was changed more than a day ago';
    const chat = findPrivateChat(log, this.#target, user_id);
    if (chat === null) return 'the channel cannot write to a user first';
    // The claims of the person are gone with the link, and with them the language.
    const reply = texts.in(null).say(`link_${link_change}_by_operator`);
    this.#attempt.message = { ...message, reply, reply_to: sealReplyTo(seal, id, chat) };
    return null;
  }

  /** @param send sends the text. It resolves to null if the claim is lost */
  async #try(send: (reply_to: JsonObject) => Promise<AttemptOutcome | null>): Promise<void> {
    if (this.#attempt.message.interrupted >= this.#services.settings.INBOX_MAX_ATTEMPTS)
      return this.#giveUp('interrupted');
    const reply_to = this.#attempt.replyTo();
    if (reply_to === null) return this.#giveUp('no encryption key opens the private part of reply_to');
    const began = this.#services.clock.now();
    let sent: AttemptOutcome | null;
    try {
      if (await this.#isOfSomebodyElse())
        return await this.#giveUp('the chat is signed in as somebody else than the reply was written for');
      this.#admitted ??= await this.#parts.reach.admit(this.#attempt.message.platform);
      if (this.#admitted === 'wait') {
        await this.#attempt.end({ kind: 'given_back' });
        return;
      }
      sent = await send(reply_to);
      if (sent === null) return;
    } catch (error) {
      await this.#sendFailed(error, began);
      return;
    }
    this.#observe('sent');
    await this.#noteReach(() => this.#parts.reach.accepted(this.#attempt.message.platform));
    if (this.#attempt.claim.message.state === 'replied') await this.#trace('sent', began);
    await this.#attempt.end(sent);
  }

  /** Ends the attempt, and fails the message, before anything was sent. */
  async #giveUp(why: string): Promise<void> {
    this.#observe('failed');
    await this.#attempt.end({ kind: 'failed', failure: `delivery_failed: ${why}`, begun: false });
  }

  /**
   * Whether the private chat has been signed in as another person since the reply was written, or its id belongs to
   * somebody else: the reply may say what only the earlier person may read.
   */
  async #isOfSomebodyElse(): Promise<boolean> {
    const { message, written_for } = this.#attempt.message;
    if (message === null || written_for === undefined || message.shared) return false;
    const link = await findSendersLink(this.#services, this.#target.plugin, message);
    return link === 'other_sender' || (link !== null && link.person !== written_for);
  }

  /** The reply with what it still needs about sign-in. Null if the claim is lost. */
  async #completed(reply: OutgoingReply, reply_to: JsonObject): Promise<OutgoingReply | null> {
    const { sign_in } = this.#attempt.message;
    if (sign_in === undefined) return reply;
    const hinted = await hintAtSignIn(this.#services, this.#target, this.#attempt.message, sign_in, reply_to);
    const completed = await this.#services.store.inbox.completeSignIn(this.#attempt.claim, hinted);
    if (completed === null) return null;
    this.#attempt.message = completed;
    return toOutgoingReply(completed);
  }

  async #sendFailed(error: unknown, began: number): Promise<void> {
    if (this.#services.stopping.aborted) {
      await this.#attempt.end({ kind: 'given_back' });
      return;
    }
    const refused = error instanceof DeliveryFailed && error.final;
    const failure = describeDeliveryFailure(refused ? 'refused' : 'failed', error);
    const [isAway] = await Promise.all([this.#noteFailure(error), this.#trace(failure, began)]);
    const outcome = refused ? { kind: 'failed' as const, failure } : this.#sendAgain(error, failure, isAway);
    this.#observe(outcome.kind === 'failed' ? 'failed' : 'retried');
    await Promise.all([
      this.#attempt.end(outcome),
      isAway && this.#admitted === 'probe' ? this.#expireWaiting() : null,
    ]);
  }

  /**
   * The outcome after a failure to send. While the platform cannot be reached, the message is due immediately, because
   * it waits for the platform and not for a certain time.
   */
  #sendAgain(error: unknown, failure: string, isAway: boolean): AttemptOutcome {
    const { sends, text_stored_at } = this.#attempt.message;
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
    const { id, platform } = this.#attempt.message;
    const failure = toPlatformFailure(error);
    let isAway = false;
    await this.#noteReach(async () => {
      if (failure !== null)
        isAway = await this.#parts.reach.failed(platform, id, failure, this.#admitted ?? 'free');
      else if (error instanceof DeliveryFailed) await this.#parts.reach.answered(platform);
    });
    return isAway;
  }

  /** Marks texts as failed if they have waited for the platform for the maximum time. */
  async #expireWaiting(): Promise<void> {
    const { store, clock, settings, log } = this.#services;
    const { platform } = this.#attempt.message;
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
        { ...this.#attempt.about, err: error },
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

  #observe(outcome: DeliveryOutcome): void {
    // It is no reply: nobody waits for it.
    if (this.#attempt.message.closes !== undefined) return;
    this.#services.observer.deliveryEnded(this.#attempt.message.platform, outcome);
  }

  /**
   * Stores the outcome of an attempt to send in a separate trace, because the trace of the run was complete when the
   * reply was stored. Not called for a first attempt that succeeds, because the message in the inbox already shows that.
   * Texts without a run have no trace.
   */
  async #trace(outcome: string, began: number): Promise<void> {
    const { store, clock, log } = this.#services;
    const { id, request_id, session_id, message_id, platform, message, sends, notice } =
      this.#attempt.message;
    if (session_id === null) return;
    const finished_at = clock.now();
    const [word = outcome, words] = outcome.split(': ', 2);
    const line = {
      at: finished_at,
      step: 'send-reply',
      verdict: word === 'sent' ? ('ok' as const) : ('failed' as const),
      reason: word,
      detail: { sends, notice: notice !== null, ...(words === undefined ? {} : { words }) },
      took_ms: finished_at - began,
    };
    try {
      await store.traces.keep({
        turn_id: id,
        request_id,
        session_id,
        message_id,
        platform,
        user_id: message?.user_id ?? null,
        started_at: began,
        finished_at,
        outcome: word,
        lines: [line],
      });
    } catch (error) {
      log.warn({ ...this.#attempt.about, err: error }, 'the trace of a delivery could not be stored');
    }
  }
}
