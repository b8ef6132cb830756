import { type Session, type StoredTurn, tagOf } from '../../session/session.ts';
import type { TraceRecord } from '../../trace/trace-record.ts';
import type { Action } from '../actions.ts';
import type { StoredAnswer } from '../idempotency.ts';
import type { InboxMessage, InboxState, InboxStore } from '../inbox.ts';
import type { Link } from '../links.ts';
import { PersonMatch } from '../person-match.ts';
import type { PersonRecords, PersonSelector, PersonSession } from '../persons.ts';
import type { StreamStart } from '../streams.ts';
import type { RedisActions } from './actions.ts';
import { userStateOf } from './guard-state.ts';
import type { RedisKeyspace } from './keyspace.ts';
import type { RedisLinks } from './links.ts';
import { readHashes } from './read-hashes.ts';
import { liveSessions } from './sessions.ts';
import { BY_USER } from './sharded-desk.ts';
import { traceRings } from './traces.ts';

/** A limit that is higher than the number of records of any kind. */
const ALL = 1_000_000_000;
/** Number of entries of a ring that are read in one step. */
const BITE = 500;
const STATES: readonly InboxState[] = ['waiting', 'running', 'replied', 'done', 'failed'];

/** A session of the person or user, as it is stored. */
export interface FoundSession extends PersonSession {
  doc: string;
  /** The turns of the person or user, as they are stored. */
  stored: string[];
  /** The number of its summaries. */
  summaries: number;
}

interface FoundAction {
  key: string;
  action: Action;
}

export interface Found {
  sessions: FoundSession[];
  links: Link[];
  /** Keys of the aliases of the links. */
  aliases: string[];
  actions: FoundAction[];
  inbox: InboxMessage[];
  /** Ids of traces, by the key of their ring. */
  traces: Map<string, string[]>;
  /** Ids of streams. */
  streams: string[];
  /** Keys that lead from idempotency keys to the streams. */
  stream_keys: string[];
  /** Keys of facts about messages, which are found through inbox messages, traces and turns. */
  seen: string[];
  /** Keys of limits and running requests, some of which are found through counters, answers and streams. */
  requests: string[];
  /** Keys of the guard's counters, some of which are found through links and streams. */
  counters: string[];
  /** Other keys to delete without a script. */
  keys: string[];
  records: PersonRecords;
}

export interface PersonParts {
  actions: RedisActions;
  inbox: Pick<InboxStore, 'list'>;
  links: RedisLinks;
}

/**
 * Finds everything that is stored about a person or a platform's user. It reads the whole key space in batches.
 * Administrators rarely need this, so no record has an index for it.
 */
export class PersonSearch {
  readonly match: PersonMatch;
  readonly #redis: RedisKeyspace;
  readonly #parts: PersonParts;

  constructor(redis: RedisKeyspace, parts: PersonParts, of: PersonSelector) {
    this.#redis = redis;
    this.#parts = parts;
    this.match = new PersonMatch(of);
  }

