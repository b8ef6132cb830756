import type { GuardLimits } from '../../guard/verdict.ts';
import { randomSuffix } from '../../time/clock.ts';
import { INBOX_FOUND_MAX } from '../bounds.ts';
import type {
  Arrival,
  AttemptKind,
  AttemptOutcome,
  InboxClaim,
  InboxCount,
  InboxEdit,
  InboxMessage,
  InboxState,
  InboxStore,
  NewInboxMessage,
  Screened,
  Taken,
} from '../inbox.ts';
import type { Reply } from './connection.ts';
import type { GuardDesk } from './guard-desk.ts';
import {
  changesOf,
  messageOf,
  type NumberedMessage,
  newestOf,
  numberedOf,
  seenName,
  storedMessage,
  withReply,
} from './inbox-message.ts';
import type { RedisKeyspace } from './keyspace.ts';
import { outagesKey, outagesOf } from './outages.ts';
import { SameTick } from './same-tick.ts';

/** Number of messages that one step of a search or list examines. */
const BITE = 500;
/** Maximum number of claims that one step ends. */
const REAP_BITE = 500;

export interface Lane {
  kind: AttemptKind;
  platforms: readonly string[];
}

interface WantedClaims extends Lane {
  which: 'fresh' | 'interrupted';
  /** One for each queue that may be claimed. */
  owners: readonly string[];
}

type NextDue = [due: number | null, interrupted: number];

/** The calls that tell an inbox about the commit of a turn. */
export interface CommittedInbox {
  /** The reply of a claimed message was stored: `settle` needs the new state. */
  noteReply(claim: InboxClaim, reply: string): void;
  /** A message has failed, and its claim has ended. */
  noteFailed(claim: InboxClaim): void;
}

/** The inbox of a store without shards, or of one shard. */
export class RedisInbox implements InboxStore, CommittedInbox {
  readonly #redis: RedisKeyspace;
  readonly #desk: GuardDesk;
  /** Messages with their stored reply, by their claims. */
  readonly #replied = new WeakMap<InboxClaim, InboxMessage>();
  /** The worker asks for messages to run and messages to send at the same time, so one command answers both. */
  readonly #claims = new SameTick<WantedClaims, InboxClaim[]>((asked) => this.#claim(asked));
  readonly #looks = new SameTick<Lane, NextDue>((asked) => this.#look(asked));

  constructor(redis: RedisKeyspace, desk: GuardDesk) {
    this.#redis = redis;
    this.#desk = desk;
  }

  async enqueue(messages: readonly NewInboxMessage[]): Promise<('kept' | 'repeated')[] | null> {
    if (messages.length === 0) return [];
    const outcomes = await this.#run('enqueue', 'all', JSON.stringify(messages.map(storedMessage)));
    return outcomes as ('kept' | 'repeated')[] | null;
  }

  async screen(arrivals: readonly Arrival[], limits: GuardLimits): Promise<Screened> {
    if (arrivals.length === 0) return { verdicts: [], outcomes: [] };
    return this.#desk.judge({ guarded: arrivals.map(({ guarded }) => guarded), limits, follow: arrivals });
  }

