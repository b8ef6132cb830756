import type { ChannelPlugin } from '../../channel/index.ts';
import { linkKeys } from '../linking/link-ids.ts';
import { sendersTexts } from '../linking/senders-texts.ts';
import { SignInChanged } from '../message/authorize-sender.ts';
import type { Outlet, OutletChanges, TurnEnd } from '../message/outlet.ts';
import type { Services } from '../message/services.ts';
import type { AttemptOutcome, InboxClaim } from '../store/inbox/inbox.ts';
import type { NewWaitingQuestion } from '../store/links/waiting-questions.ts';
import type { LocalTexts } from '../texts/texts.ts';
import { timeOrderedId } from '../time/clock.ts';
import { afterFailedRun, judgeRun } from './outcome.ts';
import { openReplyTo, sealReplyTo } from './outgoing.ts';

const SIGN_IN_CHANGED = 'session_forbidden: the sign-in of the sender has changed';

type Uses = Pick<Services, 'settings' | 'clock' | 'stopping' | 'texts' | 'store' | 'seal' | 'log'>;

/**
 * The outlet of a message in the inbox. The whole reply is stored with the message, and is sent when the turn has
 * ended. Until then, the platform shows that an answer is being written.
 */
export class PushOutlet implements Outlet {
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
  tool(): void {}
  complete(): void {}

  async close(end: TurnEnd): Promise<OutletChanges> {
    const claim = this.#claim;
    if (end.answered) {
      const { response, question, sign_in, written_for } = end.reply;
      const { waiting_text = null, hint = null } = sign_in ?? {};
      const waits = waiting_text === null ? null : this.#waiting(waiting_text);
      const reply = {
        ...{ claim, text: response, question: question?.stored ?? null },
        ...(hint === null ? {} : { sign_in: hint }),
        ...(written_for === undefined ? {} : { written_for }),
      };
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
    return message === null ? this.#services.texts.in() : sendersTexts(this.#services, this.#plugin, message);
  }

  /** The second run of the message, which waits for the sign-in of its sender. Null if its `reply_to` cannot be opened. */
  #waiting(text: string): NewWaitingQuestion | null {
    const { clock, seal, settings } = this.#services;
    const { id: turn_id, message, session_id, ...first } = this.#claim.message;
    const reply_to = openReplyTo(seal, turn_id, first.reply_to);
    if (reply_to === null || message === null || session_id === null) return null;
    const { platform, queue, user_id, message_id, sent_at, request_id, received_at } = first;
    const id = timeOrderedId(clock.now());
    return {
      link_key: linkKeys(this.#plugin, message.user_id)[0],
      message: {
        ...{ id, platform, queue, session_id, user_id, sent_at, request_id },
        ...{ message: { ...message, text }, reply_to: sealReplyTo(seal, id, reply_to), reply: null },
        // Both runs would otherwise be found by the platform's id of the message.
        message_id: null,
        rerun: { turn_id, message_id, received_at },
      },
      ttl_ms: settings.SIGN_IN_WAIT_SECONDS * 1000,
    };
  }

  async #judge(error: unknown): Promise<AttemptOutcome> {
    const { settings, clock, stopping } = this.#services;
    if (stopping.aborted) return { kind: 'given_back' };
    // Nobody asked for this run, so nobody is told that it failed.
    if (error instanceof SignInChanged) return { kind: 'failed', failure: SIGN_IN_CHANGED };
    return afterFailedRun(this.#claim.message, judgeRun(error), settings, clock.now(), await this.texts());
  }
}
