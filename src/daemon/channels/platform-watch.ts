import type { ChannelHealth, PushChannel } from '../../channel/index.ts';
import type { ActiveChannel } from '../http/routes.ts';
import type { Log } from '../process/log.ts';
import { maskSecrets } from '../settings/value.ts';
import { askPlatform, type PlatformAnswer } from './ask-platform.ts';
import type { ConfiguredChannel } from './load.ts';

/** Timeout of one call of a check, ms. */
const CALL_MS = 10_000;
/** Wait before a failed check is repeated, ms; doubled each time. */
const AGAIN_MIN_MS = 60_000;
const AGAIN_MAX_MS = 600_000;

/**
 * After the daemon has started, asks the platforms of the active channels whether they accept the channels'
 * credentials. A channel whose check fails is degraded (`GET /`) until a later check does not fail, or until the
 * platform accepts a reply.
 */
export class PlatformWatch {
  readonly #log: Log;
  readonly #environment: string;
  readonly #stopped = new AbortController();
  /** Why the check of a channel failed, by channel. */
  readonly #failures = new Map<string, string>();
  readonly #timers = new Map<string, NodeJS.Timeout>();

  constructor(log: Log, environment: string) {
    this.#log = log;
    this.#environment = environment;
  }

  /**
   * The channel as the daemon uses it: its health includes the result of the check, and a reply that the platform
   * accepts ends the degraded state.
   */
  watched({ plugin, channel }: ActiveChannel): ActiveChannel {
    const { name } = plugin;
    // A channel may be an instance of a class, so its functions are called with the channel as `this`.
    const watched = {
      routes: channel.routes,
      health: () => this.#combineHealth(name, channel.health?.()),
      start: async () => channel.start?.(),
      stop: async () => channel.stop?.(),
    };
    if (!channel.send) return { plugin, channel: watched };
    const { receive, closeQuestion, typing, codeUrl, privateChat, privateSession, chatUrl } = channel;
    const push: PushChannel = {
      ...watched,
      send: async (reply) => {
        await channel.send(reply);
        this.#clear(name);
      },
      ...(receive ? { receive: (update) => receive.call(channel, update) } : {}),
      ...(closeQuestion ? { closeQuestion: async (closed) => closeQuestion.call(channel, closed) } : {}),
      ...(typing ? { typing: async (reply_to) => typing.call(channel, reply_to) } : {}),
      ...(codeUrl ? { codeUrl: async (code) => codeUrl.call(channel, code) } : {}),
      ...(privateChat
        ? { privateChat: (user_id) => this.#orNull(name, () => privateChat.call(channel, user_id)) }
        : {}),
      ...(privateSession
        ? { privateSession: (...of) => this.#orNull(name, () => privateSession.call(channel, ...of)) }
        : {}),
      ...(chatUrl ? { chatUrl: () => this.#orNull(name, () => chatUrl.call(channel)) } : {}),
    };
    return { plugin, channel: push };
  }

  /** What a channel answers; null if it fails, since what the answer is for must not fail with it. */
  #orNull<T>(name: string, ask: () => T | null): T | null {
    try {
      return ask();
    } catch (err) {
      this.#log.warn({ channel: name, err }, `the channel ${name} does not know how to reach a person`);
      return null;
    }
  }

  /** Begins the checks, and returns at once. */
  begin(channels: readonly ConfiguredChannel[]): void {
    for (const channel of channels) void this.#check(channel, AGAIN_MIN_MS);
  }

  stop(): void {
    this.#stopped.abort();
    for (const timer of this.#timers.values()) clearTimeout(timer);
  }

  async #check(configured: ConfiguredChannel, again_ms: number): Promise<void> {
    const { plugin, settings } = configured;
    const answer = await this.#ask(configured);
    if (this.#stopped.signal.aborted) return;
    const detail = maskSecrets(answer.detail, Object.values(settings));
    if (answer.outcome !== 'failed') {
      this.#clear(plugin.name);
      const fields = { channel: plugin.name, detail };
      if (answer.outcome === 'ok') this.#log.debug(fields, 'the platform knows the channel');
      if (answer.outcome === 'warning')
        this.#log.warn(fields, 'the platform might not allow everything that the channel needs');
      return;
    }
    // If a check fails again with the same detail, nothing is logged.
    if (this.#failures.get(plugin.name) !== detail) {
      const advice = maskSecrets(answer.advice, Object.values(settings));
      this.#log.warn(
        { channel: plugin.name, detail, advice },
        `the channel ${plugin.name} is degraded: ${detail}`,
      );
    }
    this.#failures.set(plugin.name, detail);
    const next = () => this.#check(configured, Math.min(AGAIN_MAX_MS, again_ms * 2));
    this.#timers.set(plugin.name, setTimeout(next, again_ms).unref());
  }

  async #ask(configured: ConfiguredChannel): Promise<PlatformAnswer> {
    let isAnswered = false;
    return askPlatform(configured, {
      fetch: async (input, init) => {
        const signal = AbortSignal.any([this.#stopped.signal, init?.signal ?? AbortSignal.timeout(CALL_MS)]);
        const response = await fetch(input, { ...init, signal });
        isAnswered = true;
        return response;
      },
      isAnswered: () => isAnswered,
      environment: this.#environment,
    });
  }

  #combineHealth(name: string, own: ChannelHealth = { status: 'ok' }): ChannelHealth {
    const detail = this.#failures.get(name);
    return own.status === 'ok' && detail !== undefined ? { status: 'degraded', detail } : own;
  }

  #clear(name: string): void {
    clearTimeout(this.#timers.get(name));
    if (this.#failures.delete(name))
      this.#log.info({ channel: name }, `the channel ${name} is no longer degraded`);
  }
}