  async find(sessions: FoundSession[]): Promise<Found> {
    const { match } = this;
    const links = (await this.#parts.links.list({ limit: ALL })).filter((link) => match.link(link));
    const aliases = await this.pointers('alias', 'link', new Set(links.map(({ key }) => key)));
    const actions = await this.#actions();
    const users = await this.#named('user', 'guard', ['value'], (name, [value]) =>
      match.guard(name, value ? userStateOf(value) : null),
    );
    const answers = await this.#named('key', 'answer', ['answer'], (name, [answer]) =>
      match.answer(name, JSON.parse(answer as string) as StoredAnswer),
    );
    const running = await this.#named('key', 'claim', ['owner'], (name) =>
      match.answer(name, { session_id: '', response: '' }),
    );
    const messages = await this.#parts.inbox.list({ states: STATES, limit: ALL });
    const inbox = messages.filter((message) => match.inbox(message));
    const traces = new Map<string, string[]>();
    for (const { key } of traceRings(this.#redis)) traces.set(key, await this.#traces(key));
    const streams = await this.#streams();
    const stream_keys = await this.pointers('stream-key', 'stream', new Set(streams));
    const seen = await this.#named('seen', 'facts', ['id', 'verdict', 'user_id'], (name, [, , user_id]) =>
      isSeen(match, name, user_id ?? null),
    );
    const counts = await this.#named('session', 'count', ['turns'], (tag) => match.guardTurns(tag));
    const limits = await this.#named('limit', 'hits', ['value', 'version'], (name) => match.limit(name));
    const budgets = await this.#named('budget', 'window', ['value', 'version'], (name) => match.budget(name));
    const requests = [...running, ...limits];
    const counters = [...users, ...counts];
    const counted = {
      summaries: countSummaries(sessions),
      traces: [...traces.values()].flat().length,
      streams: streams.length,
      answers: answers.length,
      seen_messages: new Set(seen.map((key) => seenNameOf(this.#redis.names.nameOf(key, 'seen', 'facts'))))
        .size,
      guard: counters.length,
      limits: limits.length,
      budgets: budgets.length,
    };
    const keys = [...answers, ...budgets];
    const records = {
      sessions: sessions.map((session) => match.shown(session)),
      links,
      actions: actions.map(({ action }) => action),
      inbox,
      others: counted,
    };
    const pointers = { aliases, stream_keys };
    const others = { seen, requests, counters, keys };
    return { sessions, links, actions, inbox, traces, streams, ...pointers, ...others, records };
  }

  /** The sessions, the most recently active first. */
  async sessions(): Promise<FoundSession[]> {
    const found: FoundSession[] = [];
    for await (const some of liveSessions(this.#redis))
      for (const { session, doc } of some) {
        const one = await this.#lookAt(session, doc);
        if (one !== null) found.push(one);
      }
    return found.sort(
      ({ session: a }, { session: b }) =>
        b.last_active_at - a.last_active_at || (a.session_id < b.session_id ? -1 : 1),
    );
  }

  async #lookAt(session: Session, doc: string): Promise<FoundSession | null> {
    const texts = await this.#redis.send(() =>
      this.#redis.client.lrange(this.#key('session', tagOf(session), 'turns'), 0, -1),
    );
    const all = texts.map((text) => JSON.parse(text) as StoredTurn);
    const found = this.match.session(session, all);
    if (found === null) return null;
    const stored = texts.filter((_, place) => found.turns.includes(all[place] as StoredTurn));
    const fields = await this.#redis.send(() =>
      this.#redis.client.hkeys(this.#key('session', tagOf(session), 'summaries')),
    );
    const summaries = fields.filter((name) => name.startsWith('of:')).length;
    return { ...found, doc, stored, summaries };
  }

  /** The actions, newest first, including pending actions. */
  async #actions(): Promise<FoundAction[]> {
    const { names } = this.#redis;
    const found: FoundAction[] = [];
    for await (const keys of this.#redis.scan(names.pattern('action', 'record'))) {
      const ids = keys.map((key) => names.nameOf(key, 'action', 'record'));
      const actions = await Promise.all(ids.map((id) => this.#parts.actions.find(id)));
      actions.forEach((action, place) => {
        if (action !== null && this.match.action(action)) found.push({ key: keys[place] as string, action });
      });
    }
    return found.sort(
      ({ action: a }, { action: b }) => b.created_at - a.created_at || (a.action_id < b.action_id ? -1 : 1),
    );
  }

  /**
   * The keys of a kind that contain the name of one of these records. Some are left over: for example, an alias that no
   * longer leads to its link, although its name and its value contain ids of the user.
   */
  async pointers(kind: string, part: string, records: ReadonlySet<string>): Promise<string[]> {
    const found: string[] = [];
    if (records.size === 0) return found;
    for await (const keys of this.#redis.scan(this.#redis.names.pattern(kind, part))) {
      const values = await this.#redis.send(() =>
        Promise.all(keys.map((key) => this.#redis.client.get(key))),
      );
      found.push(...keys.filter((_, place) => records.has(values[place] ?? '')));
    }
    return found;
  }

  async #streams(): Promise<string[]> {
    const keys = await this.#named(
      'stream',
      'state',
      ['doc', 'owner', 'reader'],
      (_, [doc, owner, reader]) => {
        const { start } = JSON.parse(doc as string) as { start: StreamStart };
        return this.match.stream({ start, owner: owner as never, reader: reader as never });
      },
    );
    return keys.map((key) => this.#redis.names.nameOf(key, 'stream', 'state'));
  }

  async #traces(ring: string): Promise<string[]> {
    const ids: string[] = [];
    for (let after = '-'; ; ) {
      const entries = await this.#redis.send(() =>
        this.#redis.client.xrange(ring, after, '+', 'COUNT', BITE),
      );
      for (const [id, fields] of entries)
        if (this.match.trace(JSON.parse(fields.at(-1) as string) as TraceRecord)) ids.push(id);
      const last = entries.at(-1);
      if (last === undefined || entries.length < BITE) return ids;
      after = `(${last[0]}`;
    }
  }

  /** Keys of hashes that belong to the person or user, by the name in the key and some fields. */
  async #named(
    kind: string,
    part: string,
    fields: readonly string[],
    isTheirs: (name: string, fields: readonly (string | null)[]) => boolean,
  ): Promise<string[]> {
    const keys: string[] = [];
    for await (const hashes of readHashes(this.#redis, kind, part, fields))
      for (const { key, fields: values } of hashes)
        if (isTheirs(this.#redis.names.nameOf(key, kind, part), values)) keys.push(key);
    return keys;
  }

  #key(kind: string, name: string | null, part: string): string {
    return this.#redis.names.key(kind, name, part);
  }
}

export function countSummaries(sessions: readonly FoundSession[]): number {
  return sessions.reduce((sum, { summaries }) => sum + summaries, 0);
}

/** The name of a message that was seen, without the prefix under which the guard stores the result for its user. */
function seenNameOf(name: string): string {
  return name.startsWith(BY_USER) ? name.slice(BY_USER.length) : name;
}

function isSeen(match: PersonMatch, name: string, user_id: string | null): boolean {
  const [platform = '', message_id = ''] = seenNameOf(name).split(/:(.*)/s);
  return match.seenMessage(platform, message_id, user_id);
}
