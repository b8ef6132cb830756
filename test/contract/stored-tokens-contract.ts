import { beforeEach, describe, expect, it } from 'vitest';
import type { Session } from '../../src/daemon/session/session.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import type { StoredToken } from '../../src/daemon/store/stored-tokens.ts';
import { ada, aSession, aStream } from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { saveSession } from './store-writes.ts';

const HOUR = 60 * 60 * 1000;

/** The contract of tokens that are stored, sealed or not: of links, sessions and streams. */
export function describeStoredTokens(current: () => StoreUnderTest): void {
  describe('stored tokens', () => {
    let test: StoreUnderTest;
    let store: Store;

    beforeEach(() => {
      test = current();
      store = test.store;
    });
    const context = (token: string) => ({
      has_jwt: true as const,
      user_id: 'ada',
      email: 'ada@example.com',
      token,
      token_exp: '2030-01-01T00:00:00.000Z',
    });

    it('are counted by how they begin, those of links, sessions and streams, while they live', async () => {
      expect(await store.countTokens('')).toBe(0);
      await saved();
      await saved({ metadata: { jwt_context: context('one.x') }, bound: { user_id: 'u1', person: ada } });
      await saved({ metadata: { jwt_context: context('two.x') }, bound: { user_id: 'u1', person: ada } });
      await store.links.put({ key: 'chat:jwt:u1', token: 'one.y', person: ada, ttl_ms: 2 * HOUR }, null);
      await store.streams.create(aStream({ token: 'one.z', ttl_ms: HOUR / 2 }));
      await store.streams.create(aStream());
      expect(await store.countTokens('')).toBe(4);
      expect(await store.countTokens('one.')).toBe(3);
      expect(await store.countTokens('one.y')).toBe(1);
      expect(await store.countTokens('%')).toBe(0);
      test.advance(HOUR / 2);
      expect(await store.countTokens('one.')).toBe(2);
      test.advance(HOUR / 2);
      expect(await store.countTokens('')).toBe(1);
    });

    it('are listed with the record that holds each, while they live', async () => {
      await saved();
      const signedIn = { metadata: { jwt_context: context('s1') }, bound: { user_id: 'u1', person: ada } };
      const session = await saved(signedIn);
      const renamed = await saved({
        ...signedIn,
        former_id: 'tag',
        metadata: { jwt_context: context('s2') },
      });
      expect(renamed.session_id).not.toBe('tag');
      await store.links.put({ key: 'chat:jwt:u1', token: 'l', person: ada, ttl_ms: 2 * HOUR }, null);
      const stream = await store.streams.create(aStream({ token: 't', ttl_ms: HOUR / 2 }));
      await store.streams.create(aStream());
      const link = { kind: 'link', key: 'chat:jwt:u1', token: 'l' };
      const sessions = [
        { kind: 'session', tag: session.session_id, user_id: 'u1', token: 's1' },
        { kind: 'session', tag: 'tag', user_id: 'u1', token: 's2' },
      ];
      expect(await listed()).toEqual([
        link,
        ...sessions,
        { kind: 'stream', stream_id: stream.stream_id, token: 't' },
      ]);
      test.advance(HOUR / 2);
      expect(await listed()).toEqual([link, ...sessions]);
      test.advance(HOUR / 2);
      expect(await listed()).toEqual([link]);
    });

    it('are listed completely if there are many', async () => {
      const keys = Array.from({ length: 1100 }, (_, n) => `chat:jwt:${n}`);
      await Promise.all(
        keys.map((key) => store.links.put({ key, token: key, person: ada, ttl_ms: HOUR }, null)),
      );
      const bound = { user_id: 'u1', person: ada };
      const signedIn = keys.map((token) => ({ metadata: { jwt_context: context(token) }, bound }));
      await Promise.all(signedIn.map(saved));
      const tokens = (await listed()).map(({ kind, token }) => `${kind} ${token}`).sort();
      expect(tokens).toEqual(keys.flatMap((key) => [`link ${key}`, `session ${key}`]).sort());
    });

    it('are replaced if they are still as they were listed, and nothing else is changed', async () => {
      const session = await saved({
        metadata: { jwt_context: context('s') },
        bound: { user_id: 'u1', person: ada },
      });
      const put = { key: 'chat:jwt:u1', token: 'l', person: ada, ttl_ms: HOUR };
      await store.links.put(put, null);
      const stream = await store.streams.create(aStream({ token: 't' }));
      const link = await store.links.get('chat:jwt:u1');
      const tokens = await listed();
      for (const one of tokens) expect(await store.replaceToken(one, `${one.token}-new`)).toBe(true);
      expect(await store.links.get('chat:jwt:u1')).toEqual({ ...link, token: 'l-new' });
      expect(await store.sessions.find(session.session_id)).toEqual({
        ...session,
        metadata: { jwt_context: context('s-new') },
      });
      expect(await store.streams.find(stream.stream_id)).toEqual({ ...stream, token: 't-new' });

      for (const one of tokens) expect(await store.replaceToken(one, 'late')).toBe(false);
      expect((await listed()).map(({ token }) => token)).toEqual(['l-new', 's-new', 't-new']);
    });

    it('are replaced in the session of the same channel user only', async () => {
      const bound = { user_id: 'u1', person: ada };
      const session = await saved({ metadata: { jwt_context: context('s') }, bound });
      const [token] = await listed();
      await saveSession(store, { ...session, bound: { ...bound, user_id: 'u2' } }, 'changed');
      expect(token && (await store.replaceToken(token, 'late'))).toBe(false);
    });

    async function listed(): Promise<StoredToken[]> {
      const tokens: StoredToken[] = [];
      for await (const some of store.storedTokens()) tokens.push(...some);
      return tokens;
    }

    /** Saves a new session that lives for an hour. */
    async function saved(members: Partial<Session> = {}): Promise<Session> {
      const session = aSession(test.now(), members);
      expect(await saveSession(store, session)).toBe('saved');
      return session;
    }
  });
}
