import type { ChannelHealth, ChannelScope } from '../../src/channel/index.ts';
import { type PlatformApi, PlatformFailure } from './api.ts';
import type { BotName } from './parse.ts';

/** How long to wait before asking the platform again, in ms. The wait doubles each time, and is never reset. */
const FIRST_MS = 1000;
const LONGEST_MS = 60_000;

/** @returns the bot's id in a token of the platform; null if the token has another form */
export function parseBotId(token: string): number | null {
  const [, id] = /^([1-9]\d{0,15}):/.exec(token) ?? [];
  return id === undefined ? null : Number(id);
}

/**
 * The bot's identity. The id is part of the token. The name comes from the platform, which is asked until it answers.
 */
export class Bot implements BotName {
  id: number | null;
  username: string | null = null;
  readonly #api: PlatformApi;
  readonly #scope: Pick<ChannelScope, 'log' | 'now' | 'simulated'>;
  readonly #known = Promise.withResolvers<void>();
  #isStopped = false;
  /** Whether the platform was asked for the name and did not answer, although it should have. */
  #isMissed = false;
  #askedAt = 0;
  #cutWaitShort: () => void = () => undefined;

  constructor(token: string, api: PlatformApi, scope: Pick<ChannelScope, 'log' | 'now' | 'simulated'>) {
    this.id = parseBotId(token);
    this.#api = api;
    this.#scope = scope;
  }

  /** Starts asking, without waiting for the answer. */
  start(): void {
    this.#askUntilKnown().catch((error: unknown) =>
      this.#scope.log.error({ err: error }, 'the bot stopped asking the platform for its name'),
    );
  }

  stop(): void {
    this.#isStopped = true;
    this.#cutWaitShort();
  }

  health(): ChannelHealth {
    if (!this.#isMissed) return { status: 'ok' };
    return {
      status: 'degraded',
      detail:
        'the name of the bot is not known yet: group messages that may mention it are refused for now, and the platform delivers them again',
    };
  }

  /**
   * Resolves when the name is known, or after `ms`. The next request is sent at once, or when a second has passed since
   * the last one.
   */
  async whenKnown(ms: number): Promise<void> {
    const { promise: timeIsUp, resolve } = Promise.withResolvers<void>();
    const untilNext = Math.max(this.#askedAt + FIRST_MS - this.#scope.now(), 0);
    const timers = [setTimeout(resolve, ms), setTimeout(() => this.#cutWaitShort(), untilNext)];
    await Promise.race([this.#known.promise, timeIsUp]);
    for (const timer of timers) clearTimeout(timer);
  }

  async #askUntilKnown(): Promise<void> {
    for (let wait = FIRST_MS; !(await this.#ask()); wait = Math.min(wait * 2, LONGEST_MS)) {
      if (!this.#isStopped) await this.#wait(wait);
      if (this.#isStopped) return;
    }
    this.#known.resolve();
  }

  #wait(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms).unref();
    this.#cutWaitShort = () => {
      clearTimeout(timer);
      resolve();
    };
    return promise;
  }

  async #ask(): Promise<boolean> {
    const isFirst = this.#askedAt === 0;
    const mayBeAway = this.#scope.simulated;
    this.#askedAt = this.#scope.now();
    try {
      const { id, username } = await this.#api.call('getMe');
      if (typeof username !== 'string' || username === '')
        throw new PlatformFailure(null, 'its answer contains no username');
      this.username = username;
      // A simulator of the platform may use another id for the bot.
      if (Number.isSafeInteger(id)) this.id = Number(id);
      this.#isMissed = false;
      this.#scope.log.info({ bot: this.id, username }, 'the platform knows the bot');
      return true;
    } catch (error) {
      if (!(error instanceof PlatformFailure)) throw error;
      this.#isMissed = !mayBeAway;
      // Only the first failure is logged as a warning.
      const level = isFirst && !mayBeAway ? 'warn' : 'debug';
      this.#scope.log[level](
        { failure: error.message },
        'the platform did not report the name of the bot; group messages that may mention it must wait',
      );
      return false;
    }
  }
}
