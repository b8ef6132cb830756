import { beforeEach, describe, expect, it } from 'vitest';
import { SEALED } from '../../src/daemon/identity/seal.ts';
import type { Session } from '../../src/daemon/session/session.ts';
import type { StoredToken } from '../../src/daemon/store/persons/stored-tokens.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { ada, anAction, aSession, aStream } from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { saveSession } from './store-writes.ts';

const HOUR = 60 * 60 * 1000;

/** The contract of the tokens in links, sessions and streams, and of the sealed texts of actions. */
export function describeStoredTokens(current: () => StoreUnderTest): void {
  describe('stored tokens', () => {
    let test: StoreUnderTest;
    let store: Store;

    beforeEach(() => {
      test = current();
      store = test.store;
    });

    it('of links, sessions and streams are counted until they expire', async () => {
      const count = async () => (await store.countSeals()).get('')?.tokens ?? 0;
      expect(await count()).toBe(0);
      await saveSession(store, aSession(test.now()));
      await saveSession(store, withToken('one.x'));
      await saveSession(store, withToken('two.x'));
      await store.links.put({ key: 'chat:jwt:u1', token: 'one.y', person: ada, ttl_ms: 2 * HOUR });
      await store.streams.create(aStream({ token: 'one.z', ttl_ms: HOUR / 2 }));
      await store.streams.create(aStream());
      expect(await count()).toBe(4);
      test.advance(HOUR / 2);
      expect(await count()).toBe(3);
      test.advance(HOUR / 2);
      expect(await count()).toBe(1);
    });

    it('are each listed with the record that contains the token, until the record expires', async () => {
      await saveSession(store, aSession(test.now()));
      const session = withToken('s1');
      const renamed = withToken('s2', { former_id: 'tag' });
      await saveSession(store, session);
      await saveSession(store, renamed);
      await store.links.put({ key: 'chat:jwt:u1', token: 'l', person: ada, ttl_ms: 2 * HOUR });
      const stream = await store.streams.create(aStream({ token: 't', ttl_ms: HOUR / 2 }));
      await store.streams.create(aStream());
      const link = { kind: 'link', key: 'chat:jwt:u1', token: 'l' };
      const sessions = [
        { kind: 'session', tag: session.session_id, user_id: 'u1', token: 's1' },
        { kind: 'session', tag: 'tag', user_id: 'u1', token: 's2' },
      ];
      const ofStream = { kind: 'stream', stream_id: stream.stream_id, token: 't' };
      // The tokens of a kind are in no particular order.
      const inOrder = <T extends { token: string }>(list: readonly T[]) =>
        [...list].sort((one, other) => (one.token < other.token ? -1 : 1));
      expect(inOrder(await listed())).toEqual(inOrder([link, ...sessions, ofStream]));
      test.advance(HOUR / 2);
      expect(inOrder(await listed())).toEqual(inOrder([link, ...sessions]));
      test.advance(HOUR / 2);
      expect(await listed()).toEqual([link]);
    });

    it('are listed completely, even if there are many', async () => {
      const keys = Array.from({ length: 1100 }, (_, n) => `chat:jwt:${n}`);
      await Promise.all(keys.map((key) => store.links.put({ key, token: key, person: ada, ttl_ms: HOUR })));
      await Promise.all(keys.map((token) => saveSession(store, withToken(token))));
      const tokens = (await listed()).map(({ kind, token }) => `${kind} ${token}`).sort();
      expect(tokens).toEqual(keys.flatMap((key) => [`link ${key}`, `session ${key}`]).sort());
    });

    it('are listed even after many rows without tokens', async () => {
      const mark = `${SEALED}keykey_1.`;
      await Promise.all(Array.from({ length: 1100 }, () => saveSession(store, aSession(test.now()))));
      await saveSession(store, withToken(`${mark}s`));
      await saveSession(store, withToken('plain'));
      expect((await listed()).map(({ token }) => token)).toEqual(['plain']);
      expect((await listed(mark)).map(({ token }) => token)).toEqual(['plain']);
      expect((await listed('plain')).map(({ token }) => token)).toEqual([`${mark}s`]);
    });

    it('and texts of actions are counted by the key that sealed them, and a list can exclude one key', async () => {
      const one = (text: string) => `${SEALED}keykey_1.${text}`;
      const two = (text: string) => `${SEALED}keykey_2.${text}`;
      expect(await store.countSeals()).toEqual(new Map());
      await saveSession(store, withToken(one('s')));
      await store.links.put({ key: 'chat:jwt:u1', token: two('l'), person: ada, ttl_ms: HOUR });
      await store.streams.create(aStream({ token: 'plain', ttl_ms: HOUR / 2 }));
      const action = anAction({ args: two('a'), summary: one('s') });
      await store.actions.start(null, action);
      await store.actions.finish(action.action_id, 1, { state: 'done', status: 200, answer: one('r') });
      expect(await store.countSeals()).toEqual(
        new Map([
          ['', { texts: 1, tokens: 1 }],
          [`${SEALED}keykey_1.`, { texts: 3, tokens: 1 }],
          [`${SEALED}keykey_2.`, { texts: 2, tokens: 2 }],
        ]),
      );
      const left = await listed(`${SEALED}keykey_2.`);
      expect(left.map(({ kind, token }) => `${kind} ${token}`).sort()).toEqual([
        `action ${one('r')}`,
        `action ${one('s')}`,
        `session ${one('s')}`,
        'stream plain',
      ]);
      for (const text of left) expect(await store.replaceToken(text, two(text.token))).toBe(true);
      expect(await store.countSeals()).toEqual(new Map([[`${SEALED}keykey_2.`, { texts: 6, tokens: 4 }]]));
      expect(await listed(`${SEALED}keykey_2.`)).toEqual([]);
      test.advance(HOUR);
      expect(await store.countSeals()).toEqual(new Map([[`${SEALED}keykey_2.`, { texts: 3, tokens: 1 }]]));
    });

    it('are replaced only if they have not changed since they were listed, and nothing else changes', async () => {
      const session = withToken('s');
      await saveSession(store, session);
      await store.links.put({ key: 'chat:jwt:u1', token: 'l', person: ada, ttl_ms: HOUR });
      const stream = await store.streams.create(aStream({ token: 't' }));
      const link = await store.links.get('chat:jwt:u1');
      const tokens = await listed();
      for (const one of tokens) expect(await store.replaceToken(one, `${one.token}-new`)).toBe(true);
      expect(await store.links.get('chat:jwt:u1')).toEqual({ ...link, token: 'l-new' });
      expect(await store.sessions.find(session.session_id)).toEqual({
        ...session,
        metadata: withToken('s-new').metadata,
      });
      expect(await store.streams.find(stream.stream_id)).toEqual({ ...stream, token: 't-new' });

      for (const one of tokens) expect(await store.replaceToken(one, 'late')).toBe(false);
      expect((await listed()).map(({ token }) => token)).toEqual(['l-new', 's-new', 't-new']);
    });

    it('of a session are not replaced if the session now belongs to another channel user', async () => {
      const session = withToken('s');
      await saveSession(store, session);
      const [token] = (await listed()) as [StoredToken];
      await saveSession(store, { ...session, credential_owner: { user_id: 'u2', person: ada } }, 'changed');
      expect(await store.replaceToken(token, 'late')).toBe(false);
    });

    function withToken(token: string, members: Partial<Session> = {}): Session {
      const jwt_context = {
        has_jwt: true as const,
        user_id: 'ada',
        email: 'ada@example.com',
        token,
        token_exp: '2030-01-01T00:00:00.000Z',
      };
      const bound = { user_id: 'u1', person: ada };
      return aSession(test.now(), { metadata: { jwt_context }, credential_owner: bound, ...members });
    }

    async function listed(unlike = SEALED): Promise<StoredToken[]> {
      const tokens: StoredToken[] = [];
      for await (const some of store.storedTokens(unlike)) tokens.push(...some);
      return tokens;
    }
  });
}
