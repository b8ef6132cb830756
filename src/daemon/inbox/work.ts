import type { Channel, ChannelPlugin, JsonObject } from '../../channel/index.ts';
import type { House } from '../house.ts';
import { INBOX_LEASE_MS, type InboxClaim } from '../store/inbox.ts';
import { Attempt, type LaterChannel } from './attempt.ts';
import { Typing } from './typing.ts';

/** Texts that are sent at once, beside those at the end of a run. */
const SENDS_AT_ONCE = 32;
/** How often to look for messages that have become due, or that another process has added, ms. */
const POLL_MS = 500;
/** How often claims are renewed, and those of dead processes ended, ms. */
const KEEP_MS = INBOX_LEASE_MS / 3;

/** Messages of one kind that are worked on at once. Those to be sent do not wait behind those to be run. */
interface Lane {
  readonly kind: 'run' | 'send';
  readonly room: number;
  active: number;
  filling: boolean;
  /** Asked to be filled while it was being filled. */
  again: boolean;
}

/**
 * Takes messages from the inbox and has an attempt made at each: one at a time in each queue, queues in
 * parallel, AGENT_CONCURRENCY runs at once. It is woken by accept, and looks by itself for what is due.
 */
export class InboxWorker {
  readonly #house: House;
  readonly #typing: Typing;
  readonly #channels = new Map<string, LaterChannel>();
  readonly #lanes: readonly Lane[];
  readonly #claims = new Set<InboxClaim>();
  readonly #attempts = new Set<Promise<void>>();
  #taking = false;
  #poller: NodeJS.Timeout | undefined;
  #keeper: NodeJS.Timeout | undefined;

  constructor(house: House) {
    this.#house = house;
    this.#typing = new Typing(house.log);
    this.#lanes = [lane('run', house.settings.AGENT_CONCURRENCY), lane('send', SENDS_AT_ONCE)];
  }

  /** Messages of this channel are worked on; those of channels that are not active stay where they are. */
  add(plugin: ChannelPlugin, channel: Channel): void {
    if (!canSend(channel)) throw new Error(`the channel ${plugin.name} cannot send`);
    this.#channels.set(plugin.name, { plugin, channel });
  }

  /** Takes up what a process that died has left, and what waits. */
  async start(): Promise<void> {
    if (this.#channels.size === 0) return;
    const left = await this.#house.store.inbox.reap();
    if (left > 0) this.#house.log.info({ messages: left }, 'messages of a process that died begin again');
    this.#taking = true;
    this.#keeper = setInterval(() => this.#keep(), KEEP_MS).unref();
    await this.#poll();
  }

  /** There is something to do. */
  wake(): void {
    for (const one of this.#lanes) void this.#fill(one);
  }

  showTyping(platform: string, reply_to: JsonObject): void {
    const later = this.#channels.get(platform);
    if (later && this.#taking) this.#typing.show(later, reply_to);
  }

  /** Takes nothing more; what runs goes on. */
  pause(): void {
    this.#taking = false;
    clearTimeout(this.#poller);
  }

  /** Resolves when nothing runs any more. Messages that have not ended stay for the next start. */
  async stop(): Promise<void> {
    this.pause();
    while (this.#attempts.size > 0) await Promise.allSettled(this.#attempts);
    clearInterval(this.#keeper);
  }

  async #fill(one: Lane): Promise<void> {
    one.again = true;
    if (one.filling) return;
    one.filling = true;
    try {
      while (one.again && this.#taking && one.active < one.room) {
        one.again = false;
        const claims = await this.#house.store.inbox.claim(one.kind, this.#names, one.room - one.active);
        for (const claim of claims) this.#begin(one, claim);
      }
    } catch (error) {
      // Looked for again when the next poll is due.
      this.#house.log.warn({ err: error }, 'messages could not be taken from the inbox');
    } finally {
      one.filling = false;
    }
  }

  #begin(one: Lane, claim: InboxClaim): void {
    const later = this.#channels.get(claim.message.platform);
    if (!later) throw new Error(`claimed a message of ${claim.message.platform}, which is not active`);
    one.active++;
    this.#claims.add(claim);
    const attempt = new Attempt(this.#house, later, claim)
      .make(this.#typing)
      .catch((error: unknown) =>
        this.#house.log.error({ err: error, message: claim.message.id }, 'an attempt at a message broke off'),
      )
      .finally(() => {
        one.active--;
        this.#claims.delete(claim);
        this.#attempts.delete(attempt);
        this.#house.running.delete(attempt);
        this.wake();
      });
    this.#attempts.add(attempt);
    this.#house.running.add(attempt);
  }

  async #poll(): Promise<void> {
    let wait = POLL_MS;
    try {
      const due = await this.#house.store.inbox.nextDueAt(this.#names);
      const now = this.#house.clock.now();
      if (due !== null && due <= now) this.wake();
      else if (due !== null) wait = Math.min(POLL_MS, due - now);
    } catch (error) {
      this.#house.log.warn({ err: error }, 'the inbox could not be looked at');
    }
    if (this.#taking) this.#poller = setTimeout(() => void this.#poll(), wait).unref();
  }

  #keep(): void {
    const { inbox } = this.#house.store;
    const kept = [...this.#claims].map((claim) => inbox.renew(claim));
    Promise.all([...kept, inbox.reap()]).catch((error: unknown) =>
      this.#house.log.warn({ err: error }, 'claims of the inbox could not be renewed'),
    );
  }

  get #names(): readonly string[] {
    return [...this.#channels.keys()];
  }
}

function lane(kind: Lane['kind'], room: number): Lane {
  return { kind, room, active: 0, filling: false, again: false };
}

function canSend(channel: Channel): channel is LaterChannel['channel'] {
  return channel.send !== undefined;
}
