import type { ChannelScope, JsonObject } from '../../src/channel/index.ts';
import type { Call } from './client.ts';
import { refusalOf } from './refusal.ts';
import { TEXTS } from './texts.ts';

/**
 * The line below a thread that shows that an answer is being written
 * (https://docs.slack.dev/reference/methods/assistant.threads.setStatus). The platform removes it when the answer
 * arrives, or after two minutes. It exists only in threads.
 */
export class StatusLine {
  readonly #scope: ChannelScope;
  readonly #call: Call;
  /** Running calls, by the thread in which they set the status. */
  readonly #underWay = new Map<string, Promise<void>>();
  /** Whether the app lacks the permission. No further calls are then made. */
  #forbidden = false;

  constructor(scope: ChannelScope, call: Call) {
    this.#scope = scope;
    this.#call = call;
  }

  async show(place: JsonObject): Promise<void> {
    const key = JSON.stringify(place);
    if (this.#forbidden || this.#underWay.has(key)) return;
    const showing = this.#set(place, this.#scope.say(TEXTS.thinking)).finally(() =>
      this.#underWay.delete(key),
    );
    this.#underWay.set(key, showing);
    await showing;
  }

  /** Clears a status that is still being set: if it arrived after the answer, it would remain for two minutes. */
  answered(place: JsonObject): void {
    this.#underWay.get(JSON.stringify(place))?.then(() => this.#set(place, ''));
  }

  async #set({ channel, thread_ts }: JsonObject, status: string): Promise<void> {
    if (typeof channel !== 'string' || typeof thread_ts !== 'string') return;
    try {
      await this.#call('assistant.threads.setStatus', { channel_id: channel, thread_ts, status });
    } catch (error) {
      const { reason, credentials } = refusalOf(error);
      // The status is optional: the answer is sent in any case.
      if (credentials || reason === 'unknown_method') this.#forbidden = true;
      this.#scope.log.debug({ reason, given_up: this.#forbidden }, 'status could not be shown');
    }
  }
}
