import { randomSuffix } from '../../clock.ts';
import type { Session, StoredTurn } from '../../session/session.ts';
import { tagOf } from '../../session/session.ts';
import type { TraceRecord } from '../../trace/trace-record.ts';
import type { Action } from '../actions.ts';
import { CLAIM_MS } from '../claims.ts';
import type { StoredAnswer } from '../idempotency.ts';
import type { InboxMessage, InboxState, InboxStore } from '../inbox.ts';
import type { Link } from '../links.ts';
import { PersonMatch } from '../person-match.ts';
import type { PersonRecords, PersonSelector, PersonSession, PersonStore } from '../persons.ts';
import type { StreamStart } from '../streams.ts';
import type { RedisActions } from './actions.ts';
import { userStateOf } from './guard-state.ts';
import type { RedisKeyspace } from './keyspace.ts';
import type { RedisLinks } from './links.ts';
import { readHashes } from './read-hashes.ts';
import { rewriteFiles } from './rewrite-files.ts';
import { liveSessions, storedSession } from './sessions.ts';
import { BY_USER } from './sharded-desk.ts';
import { traceRings } from './traces.ts';

/** A limit that is higher than the number of records of any kind. */
const ALL = 1_000_000_000;
/** Number of entries of a ring that are read in one step. */
const BITE = 500;
/** Maximum number of attempts to erase turns of a session if others change the session at the same time. */
const TRIES = 10;

const STATES: readonly InboxState[] = ['waiting', 'running', 'replied', 'done', 'failed'];

/** A session of the person or user, as it is stored. */
interface FoundSession extends PersonSession {
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

interface Found {
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
 * Finds and deletes everything that is stored about a person. It reads the whole key space in batches. Administrators
 * rarely need this, so no record has an index for it.
 */
export class RedisPersons implements PersonStore {
  readonly #redis: RedisKeyspace;
  readonly #parts: PersonParts;

  constructor(redis: RedisKeyspace, parts: PersonParts) {
    this.#redis = redis;
    this.#parts = parts;
  }

