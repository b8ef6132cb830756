import type { ChannelHealth } from '../../channel/index.ts';
import type { Services } from '../message/services.ts';
import type { Outage, OutageReason } from '../store/inbox/outages.ts';
import { backOff, LONGEST_MS } from '../time/retry.ts';

/** A platform counts as unreachable after this many consecutive messages have failed to reach it. */
const MESSAGES_IN_A_ROW = 3;
/** A channel is degraded after this many consecutive attempts have failed, even if they were for one message. */
const ATTEMPTS_IN_A_ROW = 3;
/**
 * How long a probe is reserved, ms. After this time, it has ended or its process has died, because a `send` takes less
 * time.
 */
const PROBE_LEASE_MS = 90_000;

/** The reason of an outage, as the log and `GET /` show it. */
const FAILURES: Readonly<Record<OutageReason, string>> = {
  unreachable: 'the platform cannot be reached',
  credentials: "the platform refuses the channel's credentials",
};

/**
 * `free`: the message may be sent. `probe`: it may be sent to find out whether the platform can be reached again.
 * `wait`: it must not be sent now.
 */
export type Admittance = 'free' | 'probe' | 'wait';

/** A failure that concerns a platform as a whole. */
export interface PlatformFailure {
  reason: OutageReason;
  /** The failure in words, without secrets. */
  words: string;
  askedSeconds: number;
}

/**
 * Knows which platforms have an outage. An outage begins after a network error or 5xx on three consecutive messages, or
 * as soon as the platform refuses the channel's credentials. Then one message at a time probes the platform, with
 * back-off, and the other messages wait without an attempt. The first answer of the platform ends the outage. Outages
 * are in the store; consecutive failures are counted in this process, and so are failed checks of channels.
 */
export class PlatformReach {
  readonly #services: Pick<Services, 'store' | 'clock' | 'log'>;
  /** What has failed since the platform answered last, by platform. */
  readonly #failing = new Map<string, { messages: Set<string>; attempts: number; words: string }>();
  /** Why the last check of a channel failed, by platform; absent if the platform has accepted a reply since. */
  readonly #failedChecks = new Map<string, string>();
  /**
   * The outages when they were last read, which is at least every 500 ms (`InboxWorker`). Without an outage, they are
   * not read again for each message: an outage that another process has just begun holds back the next one.
   */
  #outages: ReadonlyMap<string, Outage> = new Map();

  constructor(services: Pick<Services, 'store' | 'clock' | 'log'>) {
    this.#services = services;
  }

  /** The current outages, by platform. */
  async outages(): Promise<ReadonlyMap<string, Outage>> {
    return this.note(await this.#services.store.outages.list());
  }

  /** Like `outages`, for outages that were already read. */
  note(outages: readonly Outage[]): ReadonlyMap<string, Outage> {
    this.#outages = new Map(outages.map((outage) => [outage.platform, outage]));
    return this.#outages;
  }

  /** Whether a message may be sent to this platform now. */
  async admit(platform: string): Promise<Admittance> {
    if (!this.#outages.has(platform)) return 'free';
    const outage = (await this.outages()).get(platform);
    if (outage === undefined) return 'free';
    if (outage.probe_at > this.#services.clock.now()) return 'wait';
    const isProbe = await this.#services.store.outages.takeProbe(platform, PROBE_LEASE_MS);
    return isProbe ? 'probe' : 'wait';
  }

  /** Records why a check of the channel has failed; null if it has not. @returns whether that is new */
  noteCheck(platform: string, failure: string | null): boolean {
    const known = this.failedCheck(platform);
    if (failure === null) this.#failedChecks.delete(platform);
    else this.#failedChecks.set(platform, failure);
    return known !== failure;
  }

  /** Why the last check of the channel has failed; null if it has not, or the platform has accepted a reply since. */
  failedCheck(platform: string): string | null {
    return this.#failedChecks.get(platform) ?? null;
  }

  /** Records that the platform has accepted a message. */
  async accepted(platform: string): Promise<void> {
    if (this.noteCheck(platform, null))
      this.#services.log.info({ channel: platform }, `the channel ${platform} is no longer degraded`);
    await this.answered(platform);
  }

  /**
   * Records that the platform has accepted or refused a message, so it can be reached and accepts the channel's
   * credentials.
   */
  async answered(platform: string): Promise<void> {
    this.#failing.delete(platform);
    if (!this.#outages.has(platform)) return;
    if (await this.#services.store.outages.end(platform))
      this.#services.log.info(
        { channel: platform },
        'the platform is available again; waiting replies are sent',
      );
    await this.outages();
  }

  /**
   * Records that a message has failed because the platform cannot be reached or refuses the channel's credentials.
   * @returns whether the platform now has an outage.
   */
  async failed(
    platform: string,
    message_id: string,
    { reason, words, askedSeconds }: PlatformFailure,
    admittance: Admittance,
  ): Promise<boolean> {
    const outage = (await this.outages()).get(platform);
    if (outage !== undefined && admittance !== 'probe') return true;
    if (outage === undefined && !this.#isOutage(platform, message_id, { reason, words })) return false;
    this.#failing.delete(platform);
    const probe_in_ms = backOff((outage?.probes ?? -1) + 2, LONGEST_MS.send, askedSeconds);
    await this.#services.store.outages.note(platform, reason, words, probe_in_ms);
    await this.outages();
    const about = { channel: platform, reason, words, probe_in_ms };
    if (outage === undefined) this.#services.log.error(about, `${FAILURES[reason]}; replies wait`);
    else this.#services.log.warn(about, `the outage continues: ${FAILURES[reason]}`);
    return true;
  }

  /** The health of the platform, as `GET /` reports it; null if nothing is wrong. */
  health(platform: string): ChannelHealth | null {
    const detail = this.#describeTrouble(platform);
    return detail === null ? null : { status: 'degraded', detail };
  }

  #describeTrouble(platform: string): string | null {
    const outage = this.#outages.get(platform);
    if (outage !== undefined) return `${FAILURES[outage.reason]}; replies wait: ${outage.words}`;
    const { attempts = 0, words } = this.#failing.get(platform) ?? {};
    if (attempts < ATTEMPTS_IN_A_ROW) return this.failedCheck(platform);
    return `the last ${attempts} attempts to send failed; replies are retried: ${words}`;
  }

  #isOutage(
    platform: string,
    message_id: string,
    { reason, words }: Pick<PlatformFailure, 'reason' | 'words'>,
  ): boolean {
    if (reason === 'credentials') return true;
    const { messages = new Set<string>(), attempts = 0 } = this.#failing.get(platform) ?? {};
    this.#failing.set(platform, { messages: messages.add(message_id), attempts: attempts + 1, words });
    return messages.size >= MESSAGES_IN_A_ROW;
  }
}
