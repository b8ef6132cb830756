import { beforeEach, describe, expect, it } from 'vitest';
import type { PersonKey } from '../../src/daemon/identity/identity.ts';
import { clientTag, type Session, type StoredTurn } from '../../src/daemon/session/session.ts';
import type { FeedbackStore, NewRating, Rater } from '../../src/daemon/store/feedback.ts';
import { ada, anInboxMessage, aSession, aTurn, bob } from './fixtures.ts';
import { type StoreUnderTest, WANTED } from './store-contract.ts';
import { keepTurn, saveSession, storeReply } from './store-writes.ts';

/** The contract of the port `feedback`. */
export function describeFeedback(current: () => StoreUnderTest): void {
  describe('feedback', () => {
    let test: StoreUnderTest;
    let feedback: FeedbackStore;

    const client = (person: PersonKey | null = null, namespaces = ['web']): Rater => {
      return { kind: 'client', person, namespaces };
    };
    const user = (user_id: string, platform = 'chat'): Rater => ({ kind: 'user', platform, user_id });

    /** Stores a session with one answered turn. */
    async function talk(session: Partial<Session> = {}, turn: Partial<StoredTurn> = {}): Promise<StoredTurn> {
      const stored = aSession(test.now(), { session_id: 's', ...session });
      await saveSession(test.store, stored);
      const record = aTurn({ turn_id: 't', finished_at: test.now(), ...turn });
      await keepTurn(test.store, stored, record, 2 * WANTED.traceRetentionMs);
      return record;
    }

    const rate = (rater: Rater, members: Partial<NewRating> = {}) =>
      feedback.rate({ session_id: 's', turn_id: 't', rating: 1, comment: null, ...members }, rater);

    beforeEach(() => {
      test = current();
      feedback = test.store.feedback;
    });

    it('has one rating a turn; the newest counts', async () => {
      const { request_id } = await talk();
      expect(await feedback.ofTurns(['t'])).toEqual([]);
      expect(await rate(client(), { comment: 'sealed' })).toEqual({ platform: 'chat', isNew: true });
      const first = {
        ...{ turn_id: 't', request_id, session_id: 's', platform: 'chat', user_id: 'u1', person: null },
        ...{ rating: 1, comment: 'sealed', rated_at: test.now() },
      };
      expect(await feedback.ofTurns(['x', 't'])).toEqual([first]);
      expect(await rate(client())).toEqual({ platform: 'chat', isNew: false });
      test.advance(5);
      expect(await rate(client(), { rating: -1 })).toEqual({ platform: 'chat', isNew: true });
      const second = { ...first, rating: -1, comment: null, rated_at: test.now() };
      expect(await feedback.list({ limit: 5 })).toEqual([second]);
      expect(await (await test.restart()).feedback.ofTurns(['t'])).toEqual([second]);
    });

    it('is refused for a turn that its session does not have, and for one without an answer', async () => {
      await talk();
      await talk({ session_id: 'other' }, { turn_id: 'elsewhere' });
      await talk({ session_id: 'failing' }, { turn_id: 'failed', outcome: 'failed', reply: null });
      expect(await rate(client(), { turn_id: 'x' })).toBeNull();
      expect(await rate(client(), { session_id: 'x' })).toBeNull();
      expect(await rate(client(), { turn_id: 'elsewhere' })).toBeNull();
      expect(await rate(client(), { session_id: 'failing', turn_id: 'failed' })).toBeNull();
      await test.store.sessions.end('s');
      expect(await rate(client())).toBeNull();
      expect(await feedback.list({ limit: 5 })).toEqual([]);
    });

    it("about a person's turn is taken only from this person", async () => {
      await talk({ owner: ada }, { person: ada });
      for (const rater of [client(), client(bob)]) expect(await rate(rater)).toBeNull();
      expect(await feedback.list({ limit: 5 })).toEqual([]);
      expect(await rate(client(ada))).not.toBeNull();
      expect(await feedback.ofTurns(['t'])).toMatchObject([{ person: ada }]);
    });

    it("about nobody's turn is not taken from somebody else than the owner of the session", async () => {
      await talk({ owner: ada });
      expect(await rate(client(bob))).toBeNull();
      for (const rater of [client(), client(ada)]) expect(await rate(rater)).not.toBeNull();
    });

    it('with the id from before sign-in is taken only from the owner of the session', async () => {
      await talk({ former_id: 'before', owner: ada });
      for (const rater of [client(), client(bob)])
        expect(await rate(rater, { session_id: 'before' })).toBeNull();
      expect(await rate(client(ada), { session_id: 'before' })).not.toBeNull();
      expect(await feedback.ofTurns(['t'])).toMatchObject([{ session_id: 's' }]);
    });

    it("about a platform's session is taken only from the user who asked, through the platform", async () => {
      await talk({ namespace: 'chat' }, { person: ada });
      for (const rater of [client(ada), user('u2'), user('u1', 'other')])
        expect(await rate(rater)).toBeNull();
      expect(await rate(user('u1'))).toEqual({ platform: 'chat', isNew: true });
    });

    it('is listed by channel, rating and time, newest first', async () => {
      const { store } = test;
      const since = test.now() + 10;
      for (const [n, platform] of ['chat', 'site', 'chat'].entries()) {
        const rating = n === 0 ? 1 : -1;
        await talk({ session_id: `s${n}`, platform }, { turn_id: `t${n}` });
        await rate(client(), { session_id: `s${n}`, turn_id: `t${n}`, rating });
        test.advance(10);
      }
      const listed = async (filter: object) =>
        (await store.feedback.list({ limit: 9, ...filter })).map(({ turn_id }) => turn_id);
      expect(await listed({})).toEqual(['t2', 't1', 't0']);
      expect(await listed({ limit: 1 })).toEqual(['t2']);
      expect(await listed({ platform: 'chat' })).toEqual(['t2', 't0']);
      expect(await listed({ platform: 'chat', rating: -1 })).toEqual(['t2']);
      expect(await listed({ since })).toEqual(['t2', 't1']);
    });

    it('is kept as long as the trace of its turn, and then no longer taken', async () => {
      const { finished_at } = await talk();
      test.advance(WANTED.traceRetentionMs - 1);
      expect(await rate(client())).not.toBeNull();
      test.advance(finished_at + WANTED.traceRetentionMs - test.now());
      expect(await feedback.ofTurns(['t'])).toEqual([]);
      expect(await feedback.list({ limit: 5 })).toEqual([]);
      expect(await rate(client())).toBeNull();
      expect(await test.store.sessions.turns('s')).toHaveLength(1);
    });

    it('finds an answer by the ids under which its platform has accepted it, for 7 days', async () => {
      const { inbox } = test.store;
      const message = anInboxMessage();
      await inbox.enqueue([message]);
      const [claim] = await inbox.claim('run', ['chat'], 1);
      if (claim === undefined) throw new Error('the message was not claimed');
      await storeReply(test.store, claim, 'answer');
      await inbox.settle(claim, { kind: 'sent', sent_ids: ['c:1', 'c:2', 'x'.repeat(257)] });
      const sent = { turn_id: message.id, session_id: message.session_id };
      for (const sent_id of ['c:1', 'c:2']) expect(await feedback.findSent('chat', sent_id)).toEqual(sent);
      expect(await feedback.findSent('other', 'c:1')).toBeNull();
      expect(await feedback.findSent('chat', 'x'.repeat(257))).toBeNull();
      test.advance(7 * 24 * 60 * 60 * 1000);
      expect(await feedback.findSent('chat', 'c:1')).toBeNull();
    });

    it('loses the ids of an answer with the session of the answer', async () => {
      const { inbox, persons } = test.store;
      const session = aSession(test.now(), { session_id: 'chat:s', namespace: 'chat' });
      await saveSession(test.store, session);
      const message = anInboxMessage({ session_id: 'chat:s' });
      await inbox.enqueue([message]);
      const [claim] = await inbox.claim('run', ['chat'], 1);
      if (claim === undefined) throw new Error('the message was not claimed');
      await storeReply(test.store, claim, 'answer');
      await inbox.settle(claim, { kind: 'sent', sent_ids: ['c:1'] });
      await persons?.erase({ platform: 'chat', user_id: 'u1' });
      expect(await feedback.findSent('chat', 'c:1')).toBeNull();
    });

    it('of an anonymous client counts for it, so that the oldest is deleted first', async ({ skip }) => {
      skip(!test.boundsAnonymous, 'this backend does not bound what anonymous clients store');
      const comment = 'x'.repeat(WANTED.anonymousMax / 50);
      const ids = Array.from({ length: 60 }, (_, n) => `t${n}`);
      // An anonymous client began it, and then signed in.
      const owned = { session_id: 'owned', owner: ada, client: clientTag('192.0.2.1') };
      await talk(owned, { turn_id: 'kept' });
      await rate(client(ada), { session_id: 'owned', turn_id: 'kept', comment });
      for (const turn_id of ids) {
        await talk({ session_id: turn_id, client: clientTag('192.0.2.1') }, { turn_id, text: '', reply: '' });
        await rate(client(), { session_id: turn_id, turn_id, comment });
        test.advance(1);
      }
      const left = (await feedback.ofTurns(['kept', ...ids])).map(({ turn_id }) => turn_id);
      expect(left.length).toBeLessThan(50);
      expect(left).toEqual(['kept', ...ids.slice(1 - left.length)]);
    });

    it('has comments among the sealed texts, which can be replaced, but not among the tokens', async () => {
      const { store } = test;
      await talk();
      await rate(client(), { comment: 'plain' });
      expect((await store.countSeals()).get('')).toEqual({ texts: 1, tokens: 0 });
      const texts = [];
      for await (const some of store.storedTokens('sealed')) texts.push(...some);
      const text = { kind: 'feedback', turn_id: 't', token: 'plain' } as const;
      expect(texts).toEqual([text]);
      expect(await store.replaceToken(text, 'sealed')).toBe(true);
      expect(await store.replaceToken(text, 'late')).toBe(false);
      expect(await feedback.ofTurns(['t'])).toMatchObject([{ rating: 1, comment: 'sealed' }]);
    });
  });
}
