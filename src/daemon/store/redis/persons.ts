import { type Session, tagOf } from '../../session/session.ts';
import { randomSuffix } from '../../time/clock.ts';
import { CLAIM_MS } from '../claims.ts';
import type { PersonRecords, PersonSelector, PersonStore } from '../persons.ts';
import type { RedisKeyspace } from './keyspace.ts';
import {
  countSummaries,
  type Found,
  type FoundSession,
  type PersonParts,
  PersonSearch,
} from './person-search.ts';
import { rewriteFiles } from './rewrite-files.ts';
import { storedSession } from './sessions.ts';

/** Maximum number of attempts to erase turns of a session if others change the session at the same time. */
const TRIES = 10;

/** Shows and deletes everything that is stored about a person or a platform's user. */
export class RedisPersons implements PersonStore {
  readonly #redis: RedisKeyspace;
  readonly #parts: PersonParts;

  constructor(redis: RedisKeyspace, parts: PersonParts) {
    this.#redis = redis;
    this.#parts = parts;
  }

  async show(of: PersonSelector): Promise<PersonRecords> {
    const search = new PersonSearch(this.#redis, this.#parts, of);
    return (await search.find(await search.sessions())).records;
  }

  /**
   * If an erasure is interrupted, a repeat must find the rest. So everything is found before the first deletion, and a
   * record is deleted before the records through which it is found. The sessions are the last: until then, they are
   * closed, so that nothing is added that only they lead to.
   */
  async erase(of: PersonSelector): Promise<PersonRecords> {
    await this.#deleteEnded();
    const search = new PersonSearch(this.#redis, this.#parts, of);
    const sessions = await search.sessions();
    const owner = randomSuffix();
    await this.#close(sessions, owner);
    const renewing = setInterval(() => this.#renew(sessions, owner), CLAIM_MS / 3);
    try {
      const found = await search.find(sessions);
      await this.#delete(found.requests);
      await this.#delete(found.counters);
      await this.#eraseLinks(found, search);
      await this.#delete(found.seen);
      for (const { key, action } of found.actions)
        await this.#redis.run('erase-action', [key], action.action_id);
      await this.#eraseMessages(found, search);
      await this.#delete(found.stream_keys);
      for (const id of found.streams)
        await this.#redis.run('erase-stream', [this.#key('stream', id, 'state')], id);
      await this.#delete(found.keys);
      for (const [ring, ids] of found.traces)
        if (ids.length > 0) await this.#redis.run('erase-traces', [ring], ...ids);
      // Messages, traces and answers are found through these.
      const erased = await this.#eraseSessions(sessions, search, owner);
      await rewriteFiles(this.#redis.nodes);
      const others = { ...found.records.others, summaries: countSummaries(erased) };
      return { ...found.records, sessions: erased.map((session) => search.match.shown(session)), others };
    } finally {
      clearInterval(renewing);
    }
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
    search: PersonSearch,
    owner: string,
  ): Promise<FoundSession[]> {
    const erased: FoundSession[] = [];
    for (const found of sessions) {
      const isErased = found.shared
        ? await this.#eraseTurns(found, search)
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
  async #eraseTurns(found: FoundSession, search: PersonSearch): Promise<boolean> {
    const tag = tagOf(found.session);
    let { session, doc }: Pick<FoundSession, 'session' | 'doc'> = found;
    for (let tries = 0; tries < TRIES; tries++) {
      const { doc: untied } = storedSession(search.match.untied(session));
      const args = [tag, doc, untied as string, ...found.stored];
      if ((await this.#redis.run('erase-turns', [this.#key('session', tag, 'state')], ...args)) === 1)
        return true;
      const anew = (await search.sessions()).find((one) => tagOf(one.session) === tag);
      if (anew === undefined) return true;
      ({ session, doc } = anew);
    }
    return false;
  }

  async #eraseLinks({ links, aliases }: Found, search: PersonSearch): Promise<void> {
    await this.#delete(aliases);
    for (const { key } of links) await this.#parts.links.remove(key);
    // An alias may have been bound in the meantime.
    await this.#delete(await search.pointers('alias', 'link', new Set(links.map(({ key }) => key))));
  }

  async #eraseMessages({ inbox, sessions }: Found, search: PersonSearch): Promise<void> {
    await this.#noteErased(inbox.map(({ id }) => id));
    // The claims of these sessions are held by the erasure.
    const closed = new Set(sessions.filter(({ shared }) => !shared).map(({ session }) => tagOf(session)));
    for (const message of inbox) {
      const runs_in = search.match.runsIn(message) ?? '';
      const shard = this.#redis.at(message.queue);
      const args = [message.id, closed.has(runs_in) ? '' : runs_in];
      await shard.run('erase-message', [shard.names.key('inbox', null, 'names')], ...args);
    }
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
