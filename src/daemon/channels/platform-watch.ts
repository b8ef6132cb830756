import type { PlatformReach } from '../inbox/platform-reach.ts';
import type { Log } from '../process/log.ts';
import { knownSecrets } from '../settings/known-secrets.ts';
import { maskSecrets } from '../settings/mask-secrets.ts';
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
  readonly #reach: Pick<PlatformReach, 'noteCheck' | 'failedCheck'>;
  readonly #stopped = new AbortController();
  readonly #timers = new Map<string, NodeJS.Timeout>();

  constructor(log: Log, environment: string, reach: Pick<PlatformReach, 'noteCheck' | 'failedCheck'>) {
    this.#log = log;
    this.#environment = environment;
    this.#reach = reach;
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
    const { name } = plugin;
    const answer = await this.#ask(configured);
    if (this.#stopped.signal.aborted) return;
    const secrets = knownSecrets(Object.values(settings));
    const detail = maskSecrets(answer.detail, secrets);
    const isFailed = answer.outcome === 'failed';
    const isNew = this.#reach.noteCheck(name, isFailed ? detail : null);
    if (!isFailed) {
      const fields = { channel: name, detail };
      if (isNew) this.#log.info({ channel: name }, `the channel ${name} is no longer degraded`);
      if (answer.outcome === 'ok') this.#log.debug(fields, 'the platform knows the channel');
      if (answer.outcome === 'warning')
        this.#log.warn(fields, 'the platform might not allow everything that the channel needs');
      return;
    }
    // If a check fails again with the same detail, nothing is logged.
    if (isNew) {
      const advice = maskSecrets(answer.advice, secrets);
      this.#log.warn({ channel: name, detail, advice }, `the channel ${name} is degraded: ${detail}`);
    }
    const next = () => {
      // The platform may have accepted a reply.
      if (this.#reach.failedCheck(name) !== null)
        void this.#check(configured, Math.min(AGAIN_MAX_MS, again_ms * 2));
    };
    this.#timers.set(name, setTimeout(next, again_ms).unref());
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
}
