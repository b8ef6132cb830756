import type { Channel, ChannelPlugin, JsonObject } from '../../channel/index.ts';
import type { Services } from '../message/services.ts';
import { REAP_MS } from '../store/claims/claims.ts';
import type { AttemptKind, InboxClaim, NewInboxMessage } from '../store/inbox/inbox.ts';
import type { Outage } from '../store/inbox/outages.ts';
import { every } from '../time/clock.ts';
import { LiveSet } from '../time/live-map.ts';
import { findPrivateChat, type PushTarget } from './ask-channel.ts';
import { Delivery } from './delivery.ts';
import { type Admittance, PlatformReach } from './platform-reach.ts';
import { QuestionsBeingSent } from './questions-being-sent.ts';
import { SentIds } from './sent-ids.ts';
import { Typing } from './typing.ts';

/**
 * Maximum number of texts that are sent at the same time. Replies that are sent at the end of their run are not
 * counted.
 */
const SENDS_AT_ONCE = 32;
/** How often the worker checks for messages that have become due or that another process has added, ms. */
const POLL_MS = 500;

/** The wait after an attempt that was ended by a defect, ms. */
const BROKE_OFF_MS = 60_000;

/** What the inbox needs to store a message or a notice, and to process it soon. */
export interface InboxParts {
  services: Services;
  worker: InboxWorker;
}

/**
 * The attempts of one kind that run at the same time. Each kind has its own lane, so that messages to send do not wait
 * behind messages to run.
 */
interface Lane {
  /** How many attempts of this kind may run now. */
  readonly room: () => number;
  active: number;
}

/**
 * Takes messages from the inbox and makes an attempt at each of them: one at a time in each queue, and different queues
 * in parallel. AGENT_CONCURRENCY limits the runs. `enqueue` wakes the worker, which also polls for messages that have
 * become due.
 *
 * Messages that were interrupted by the death of a process are processed first, one at a time and with nothing else
 * running. So a message that kills the process affects no other message.
 */
export class InboxWorker {
  /** Where channels note the ids of the messages that they send. */
  readonly sentIds = new SentIds();
  /** Which platforms can be reached. */
  readonly reach: PlatformReach;
  /** `enqueue` waits for these questions. */
  readonly questions: QuestionsBeingSent;
  readonly #services: Services;
  readonly #typing: Typing;
  readonly #channels = new Map<string, PushTarget>();
  readonly #lanes: Readonly<Record<AttemptKind, Lane>>;
  readonly #claims = new LiveSet<InboxClaim>();
  /** Attempts and polls that are under way. */
  readonly #underWay = new Set<Promise<void>>();
  #taking = false;
  #filling = false;
  /** Whether `wake` was called after the last check for messages began. */
  #again = false;
  #cancelPoll = () => {};
  #stopReaping = async () => {};

