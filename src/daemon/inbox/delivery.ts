import type { ChannelPlugin } from '../../channel/index.ts';
import { StoreUnavailable } from '../errors.ts';
import { findSendersTexts } from '../linking/find-link.ts';
import { linkKeys } from '../linking/link-ids.ts';
import { SignInChanged } from '../message/authorize-sender.ts';
import type { CompleteReply, Outlet, OutletChanges, TurnEnd } from '../message/outlet.ts';
import { runTurn } from '../message/run-turn.ts';
import type { Services } from '../message/services.ts';
import { runFromInbox } from '../message/steps.ts';
import type { AttemptOutcome, InboxClaim, InboxMessage } from '../store/inbox/inbox.ts';
import { replied } from '../store/inbox/settled.ts';
import type { NewWaitingQuestion } from '../store/links/waiting-questions.ts';
import type { LocalTexts } from '../texts/texts.ts';
import { timeOrderedId } from '../time/clock.ts';
import type { Cancellation } from '../time/time-limit.ts';
import type { PushTarget } from './ask-channel.ts';
import { Attempt } from './attempt.ts';
import { decideAfterRun, isInterruptedTooOften, judgeRun, toFinalFailure } from './outcome.ts';
import { openReplyTo, sealReplyTo } from './outgoing.ts';
import type { Admittance } from './platform-reach.ts';
import { isVoidPress } from './press.ts';
import { Sending, type SendingParts } from './sending.ts';
import { toArrival } from './to-arrival.ts';
import type { Typing } from './typing.ts';

/** The parts of the worker that a delivery uses. */
interface DeliveryParts extends SendingParts {
  typing: Typing;
}

/**
 * One attempt at a claimed message: a run and the sending of its reply or, if a text is already stored, only the
 * sending.
 */
export class Delivery {
  readonly #services: Services;
  readonly #typing: Typing;
  readonly #target: PushTarget;
  readonly #attempt: Attempt;
  readonly #sending: Sending;

  /** @param admitted for a message with a stored text, whether and how it may be sent; null for other messages. */
  constructor(parts: DeliveryParts, target: PushTarget, claim: InboxClaim, admitted: Admittance | null) {
    this.#services = parts.services;
    this.#typing = parts.typing;
    this.#target = target;
    this.#attempt = new Attempt(parts.services, claim);
    this.#sending = new Sending(parts, target, this.#attempt, admitted);
  }

  /** Makes the attempt. Rejects only because of a defect of the program. */
  make(): Promise<void> {
    const isReplied = this.#attempt.message.state === 'replied';
    return this.#attempt.whileHeld((lost) => (isReplied ? this.#sending.send() : this.#run(lost)));
  }

  /** Ends the attempt as if it had not begun. Rejects only because of a defect of the program. */
  giveBack(): Promise<void> {
    return this.#attempt.whileHeld(() => this.#attempt.end({ kind: 'given_back' }));
  }

