import { setTimeout as delay } from 'node:timers/promises';
import type { ChannelScope } from '../../src/channel/index.ts';
import type { BotName } from './address.ts';
import type { PlatformApi } from './api.ts';
import type { PlatformFailure } from './failures.ts';

/** Wait before the platform is asked again, ms; doubled each time. */
const FIRST_MS = 1000;
const LONGEST_MS = 60_000;

/** Who the bot is. Its id stands in its token; its name is asked of the platform, until it answers. */
export class Bot implements BotName {
  readonly id: number;
  username: string | null = null;
  readonly #api: PlatformApi;
  readonly #log: ChannelScope['log'];
  readonly #stopped = new AbortController();
  #known = Promise.withResolvers<void>();

  constructor(token: string, api: PlatformApi, log: ChannelScope['log']) {
    this.id = Number(token.slice(0, token.indexOf(':')));
    this.#api = api;
    this.#log = log;
  }

  /** Begins to ask; nobody waits for it. */
  start(): void {
    this.#ask().catch((error: unknown) => {
      if (!this.#stopped.signal.aborted)
        this.#log.error({ err: error }, 'the name of the bot is not asked for any more');
    });
  }

  stop(): void {
    this.#stopped.abort();
  }

  /** Resolves when the name is known, or the time is up. */
  async whenKnown(ms: number): Promise<void> {
    const over = new AbortController();
    const { signal } = over;
    await Promise.race([this.#known.promise, delay(ms, undefined, { signal }).catch(() => undefined)]);
    over.abort();
  }

  async #ask(): Promise<void> {
    for (let wait = FIRST_MS; ; wait = Math.min(wait * 2, LONGEST_MS)) {
      try {
        const { username } = await this.#api.call((api) => api.getMe());
        if (this.#stopped.signal.aborted) return;
        this.username = username;
        this.#log.info({ bot: this.id, username }, 'the platform knows the bot');
        this.#known.resolve();
        return;
      } catch (error) {
        const failure = error as PlatformFailure;
        this.#log.warn(
          { failure: failure.message, wait_ms: wait },
          'the platform did not tell the name of the bot; in groups it cannot be mentioned until it has',
        );
      }
      await delay(wait, undefined, { signal: this.#stopped.signal, ref: false });
    }
  }
}
