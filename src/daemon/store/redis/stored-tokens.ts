import { markOf } from '../../identity/seal.ts';
import type { Session } from '../../session/session.ts';
import { tagOf } from '../../session/session.ts';
import type { StoredToken } from '../stored-tokens.ts';
import type { RedisActions } from './actions.ts';
import type { RedisKeyspace } from './keyspace.ts';
import type { RedisLinks } from './links.ts';
import { readHashes } from './read-hashes.ts';
import { liveSessions, sessionOf, storedSession } from './sessions.ts';

/**
 * The tokens of links, sessions and streams, as they are stored, and the texts of actions. All methods except `replace`
 * read the whole key space.
 */
export class StoredTokens {
  readonly #redis: RedisKeyspace;
  readonly #links: RedisLinks;
  readonly #actions: RedisActions;

  constructor(redis: RedisKeyspace, links: RedisLinks, actions: RedisActions) {
    this.#redis = redis;
    this.#links = links;
    this.#actions = actions;
  }

  async count(prefix: string): Promise<number> {
    let count = 0;
    for await (const tokens of this.#tokens())
      count += tokens.filter(({ token }) => token.startsWith(prefix)).length;
    for await (const actions of this.#actionTexts(['args']))
      count += actions.filter(({ token }) => token.startsWith(prefix)).length;
    return count;
  }

  async countSeals(): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for await (const texts of this.#texts())
      for (const { token } of texts) counts.set(markOf(token), (counts.get(markOf(token)) ?? 0) + 1);
    return counts;
  }

  async *all(unlike: string): AsyncGenerator<StoredToken[]> {
    for await (const texts of this.#texts()) yield texts.filter(({ token }) => !token.startsWith(unlike));
  }

  async *#texts(): AsyncGenerator<StoredToken[]> {
    yield* this.#tokens();
    yield* this.#actionTexts(['answer', 'summary', 'args']);
  }

  async *#tokens(): AsyncGenerator<StoredToken[]> {
    yield* this.#ofLinks();
    for await (const sessions of liveSessions(this.#redis))
      yield sessions
        .flatMap(({ session }) => tokenOf(session) ?? [])
        .sort((a, b) => (a.tag < b.tag ? -1 : 1));
    yield* this.#ofStreams();
  }

  async replace(found: StoredToken, value: string): Promise<boolean> {
    const { names } = this.#redis;
    switch (found.kind) {
      case 'link':
        return this.#links.replaceToken(found.key, found.token, value);
      case 'stream': {
        const key = names.key('stream', found.stream_id, 'state');
        const args = [found.stream_id, found.token, value];
        return (await this.#redis.run('replace-stream-token', [key], ...args)) === 1;
      }
      case 'action':
        return this.#actions.replaceText(found.action_id, found.field, found.token, value);
      case 'session':
        return this.#replaceInSession(found, value);
    }
  }

  async #replaceInSession(found: StoredToken & { kind: 'session' }, value: string): Promise<boolean> {
    const key = this.#redis.names.key('session', found.tag, 'state');
    const fields = await this.#redis.run('find-session', [key], found.tag);
    const session = fields === null ? null : sessionOf(fields as string[]);
    const stored = session && tokenOf(session);
    if (!session || !stored || stored.user_id !== found.user_id || stored.token !== found.token) return false;
    const jwt_context = { ...session.metadata.jwt_context, token: value };
    const { doc } = storedSession({ ...session, metadata: { ...session.metadata, jwt_context } } as Session);
    const args = [found.tag, (fields as string[])[0] as string, doc as string];
    return (await this.#redis.run('replace-session-token', [key], ...args)) === 1;
  }

  async *#ofLinks(): AsyncGenerator<StoredToken[]> {
    for await (const keys of this.#links.keys()) {
      const links = await Promise.all(keys.map((key) => this.#links.get(key)));
      yield links.flatMap((link) =>
        link === null ? [] : [{ kind: 'link', key: link.key, token: link.token }],
      );
    }
  }

  async *#actionTexts(
    fields: readonly ('args' | 'summary' | 'answer')[],
  ): AsyncGenerator<(StoredToken & { kind: 'action' })[]> {
    const now = await this.#redis.now();
    for await (const hashes of readHashes(this.#redis, 'action', 'record', ['ends_at', ...fields]))
      yield hashes.flatMap(({ key, fields: [ends_at, ...texts] }) => {
        const action_id = this.#redis.names.nameOf(key, 'action', 'record');
        if (Number(ends_at) <= now) return [];
        return texts.flatMap((token, place) =>
          token === null ? [] : { kind: 'action' as const, action_id, field: fields[place] as 'args', token },
        );
      });
  }

  async *#ofStreams(): AsyncGenerator<StoredToken[]> {
    const { names } = this.#redis;
    for await (const streams of readHashes(this.#redis, 'stream', 'state', ['token'])) {
      const ids = streams.map(({ key }) => names.nameOf(key, 'stream', 'state'));
      const found = await Promise.all(
        ids.map((id) => this.#redis.run('find-stream', [names.key('stream', id, 'state')], 'id', id)),
      );
      yield found.flatMap((fields, place) => {
        const token = (fields as (string | null)[] | null)?.[3];
        return token ? [{ kind: 'stream', stream_id: ids[place] as string, token }] : [];
      });
    }
  }
}

function tokenOf(session: Session): (StoredToken & { kind: 'session' }) | null {
  const token = session.metadata.jwt_context?.token;
  if (token === undefined || session.credential_owner === null) return null;
  return { kind: 'session', tag: tagOf(session), user_id: session.credential_owner.user_id, token };
}