  async #run(lost: Cancellation): Promise<void> {
    const outlet = new PushOutlet(this.#services, this.#target.plugin, this.#attempt.claim);
    if (isInterruptedTooOften(this.#attempt.message, this.#services.settings)) {
      this.#services.observer.messageEnded(this.#attempt.message.platform, 'failed');
      const outcome = toFinalFailure(this.#attempt.message, 'interrupted', await outlet.texts());
      await this.#attempt.end({ ...outcome, begun: false });
      return;
    }
    if (await isVoidPress(this.#attempt.message, this.#services)) {
      this.#services.log.info(
        this.#attempt.about,
        'a second press does nothing: the action was settled before',
      );
      this.#services.observer.messageEnded(this.#attempt.message.platform, 'replayed');
      await this.#attempt.end({ kind: 'sent' });
      return;
    }
    const collected = await this.#collect(outlet);
    if (collected === null) return;
    const reply_to = this.#attempt.replyTo();
    const stopTyping = reply_to === null ? () => {} : this.#typing.keepShowing(this.#target, reply_to);
    try {
      const parts = { plugin: this.#target.plugin, outlet, lost, collected };
      const arrival = toArrival(this.#attempt.message, parts);
      const end = await runTurn(runFromInbox, arrival, this.#services);
      if (!end.answered) {
        const outcome = await outlet.afterFailure(end.error);
        if (end.isStored) this.#attempt.logOutcome(outcome);
        else await this.#attempt.end(outcome);
        return;
      }
      const stored = toStored(end.reply);
      this.#attempt.message = replied(this.#attempt.message, stored, this.#services.clock.now());
      await this.#sending.send();
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
    if (this.#attempt.message.collects === undefined) return [];
    try {
      const collected = await store.inbox.collect(this.#attempt.claim);
      if (collected === null)
        log.info(this.#attempt.about, 'the claim of the message was lost before its run');
      return collected;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      await this.#attempt.end(await outlet.afterFailure(error));
      return null;
    }
  }
}

/** The reply as the inbox stores it. */
function toStored({ response, question, sign_in, written_for }: CompleteReply) {
  const hint = sign_in?.hint ?? null;
  return {
    text: response,
    question: question?.stored ?? null,
    ...(hint === null ? {} : { sign_in: hint }),
    ...(written_for === undefined ? {} : { written_for }),
  };
}

const SIGN_IN_CHANGED = 'session_forbidden: the sign-in of the sender has changed';

type Uses = Pick<Services, 'settings' | 'clock' | 'stopping' | 'texts' | 'store' | 'seal' | 'log'>;

/**
 * The outlet of a message in the inbox. The whole reply is stored with the message, and is sent when the turn has
 * ended. Until then, the platform shows that an answer is being written.
 */
class PushOutlet implements Outlet {
  readonly leaves = null;
  readonly #services: Uses;
  readonly #plugin: ChannelPlugin;
  readonly #claim: InboxClaim;
  #afterFailure: Promise<AttemptOutcome> | null = null;

  constructor(services: Uses, plugin: ChannelPlugin, claim: InboxClaim) {
    this.#services = services;
    this.#plugin = plugin;
    this.#claim = claim;
  }

  started(): void {}
  text(): void {}
  progress(): void {}

  async close(end: TurnEnd): Promise<OutletChanges> {
    const claim = this.#claim;
    if (end.answered) {
      const { sign_in, written_for } = end.reply;
      const waiting_text = sign_in?.waiting_text ?? null;
      const waits = waiting_text === null ? null : this.#waiting(waiting_text, written_for === undefined);
      const reply = { claim, ...toStored(end.reply) };
      return waits === null ? { reply } : { reply, waits };
    }
    const outcome = await this.afterFailure(end.error);
    return outcome.kind === 'notify' || outcome.kind === 'failed'
      ? { failed: { claim, outcome } }
      : { runs_again: true };
  }

  /** The outcome of the attempt after its run has failed. It is decided only once, because the wait is partly random. */
  afterFailure(error: unknown): Promise<AttemptOutcome> {
    this.#afterFailure ??= this.#judge(error);
    return this.#afterFailure;
  }

  /** The daemon's texts in the language of the sender. */
  async texts(): Promise<LocalTexts> {
    const { message } = this.#claim.message;
    return message === null
      ? this.#services.texts.in()
      : findSendersTexts(this.#services, this.#plugin, message);
  }

  /** The second run of the message, which waits for the sign-in of its sender. Null if its `reply_to` cannot be opened. */
  #waiting(text: string, isNobodys: boolean): NewWaitingQuestion | null {
    const { clock, seal, settings } = this.#services;
    const { id: turn_id, message, session_id, ...first } = this.#claim.message;
    const reply_to = openReplyTo(seal, turn_id, first.reply_to);
    if (reply_to === null || message === null || session_id === null) return null;
    const { platform, queue, user_id, message_id, sent_at, request_id, received_at } = first;
    const id = timeOrderedId(clock.now());
    return {
      link_key: linkKeys(this.#plugin, message.user_id)[0],
      message: {
        id,
        platform,
        queue,
        session_id,
        user_id,
        sent_at,
        request_id,
        message: { ...message, text },
        reply_to: sealReplyTo(seal, id, reply_to),
        reply: null,
        // Both runs would otherwise be found by the platform's id of the message.
        message_id: null,
        rerun: { turn_id, message_id, received_at },
      },
      ttl_ms: settings.SIGN_IN_WAIT_SECONDS * 1000,
      unlinked_at: isNobodys ? first.first_run_at : null,
    };
  }

  async #judge(error: unknown): Promise<AttemptOutcome> {
    const { settings, clock, stopping } = this.#services;
    if (stopping.aborted) return { kind: 'given_back' };
    // This run was not asked for, so its failure is not reported.
    if (error instanceof SignInChanged) return { kind: 'failed', failure: SIGN_IN_CHANGED };
    return decideAfterRun(this.#claim.message, judgeRun(error), settings, clock.now(), await this.texts());
  }
}