  constructor(services: Services) {
    this.#services = services;
    this.#typing = new Typing(services.clock, services.log);
    this.reach = new PlatformReach(services);
    this.questions = new QuestionsBeingSent(services.clock);
    this.#lanes = {
      run: { room: () => services.settings.AGENT_CONCURRENCY, active: 0 },
      send: { room: () => SENDS_AT_ONCE, active: 0 },
    };
  }

  /** Starts to process the messages of this channel. Messages of inactive channels stay in the inbox. */
  add(plugin: ChannelPlugin, channel: Channel): void {
    if (!canSend(channel)) throw new Error(`the channel ${plugin.name} cannot send`);
    this.#channels.set(plugin.name, { plugin, channel });
  }

  /** Resumes the messages that dead processes were processing, and starts to take messages. */
  async start(): Promise<void> {
    if (this.#channels.size === 0) return;
    const left = await this.#services.store.inbox.reap();
    if (left > 0)
      this.#services.log.warn({ messages: left }, 'messages of a dead process are processed again');
    // Operators restart the daemon to set a new token, so each outage is probed immediately.
    for (const platform of (await this.reach.outages()).keys())
      await this.#services.store.outages.hurry(platform);
    this.#taking = true;
    this.#stopReaping = every(this.#services.clock, REAP_MS, () => this.#reap());
    await this.#poll();
  }

  /** Checks for messages to process. If a check is already under way, another check follows it. */
  wake(): void {
    this.#again = true;
    if (!this.#filling) this.#track(this.#fill());
  }

  /**
   * Shows on the platform that a message was accepted. If its run waits for further messages, keeps showing it until
   * then, and takes it in time.
   */
  accepted({
    platform,
    reply_to,
    collects,
  }: Pick<NewInboxMessage, 'platform' | 'reply_to' | 'collects'>): void {
    const target = this.#channels.get(platform);
    if (!target || !this.#taking) return;
    if (collects === undefined) {
      this.#typing.show(target, reply_to);
      return;
    }
    const stopTyping = this.#typing.keepShowing(target, reply_to);
    const { clock } = this.#services;
    clock.after(Math.min(collects.wait_ms, collects.max_ms), () => {
      stopTyping();
      this.wake();
    });
  }

  /** The `reply_to` of a private chat with a user; null if the channel is not active, or cannot write to a user first. */
  privateChat(platform: string, user_id: string): JsonObject | null {
    const target = this.#channels.get(platform);
    return target ? findPrivateChat(this.#services.log, target, user_id) : null;
  }

  /**
   * Ends the collecting of the messages that a platform's user has sent so far, because the user does something else,
   * for example signs in: messages from before must not be answered together with messages from after it.
   */
  async endCollecting(platform: string, user_id: string): Promise<void> {
    const { store, settings } = this.#services;
    if (settings.COLLECT_MS === 0) return;
    await store.inbox.endCollecting(platform, user_id);
    this.wake();
  }

  /** Takes no more messages. Current attempts continue. */
  pause(): void {
    this.#taking = false;
    this.#cancelPoll();
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  /** Resolves when no attempt is running anymore. Messages that have not ended are processed at the next start. */
  async stop(): Promise<void> {
    this.pause();
    await this.idle();
    await this.#stopReaping();
  }

  async #fill(): Promise<void> {
    this.#filling = true;
    try {
      while (this.#again && this.#taking) {
        this.#again = false;
        // Nothing else may run while an interrupted message is processed.
        if ([...this.#claims].some(({ message }) => message.interrupted > 0)) continue;
        const room = { run: this.#countRoom('run'), send: this.#countRoom('send') };
        const idle = this.#claims.size === 0;
        const taken = await this.#services.store.inbox.take(this.#names, { ...room, idle });
        this.reach.note(taken.outages);
        for (const claim of taken.claims)
          this.#begin(claim, claim.message.state === 'replied' ? 'free' : null);
        if (!taken.interrupted) await Promise.all(taken.outages.map((outage) => this.#probe(outage)));
      }
    } catch (error) {
      // The next poll tries again.
      this.#services.log.warn({ err: error }, 'messages could not be taken from the inbox');
    } finally {
      this.#filling = false;
    }
  }

  #countRoom(kind: AttemptKind): number {
    const { room, active } = this.#lanes[kind];
    return Math.max(0, room() - active);
  }

  /** If a probe is due, sends one message to a platform that cannot be reached. */
  async #probe({ platform }: Outage): Promise<void> {
    if (!this.#channels.has(platform)) return;
    const due = await this.#services.store.inbox.nextDueAt('send', [platform]);
    if (due === null || due > this.#services.clock.now()) return;
    // Asked before a text is claimed: only the clock of the store says whether a probe is due.
    if ((await this.reach.admit(platform)) !== 'probe') return;
    for (const which of ['fresh', 'interrupted'] as const) {
      const [claim] = await this.#services.store.inbox.claim('send', [platform], 1, which);
      if (claim !== undefined) return this.#begin(claim, 'probe');
    }
  }

  #begin(claim: InboxClaim, admitted: Admittance | null): void {
    const target = this.#channels.get(claim.message.platform);
    if (!target) throw new Error(`claimed a message of ${claim.message.platform}, which is not active`);
    const lane = this.#lanes[admitted === null ? 'run' : 'send'];
    lane.active++;
    this.#claims.add(claim);
    const services = {
      services: this.#services,
      reach: this.reach,
      typing: this.#typing,
      questions: this.questions,
      sentIds: this.sentIds,
    };
    const delivery = new Delivery(services, target, claim, admitted);
    // The claim may have arrived after the worker was paused.
    const attempt = (this.#taking ? delivery.make() : delivery.giveBack())
      .catch((error: unknown) => this.#brokeOff(claim, error))
      .then(() => {
        lane.active--;
        this.#claims.delete(claim);
        this.#services.running.delete(attempt);
        this.wake();
      });
    this.#services.running.add(attempt);
    this.#track(attempt);
  }

  /** Releases the claim after a defect, so that the messages behind this one do not wait until the next start. */
  async #brokeOff(claim: InboxClaim, error: unknown): Promise<void> {
    const { log, store } = this.#services;
    const about = { request_id: claim.message.request_id, message: claim.message.id };
    log.error({ ...about, err: error }, 'an attempt to process a message failed unexpectedly');
    const again = { kind: 'again', wait_ms: BROKE_OFF_MS, failure: 'internal_error', counts: true } as const;
    try {
      await store.inbox.settle(claim, again);
    } catch (failure) {
      log.error({ ...about, err: failure }, 'the claim of a message could not be released');
    }
  }

  async #poll(): Promise<void> {
    let wait = POLL_MS;
    try {
      const due = await this.#nextDueAt();
      const now = this.#services.clock.now();
      if (due !== null && due <= now) this.wake();
      else if (due !== null) wait = Math.min(POLL_MS, due - now);
    } catch (error) {
      this.#services.log.warn({ err: error }, 'the inbox could not be read');
    }
    if (this.#taking) this.#cancelPoll = this.#services.clock.after(wait, () => this.#track(this.#poll()));
  }

  /** When the next message that may be processed is due; null if there is none. */
  async #nextDueAt(): Promise<number | null> {
    const { inbox } = this.#services.store;
    const outages = await this.reach.outages();
    const near = this.#names.filter((name) => !outages.has(name));
    const away = this.#names.flatMap((name) => outages.get(name) ?? []);
    const probes = away.map(async ({ platform, probe_at }) => {
      const due = await inbox.nextDueAt('send', [platform]);
      return due === null ? null : Math.max(due, probe_at);
    });
    const times = await Promise.all([
      inbox.nextDueAt('run', this.#names),
      inbox.nextDueAt('send', near),
      ...probes,
    ]);
    const known = times.filter((time) => time !== null);
    return known.length === 0 ? null : Math.min(...known);
  }

  async #reap(): Promise<void> {
    try {
      await this.#services.store.inbox.reap();
    } catch (error) {
      this.#services.log.warn({ err: error }, 'could not end claims of dead processes; will try again');
    }
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
  }

  get #names(): readonly string[] {
    return [...this.#channels.keys()];
  }
}

function canSend(channel: Channel): channel is PushTarget['channel'] {
  return channel.send !== undefined;
}