  async edit({ platform, message_id, user_id, session_id, text }: InboxEdit): Promise<boolean> {
    const key = this.#redis.names.key('seen', seenName(platform, message_id), 'facts');
    return (await this.#redis.run('edit-message', [key], user_id, session_id, text)) === 1;
  }

  async claim(
    kind: AttemptKind,
    platforms: readonly string[],
    limit: number,
    which: 'fresh' | 'interrupted' = 'fresh',
  ): Promise<InboxClaim[]> {
    if (platforms.length === 0 || limit < 1) return [];
    return this.#claims.ask({ kind, platforms, which, owners: ownersFor(limit) });
  }

  async take(platforms: readonly string[], room: Readonly<Record<AttemptKind, number>>): Promise<Taken> {
    const keys = [this.#redis.names.key('inbox', null, 'places'), outagesKey(this.#redis)];
    const wanted = { platforms, run: ownersFor(room.run), send: ownersFor(room.send) };
    const [now, outages, interrupted, claimed] = (await this.#redis.run(
      'take-messages',
      keys,
      JSON.stringify(wanted),
    )) as [number, string[], number, [string, string[]][]];
    return {
      outages: outagesOf(now, outages),
      interrupted: interrupted === 1,
      claims: claimed.map(claimOf),
    };
  }

  async renew({ message, owner }: InboxClaim): Promise<boolean> {
    const key = this.#redis.names.key('session', message.queue, 'working');
    return (await this.#redis.run('renew-message', [key], message.queue, message.id, owner)) === 1;
  }

  noteReply(claim: InboxClaim, reply: string): void {
    this.#replied.set(claim, withReply(claim.message, reply));
  }

  noteFailed(): void {
    // Nothing to record: the scripts count failed messages in the store.
  }

  async settle(claim: InboxClaim, outcome: AttemptOutcome): Promise<boolean> {
    const { message: claimed, owner } = claim;
    const { id, queue } = claimed;
    const key = this.#redis.names.key('session', queue, 'working');
    let message = this.#replied.get(claim) ?? claimed;
    for (;;) {
      const changes = changesOf(message, outcome);
      const done = await this.#redis.run('settle-message', [key], queue, id, owner, message.state, changes);
      if (!Array.isArray(done)) return done === 1;
      message = messageOf(done as string[]);
    }
  }

  async partsSent(id: string): Promise<number> {
    return (await this.partsOf(id)) ?? 0;
  }

  /** Null for an unknown id. */
  async partsOf(id: string, sent = 0): Promise<number | null> {
    const parts = (await this.#run('note-parts-sent', 'names', id, sent)) as number;
    return parts < 0 ? null : parts;
  }

  async notePartsSent(id: string, parts: number): Promise<void> {
    if (parts > 0) await this.partsOf(id, parts);
  }

  async expire(platform: string, stored_until: number, failure: string): Promise<number> {
    const texts = `texts:${platform}`;
    let [expired, passed] = [0, 0];
    for (;;) {
      const [looked, ...found] = (await this.#run('old-texts', texts, stored_until, BITE, passed)) as [
        number,
        ...string[][],
      ];
      const messages = found.map(messageOf);
      const changes = messages.flatMap((message) => [
        ...[message.id, message.state, message.text_stored_at ?? '', message.sends],
        changesOf(message, { kind: 'failed', failure }),
      ]);
      const changed =
        messages.length === 0 ? 0 : ((await this.#run('change-unclaimed', 'names', ...changes)) as number);
      expired += changed;
      // Texts that are being sent now were not changed, so the next step skips them.
      passed += looked - changed;
      if (looked < BITE) return expired;
    }
  }

  async reap(): Promise<number> {
    let reaped = 0;
    for (;;) {
      const some = (await this.#run('reap-messages', 'claimed', REAP_BITE)) as number;
      reaped += some;
      if (some < REAP_BITE) return reaped;
    }
  }

  async nextDueAt(kind: AttemptKind, platforms: readonly string[]): Promise<number | null> {
    const [due] = await this.#nextDue(kind, platforms);
    return due === null ? null : Number(due);
  }

  async holdsInterrupted(kind: AttemptKind, platforms: readonly string[]): Promise<boolean> {
    const [, interrupted] = await this.#nextDue(kind, platforms);
    return interrupted === 1;
  }

  async list(filter: { states: readonly InboxState[]; limit: number }): Promise<InboxMessage[]> {
    return (await this.listNumbered(filter)).map(({ message }) => message);
  }

  async listNumbered({
    states,
    limit,
  }: {
    states: readonly InboxState[];
    limit: number;
  }): Promise<NumberedMessage[]> {
    const listed: NumberedMessage[] = [];
    for (let from = 0; listed.length < limit; ) {
      const [looked, ...found] = (await this.#run(
        'list-messages',
        'all',
        ...[from, BITE, limit - listed.length, JSON.stringify(states)],
      )) as [number, ...string[][]];
      listed.push(...found.map(numberedOf));
      from += looked;
      if (looked < BITE) break;
    }
    return listed;
  }

  async counts(): Promise<InboxCount[]> {
    const counts = (await this.#run('count-messages', 'states')) as [string, number, string][];
    return counts.map(([place, messages, oldest]) => {
      const [state = '', platform = ''] = place.split(/:(.*)/s);
      return { platform, state: state as InboxCount['state'], messages, oldest_at: Number(oldest) };
    });
  }

  async find(id: string): Promise<InboxMessage | null> {
    const found = await this.#run('find-message', 'names', id);
    return found === null ? null : messageOf(found as string[]);
  }

  /** Reads the index of all messages. */
  async search(id: string): Promise<InboxMessage[]> {
    return newestOf(await this.searchNumbered(id), INBOX_FOUND_MAX);
  }

  async searchNumbered(id: string): Promise<NumberedMessage[]> {
    const found = new Map<string, NumberedMessage>();
    let cursor = '0';
    do {
      const [next, ...some] = (await this.#run('search-messages', 'names', id, cursor, BITE)) as [
        string,
        ...string[][],
      ];
      for (const one of some.map(numberedOf)) found.set(one.message.id, one);
      cursor = next;
    } while (cursor !== '0');
    return [...found.values()];
  }

  async retry(id: string): Promise<boolean> {
    return (await this.#run('retry-message', 'names', id)) === 1;
  }

  async retryFailed(filter: { platform?: string; failed_since?: number }): Promise<string[]> {
    return (await this.retryNumbered(filter)).map(({ id }) => id);
  }

  async retryNumbered({
    platform = '',
    failed_since = 0,
  }: {
    platform?: string;
    failed_since?: number;
  }): Promise<{ number: number; id: string }[]> {
    const retried = (await this.#run('retry-failed', 'failed', failed_since, platform)) as (
      | string
      | number
    )[];
    return retried.flatMap((number, place) =>
      place % 2 === 0 ? [{ number: number as number, id: retried[place + 1] as string }] : [],
    );
  }

  async discard(id: string): Promise<boolean> {
    return (await this.#run('discard-message', 'names', id)) === 1;
  }

  #nextDue(kind: AttemptKind, platforms: readonly string[]): Promise<NextDue> {
    return this.#looks.ask({ kind, platforms });
  }

  async #claim(asked: readonly WantedClaims[]): Promise<InboxClaim[][]> {
    const claimed = (await this.#run('claim-messages', 'places', JSON.stringify(asked))) as [
      string,
      string[],
    ][][];
    return claimed.map((claims) => claims.map(claimOf));
  }

  async #look(asked: readonly Lane[]): Promise<NextDue[]> {
    return (await this.#run('next-due', 'places', JSON.stringify(asked))) as NextDue[];
  }

  #run(script: string, part: string, ...args: (string | number)[]): Promise<Reply> {
    return this.#redis.run(script, [this.#redis.names.key('inbox', null, part)], ...args);
  }
}

/** An owner for each queue that may be claimed. */
function ownersFor(room: number): string[] {
  return Array.from({ length: Math.max(0, room) }, randomSuffix);
}

function claimOf([owner, fields]: [string, string[]]): InboxClaim {
  return { owner, message: messageOf(fields) };
}
