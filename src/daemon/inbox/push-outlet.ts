import type { ChannelPlugin } from '../../channel/index.ts';
import { sendersTexts } from '../linking/senders-texts.ts';
import type { Outlet, OutletChanges, TurnEnd } from '../message/outlet.ts';
import type { Services } from '../message/services.ts';
import type { AttemptOutcome, InboxClaim } from '../store/inbox.ts';
import type { LocalTexts } from '../texts/texts.ts';
import { afterFailedRun, judgeRun } from './outcome.ts';

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
      const { response, question } = end.reply;
      return { reply: { claim, text: response, question: question?.stored ?? null } };
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

  async #judge(error: unknown): Promise<AttemptOutcome> {
    const { settings, clock, stopping } = this.#services;
    if (stopping.aborted) return { kind: 'given_back' };
    return afterFailedRun(this.#claim.message, judgeRun(error), settings, clock.now(), await this.texts());
  }
}