  async show(of: PersonSelector): Promise<PersonRecords> {
    const match = new PersonMatch(of);
    return (await this.#find(match, await this.#sessions(match))).records;
  }

  /**
   * If an erasure is interrupted, a repeat must find the rest. So everything is found before the first deletion, and a
   * record is deleted before the records through which it is found. The sessions are the last: until then, they are
   * closed, so that nothing is added that only they lead to.
   */
  async erase(of: PersonSelector): Promise<PersonRecords> {
    await this.#deleteEnded();
    const match = new PersonMatch(of);
    const sessions = await this.#sessions(match);
    const owner = randomSuffix();
    await this.#close(sessions, owner);
    const renewing = setInterval(() => this.#renew(sessions, owner), CLAIM_MS / 3);
    try {
      const found = await this.#find(match, sessions);
      await this.#eraseLinks(found);
      await this.#delete(found.seen);
      for (const { key, action } of found.actions)
        await this.#redis.run('erase-action', [key], action.action_id);
      await this.#eraseMessages(found, match);
      await this.#delete(found.stream_keys);
      for (const id of found.streams)
        await this.#redis.run('erase-stream', [this.#key('stream', id, 'state')], id);
      await this.#delete(found.keys);
      for (const [ring, ids] of found.traces)
        if (ids.length > 0) await this.#redis.run('erase-traces', [ring], ...ids);
      // Messages, traces and answers are found through these.
      const erased = await this.#eraseSessions(sessions, match, owner);
      await rewriteFiles(this.#redis.nodes);
      const others = { ...found.records.others, summaries: countSummaries(erased) };
      return { ...found.records, sessions: erased.map(shownSession), others };
    } finally {
      clearInterval(renewing);
    }
  }

  async #find(match: PersonMatch, sessions: FoundSession[]): Promise<Found> {
    const links = (await this.#parts.links.list({ limit: ALL })).filter((link) => match.link(link));
    const aliases = await this.#pointers('alias', 'link', new Set(links.map(({ key }) => key)));
    const actions = await this.#actions(match);
    const answers = await this.#named('key', 'answer', ['answer'], (name, [answer]) =>
      match.answer(name, JSON.parse(answer as string) as StoredAnswer),
    );
    const running = await this.#named('key', 'claim', ['owner'], (name) =>
      match.answer(name, { session_id: '', response: '' }),
    );
    const messages = await this.#parts.inbox.list({ states: STATES, limit: ALL });
    const inbox = messages.filter((message) => match.inbox(message));
    const traces = new Map<string, string[]>();
    for (const { key } of traceRings(this.#redis)) traces.set(key, await this.#traces(key, match));
    const streams = await this.#streams(match);
    const stream_keys = await this.#pointers('stream-key', 'stream', new Set(streams));
    const seen = await this.#named('seen', 'facts', ['id', 'verdict'], (name) => isSeen(match, name));
    const users = await this.#named('user', 'guard', ['value'], (name, [value]) =>
      match.guard(name, value ? userStateOf(value) : null),
    );
    const counts = await this.#named('session', 'count', ['turns'], (tag) => match.guardTurns(tag));
    const limits = await this.#named('limit', 'hits', ['value', 'version'], (name) => match.limit(name));
    const budgets = await this.#named('budget', 'window', ['value', 'version'], (name) => match.budget(name));
    const others = {
      summaries: countSummaries(sessions),
      traces: [...traces.values()].flat().length,
      streams: streams.length,
      answers: answers.length,
      seen_messages: new Set(seen.map((key) => seenNameOf(this.#redis.names.nameOf(key, 'seen', 'facts'))))
        .size,
      guard: users.length + counts.length,
      limits: limits.length,
      budgets: budgets.length,
    };
    const keys = [...answers, ...running, ...users, ...counts, ...limits, ...budgets];
    const records = {
      sessions: sessions.map(shownSession),
      links,
      actions: actions.map(({ action }) => action),
      inbox,
      others,
    };
    const pointers = { aliases, stream_keys };
    return { sessions, links, actions, inbox, traces, streams, ...pointers, seen, keys, records };
  }

  /** The sessions, the most recently active first. */
  async #sessions(match: PersonMatch): Promise<FoundSession[]> {
    const found: FoundSession[] = [];
    for await (const some of liveSessions(this.#redis))
      for (const { session, doc } of some) {
        const one = await this.#lookAt(session, doc, match);
        if (one !== null) found.push(one);
      }
    return found.sort(
      ({ session: a }, { session: b }) =>
        b.last_active_at - a.last_active_at || (a.session_id < b.session_id ? -1 : 1),
    );
  }

  async #lookAt(session: Session, doc: string, match: PersonMatch): Promise<FoundSession | null> {
    const texts = await this.#redis.send(() =>
      this.#redis.client.lrange(this.#key('session', tagOf(session), 'turns'), 0, -1),
    );
    const all = texts.map((text) => JSON.parse(text) as StoredTurn);
    const found = match.session(session, all);
    if (found === null) return null;
    const stored = texts.filter((_, place) => found.turns.includes(all[place] as StoredTurn));
    const fields = await this.#redis.send(() =>
      this.#redis.client.hkeys(this.#key('session', tagOf(session), 'summaries')),
    );
    const summaries = fields.filter((name) => name.startsWith('of:')).length;
    return { ...found, doc, stored, summaries };
  }

  /** The actions, newest first, including pending actions. */
  async #actions(match: PersonMatch): Promise<FoundAction[]> {
    const { names } = this.#redis;
    const found: FoundAction[] = [];
    for await (const keys of this.#redis.scan(names.pattern('action', 'record'))) {
      const ids = keys.map((key) => names.nameOf(key, 'action', 'record'));
      const actions = await Promise.all(ids.map((id) => this.#parts.actions.find(id)));
      actions.forEach((action, place) => {
        if (action !== null && match.action(action)) found.push({ key: keys[place] as string, action });
      });
    }
    return found.sort(
      ({ action: a }, { action: b }) => b.created_at - a.created_at || (a.action_id < b.action_id ? -1 : 1),
    );
  }

  /**
   * In a Cluster, records the erased ids for traces that are stored without a turn: these are in a different shard than
   * the erased data.
   */
  async #noteErased(ids: readonly string[]): Promise<void> {
    if (this.#redis.isSharded && ids.length > 0)
      await this.#redis.run('note-erased', [this.#key('traces', null, 'kept')], ...ids);
  }

  /**
   * Claims the sessions that will be deleted, also if a run has claimed them. A run that is under way can then store
   * nothing, and no other run can begin. If the erasure is interrupted, the claims expire.
   */
  async #close(sessions: readonly FoundSession[], owner: string): Promise<void> {
    const closed = sessions.filter(({ shared }) => !shared).map(({ session }) => session);
    await this.#noteErased(closed.flatMap((session) => [tagOf(session), session.session_id]));
    for (const session of closed) {
      const tag = tagOf(session);
      await this.#redis.run(
        'close-session',
        [this.#key('session', tag, 'claim')],
        owner,
        tag,
        session.session_id,
      );
    }
  }

  /** A claim that cannot be renewed may be lost. Then its session is not erased (`#eraseSessions`). */
  #renew(sessions: readonly FoundSession[], owner: string): void {
    for (const { session, shared } of sessions)
      if (!shared)
        this.#redis
          .run('renew-claim', [this.#key('session', tagOf(session), 'claim')], owner)
          .catch(() => undefined);
  }

  /**
   * Returns the sessions that were erased. A session that has changed since it was read is not erased, so that a repeat
   * finds it and its new records.
   */
  async #eraseSessions(
    sessions: readonly FoundSession[],
    match: PersonMatch,
    owner: string,
  ): Promise<FoundSession[]> {
    const erased: FoundSession[] = [];
    for (const found of sessions) {
      const isErased = found.shared
        ? await this.#eraseTurns(found, match)
        : await this.#eraseSession(found.session, owner);
      if (isErased) erased.push(found);
    }
    return erased;
  }

  async #eraseSession(session: Session, owner: string): Promise<boolean> {
    const [tag, id] = [tagOf(session), session.session_id];
    // This pointer is found only through the session. If the session is kept, only its former id leads to it.
    if (this.#redis.isSharded) await this.#delete([this.#key('moved', id, 'tag')]);
    const args = [tag, owner, id, session.turns];
    return (await this.#redis.run('erase-session', [this.#key('session', tag, 'state')], ...args)) === 1;
  }

  /** Deletes the turns that were found. Later turns stay, because their other records have not been erased. */
  async #eraseTurns(found: FoundSession, match: PersonMatch): Promise<boolean> {
    const tag = tagOf(found.session);
    let { session, doc }: Pick<FoundSession, 'session' | 'doc'> = found;
    for (let tries = 0; tries < TRIES; tries++) {
      const { doc: untied } = storedSession(match.untied(session));
      const args = [tag, doc, untied as string, ...found.stored];
      if ((await this.#redis.run('erase-turns', [this.#key('session', tag, 'state')], ...args)) === 1)
        return true;
      const anew = (await this.#sessions(match)).find((one) => tagOf(one.session) === tag);
      if (anew === undefined) return true;
      ({ session, doc } = anew);
    }
    return false;
  }

  async #eraseLinks({ links, aliases }: Found): Promise<void> {
    await this.#delete(aliases);
    for (const { key } of links) await this.#parts.links.remove(key);
    // An alias may have been bound in the meantime.
    await this.#delete(await this.#pointers('alias', 'link', new Set(links.map(({ key }) => key))));
  }

  async #eraseMessages({ inbox, sessions }: Found, match: PersonMatch): Promise<void> {
    await this.#noteErased(inbox.map(({ id }) => id));
    // The claims of these sessions are held by the erasure.
    const closed = new Set(sessions.filter(({ shared }) => !shared).map(({ session }) => tagOf(session)));
    for (const message of inbox) {
      const runs_in = match.runsIn(message) ?? '';
      const shard = this.#redis.at(message.queue);
      const args = [message.id, closed.has(runs_in) ? '' : runs_in];
      await shard.run('erase-message', [shard.names.key('inbox', null, 'names')], ...args);
    }
  }

  /**
   * The keys of a kind that contain the name of one of these records. Some are left over: for example, an alias that no
   * longer leads to its link, although its name and its value contain ids of the user.
   */
  async #pointers(kind: string, part: string, records: ReadonlySet<string>): Promise<string[]> {
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

  async #streams(match: PersonMatch): Promise<string[]> {
    const keys = await this.#named(
      'stream',
      'state',
      ['doc', 'owner', 'reader'],
      (_, [doc, owner, reader]) => {
        const { start } = JSON.parse(doc as string) as { start: StreamStart };
        return match.stream({ start, owner: owner as never, reader: reader as never });
      },
    );
    return keys.map((key) => this.#redis.names.nameOf(key, 'stream', 'state'));
  }

  async #traces(ring: string, match: PersonMatch): Promise<string[]> {
    const ids: string[] = [];
    for (let after = '-'; ; ) {
      const entries = await this.#redis.send(() =>
        this.#redis.client.xrange(ring, after, '+', 'COUNT', BITE),
      );
      for (const [id, fields] of entries)
        if (match.trace(JSON.parse(fields.at(-1) as string) as TraceRecord)) ids.push(id);
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

  /** The index of messages may contain expired messages until a later write removes them. */
  async #deleteEnded(): Promise<void> {
    for (const shard of this.#redis.shards) {
      const ended = shard.names.key('inbox', null, 'ended');
      while (((await shard.run('delete-ended', [ended])) as number) > 0);
    }
  }

  async #delete(keys: readonly string[]): Promise<void> {
    await this.#redis.send(() => Promise.all(keys.map((key) => this.#redis.client.del(key))));
  }

  #key(kind: string, name: string | null, part: string): string {
    return this.#redis.names.key(kind, name, part);
  }
}

function shownSession({ session, turns, shared }: FoundSession): PersonSession {
  return { session, turns, shared };
}

function countSummaries(sessions: readonly FoundSession[]): number {
  return sessions.reduce((sum, { summaries }) => sum + summaries, 0);
}

/** The name of a message that was seen, without the prefix under which the guard stores the result for its user. */
function seenNameOf(name: string): string {
  return name.startsWith(BY_USER) ? name.slice(BY_USER.length) : name;
}

function isSeen(match: PersonMatch, name: string): boolean {
  const [platform = '', message_id = ''] = seenNameOf(name).split(/:(.*)/s);
  return match.seenMessage(platform, message_id);
}
