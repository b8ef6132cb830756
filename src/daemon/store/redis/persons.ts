import type { Session, StoredTurn } from '../../session/session.ts';
import { tagOf } from '../../session/session.ts';
import type { TraceRecord } from '../../trace/trace-record.ts';
import type { Action } from '../actions.ts';
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
}

interface FoundAction {
  key: string;
  action: Action;
}

interface Found {
  match: PersonMatch;
  sessions: FoundSession[];
  links: Link[];
  actions: FoundAction[];
  inbox: InboxMessage[];
  /** Ids of traces, by the key of their ring. */
  traces: Map<string, string[]>;
  /** Ids of streams. */
  streams: string[];
  /** Keys to delete without a script. */
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
    return (await this.#find(of)).records;
  }

  async erase(of: PersonSelector): Promise<PersonRecords> {
    await this.#deleteEnded();
    const found = await this.#find(of);
    await this.#noteErased(found);
    await this.#eraseSessions(found);
    await this.#eraseLinks(found.links);
    for (const { key, action } of found.actions)
      await this.#redis.run('erase-action', [key], action.action_id);
    for (const message of found.inbox) {
      const runs_in = found.match.runsIn(message) ?? '';
      const shard = this.#redis.at(message.queue);
      await shard.run('erase-message', [shard.names.key('inbox', null, 'names')], message.id, runs_in);
    }
    for (const stream_id of found.streams) await this.#eraseStream(stream_id);
    await this.#delete(found.keys);
    for (const [ring, ids] of found.traces)
      if (ids.length > 0) await this.#redis.run('erase-traces', [ring], ...ids);
    await rewriteFiles(this.#redis.nodes);
    return found.records;
  }

  async #find(of: PersonSelector): Promise<Found> {
    const match = new PersonMatch(of);
    const sessions = await this.#sessions(match);
    const links = (await this.#parts.links.list({ limit: ALL })).filter((link) => match.link(link));
    const actions = await this.#actions(match);
    const messages = await this.#parts.inbox.list({ states: STATES, limit: ALL });
    const inbox = messages.filter((message) => match.inbox(message));
    const traces = new Map<string, string[]>();
    for (const { key } of traceRings(this.#redis)) traces.set(key, await this.#traces(key, match));
    const streams = await this.#streams(match);
    const answers = await this.#named('key', 'answer', ['answer'], (name, [answer]) =>
      match.answer(name, JSON.parse(answer as string) as StoredAnswer),
    );
    const running = await this.#named('key', 'claim', ['owner'], (name) =>
      match.answer(name, { session_id: '', response: '' }),
    );
    const seen = await this.#named('seen', 'facts', ['id', 'verdict'], (name) => isSeen(match, name));
    const users = await this.#named('user', 'guard', ['value'], (name, [value]) =>
      match.guard(name, value ? userStateOf(value) : null),
    );
    const counts = await this.#named('session', 'count', ['turns'], (tag) => match.guardTurns(tag));
    const limits = await this.#named('limit', 'hits', ['value', 'version'], (name) => match.limit(name));
    const budgets = await this.#named('budget', 'window', ['value', 'version'], (name) => match.budget(name));
    const others = {
      summaries: await this.#countSummaries(sessions),
      traces: [...traces.values()].flat().length,
      streams: streams.length,
      answers: answers.length,
      seen_messages: new Set(seen.map((key) => seenNameOf(this.#redis.names.nameOf(key, 'seen', 'facts'))))
        .size,
      guard: users.length + counts.length,
      limits: limits.length,
      budgets: budgets.length,
    };
    const moved = sessions
      .filter(({ shared }) => !shared && this.#redis.isSharded)
      .map(({ session }) => this.#key('moved', session.session_id, 'tag'));
    const keys = [...moved, ...answers, ...running, ...seen, ...users, ...counts, ...limits, ...budgets];
    const shown = sessions.map(({ session, turns, shared }) => ({ session, turns, shared }));
    const records = { sessions: shown, links, actions: actions.map(({ action }) => action), inbox, others };
    return { match, sessions, links, actions, inbox, traces, streams, keys, records };
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
    return { ...found, doc, stored };
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
  async #noteErased({ sessions, inbox }: Found): Promise<void> {
    const ids = sessions
      .filter(({ shared }) => !shared)
      .flatMap(({ session }) => [tagOf(session), session.session_id])
      .concat(inbox.map(({ id }) => id));
    if (this.#redis.isSharded && ids.length > 0)
      await this.#redis.run('note-erased', [this.#key('traces', null, 'kept')], ...ids);
  }

  /**
   * Called before all other data is erased: after that, a run that is under way cannot add anything to these sessions.
   */
  async #eraseSessions({ sessions, match }: Found): Promise<void> {
    for (const found of sessions) {
      const tag = tagOf(found.session);
      const key = this.#key('session', tag, 'state');
      if (!found.shared) {
        await this.#redis.run('erase-session', [key], tag, found.session.session_id);
        continue;
      }
      let one: FoundSession | null = found;
      for (let tries = 0; one !== null && tries < TRIES; tries++) {
        const { doc } = storedSession(match.untied(one.session));
        const args = [tag, one.doc, doc as string, ...one.stored];
        if ((await this.#redis.run('erase-turns', [key], ...args)) === 1) break;
        const anew = (await this.#sessions(match)).find(({ session }) => tagOf(session) === tag);
        one = anew ?? null;
      }
    }
  }

  async #eraseLinks(links: readonly Link[]): Promise<void> {
    const { names } = this.#redis;
    const gone = new Set(links.map(({ key }) => key));
    for (const { key } of links) await this.#parts.links.remove(key);
    if (gone.size === 0) return;
    // This includes aliases that no longer lead to the link, because their names and values contain ids of its user.
    for await (const keys of this.#redis.scan(names.pattern('alias', 'link'))) {
      const values = await this.#redis.send(() =>
        Promise.all(keys.map((key) => this.#redis.client.get(key))),
      );
      await this.#delete(keys.filter((_, place) => gone.has(values[place] ?? '')));
    }
  }

  async #eraseStream(stream_id: string): Promise<void> {
    await this.#redis.run('erase-stream', [this.#key('stream', stream_id, 'state')], stream_id);
    for await (const keys of this.#redis.scan(this.#redis.names.pattern('stream-key', 'stream'))) {
      const values = await this.#redis.send(() =>
        Promise.all(keys.map((key) => this.#redis.client.get(key))),
      );
      await this.#delete(keys.filter((_, place) => values[place] === stream_id));
    }
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

  async #countSummaries(sessions: readonly FoundSession[]): Promise<number> {
    const fields = await this.#redis.send(() =>
      Promise.all(
        sessions.map(({ session }) =>
          this.#redis.client.hkeys(this.#key('session', tagOf(session), 'summaries')),
        ),
      ),
    );
    return fields.flat().filter((name) => name.startsWith('of:')).length;
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

/** The name of a message that was seen, without the prefix under which the guard stores the result for its user. */
function seenNameOf(name: string): string {
  return name.startsWith(BY_USER) ? name.slice(BY_USER.length) : name;
}

function isSeen(match: PersonMatch, name: string): boolean {
  const [platform = '', message_id = ''] = seenNameOf(name).split(/:(.*)/s);
  return match.seenMessage(platform, message_id);
}
