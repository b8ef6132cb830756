import { type Session, type StoredTurn, tagOf } from '../../session/session.ts';
import { randomSuffix } from '../../time/clock.ts';
import type { SessionClaim } from '../claims.ts';
import type { HistoryReader, SaveOutcome, SessionStore } from '../sessions.ts';
import { shownTurns } from '../shown-turns.ts';
import type { Reply } from './connection.ts';
import type { RedisKeyspace } from './keyspace.ts';
import { type RedisHash, readHashes } from './read-hashes.ts';

/**
 * The pointer from a session's id is kept for this many lifetimes of the session, because each use extends the session.
 */
const MOVED_TTLS = 1000;

/** The fields of a session that scripts read and change; the rest is JSON. */
const FIELDS = ['doc', 'session_id', 'turns', 'last_active_at', 'expires_at'] as const;

export class RedisSessions implements SessionStore {
  readonly #redis: RedisKeyspace;

  constructor(redis: RedisKeyspace) {
    this.#redis = redis;
  }

  async find(session_id: string): Promise<Session | null> {
    const found = await this.byId(session_id, (key) => this.#redis.run('find-session', [key], session_id));
    return found === null ? null : sessionOf(found as string[]);
  }

  async claim(session_tag: string): Promise<SessionClaim | null> {
    const owner = randomSuffix();
    const taken = await this.#redis.run('claim-session', [this.claimKey(session_tag)], owner);
    return taken === 1 ? { session_tag, owner } : null;
  }

  async renew({ session_tag, owner }: SessionClaim): Promise<boolean> {
    return (await this.#redis.run('renew-claim', [this.claimKey(session_tag)], owner)) === 1;
  }

  async release({ session_tag, owner }: SessionClaim): Promise<void> {
    await this.#redis.run('release-claim', [this.claimKey(session_tag)], owner);
  }

  async save(
    { session_tag, owner }: SessionClaim,
    session: Session,
    as: 'new' | 'changed' | 'replaced',
  ): Promise<SaveOutcome> {
    const args = [session_tag, owner, as, tagOf(session), JSON.stringify(storedSession(session))];
    await this.noteMoved(session);
    const outcome = await this.#redis.run('save-session', [this.claimKey(session_tag)], ...args);
    if (outcome !== 'saved' && outcome !== 'ended' && outcome !== 'lost') throw sessionDefect(outcome);
    return outcome;
  }

  async history(session_id: string, reader: HistoryReader, limit: number): Promise<StoredTurn[]> {
    if (limit < 1) return [];
    // Most readers may see most turns, so twice the limit usually contains enough.
    const last = await this.#turns(session_id, 2 * limit);
    const shown = shownTurns(reader, last);
    if (shown.length >= limit || last.length < 2 * limit) return shown.slice(-limit);
    return shownTurns(reader, await this.#turns(session_id, 0)).slice(-limit);
  }

  turns(session_id: string): Promise<StoredTurn[]> {
    return this.#turns(session_id, 0);
  }

  /** Reads the whole key space. */
  async list({
    platform,
    user_id,
    limit,
  }: {
    platform?: string;
    user_id?: string;
    limit: number;
  }): Promise<Session[]> {
    let newest: Session[] = [];
    const now = await this.#redis.now();
    for await (const hashes of readHashes(this.#redis, 'session', 'state', FIELDS)) {
      const found = hashes
        .map(({ fields }) => sessionOf(fields as string[]))
        .filter((session) => session.expires_at > now)
        .filter((session) => platform === undefined || session.platform === platform)
        .filter((session) => user_id === undefined || session.user_id === user_id);
      newest = [...newest, ...found].sort(byActivity).slice(0, limit);
    }
    return newest;
  }

  async end(session_id: string): Promise<boolean> {
    const end = (key: string) => this.#redis.run('end-session', [key], session_id);
    return (await this.byId(session_id, end)) === 1;
  }

  /**
   * In a Cluster, a pointer leads from the id after sign-in to the tag if they are in different shards. The pointer is
   * written before the session: it has no effect if the session does not have the id.
   */
  async noteMoved(session: Session): Promise<void> {
    const [id, tag] = [session.session_id, tagOf(session)];
    if (this.#redis.lieTogether(id, tag)) return;
    const wait_ms = Math.max(session.expires_at - (await this.#redis.now()), 1);
    const key = this.#redis.names.key('moved', id, 'tag');
    await this.#redis.send(() => this.#redis.client.set(key, tag, 'PX', MOVED_TTLS * wait_ms));
  }

  claimKey(session_tag: string): string {
    return this.#redis.names.key('session', session_tag, 'claim');
  }

  async #turns(session_id: string, count: number): Promise<StoredTurn[]> {
    const read = (key: string) => this.#redis.run('read-turns', [key], session_id, count);
    const found = await this.byId(session_id, read);
    return (found as string[]).map((turn) => JSON.parse(turn));
  }

  /**
   * Runs a script on the session that has an id, or had it before sign-in.
   * @param script is called with the key that the session would have if the id were its tag.
   */
  async byId(session_id: string, script: (key: string) => Promise<Reply>): Promise<Reply> {
    const found = await script(this.#key(session_id));
    const isFound = Array.isArray(found) ? found.length > 0 : found !== null && found !== 0;
    if (isFound || !this.#redis.isSharded) return found;
    const pointer = this.#redis.names.key('moved', session_id, 'tag');
    const tag = await this.#redis.send(() => this.#redis.client.get(pointer));
    return tag === null ? found : script(this.#key(tag));
  }

  #key(session_id: string): string {
    return this.#redis.names.key('session', session_id, 'state');
  }
}

/** A session, in the form that scripts expect. */
export function storedSession(session: Session): Record<string, unknown> {
  const { session_id, former_id, turns, last_active_at, expires_at, ...rest } = session;
  const doc = JSON.stringify({ former_id, ...rest });
  const former = former_id === null ? {} : { former_id };
  return { tag: tagOf(session), session_id, ...former, doc, turns, last_active_at, expires_at };
}

/** @param fields the values of `FIELDS`. */
export function sessionOf(fields: readonly string[]): Session {
  const [doc, session_id, turns, last_active_at, expires_at] = fields as [
    string,
    string,
    string,
    string,
    string,
  ];
  return {
    ...JSON.parse(doc),
    session_id,
    turns: Number(turns),
    last_active_at: Number(last_active_at),
    expires_at: Number(expires_at),
  };
}

/** Live sessions, in batches, each with its stored JSON. */
export async function* liveSessions(
  redis: RedisKeyspace,
): AsyncGenerator<{ session: Session; doc: string }[]> {
  const now = await redis.now();
  for await (const hashes of readHashes(redis, 'session', 'state', FIELDS))
    yield hashes
      .map(({ fields }: RedisHash) => ({
        session: sessionOf(fields as string[]),
        doc: fields[0] as string,
      }))
      .filter(({ session }) => session.expires_at > now);
}

/** The error for a result of a script that means a defect of its caller. */
export function sessionDefect(outcome: unknown): Error {
  if (outcome === 'mismatch') return new Error('the claim is for a different session');
  if (outcome === 'taken') return new Error('the id of the new session is already used by another session');
  return new Error(`a script returned ${JSON.stringify(outcome)}`);
}

function byActivity(a: Session, b: Session): number {
  return b.last_active_at - a.last_active_at || (a.session_id < b.session_id ? -1 : 1);
}
