import { beforeEach, describe, expect, it } from 'vitest';
import { type Session, sessionTag } from '../../src/daemon/session/session.ts';
import type { InboxClaim, SignInHint } from '../../src/daemon/store/inbox/inbox.ts';
import type { LinkHow } from '../../src/daemon/store/links/links.ts';
import type { NewWaitingQuestion } from '../../src/daemon/store/links/waiting-questions.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { dropLink } from '../support/drop-link.ts';
import { ada, anInboxMessage, aSession, aTrace, aTurn, aWaitingQuestion, bob } from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { commitUnderClaim, saveSession } from './store-writes.ts';

const HOUR = 60 * 60 * 1000;
const KEY = 'chat:jwt:u1';
const HINT: SignInHint = {
  ...{ at: 4, private_text: 'p', written: 'w', write: 'x' },
  ...{ write_at: 'x {url}', answered: 'a' },
};

/** The contract of the port `waitingQuestions`. */
export function describeWaitingQuestions(current: () => StoreUnderTest): void {
  describe('waitingQuestions', () => {
    let test: StoreUnderTest;
    let store: Store;
    let session: Session;

    beforeEach(async () => {
      test = current();
      store = test.store;
      session = aSession(test.now());
      await saveSession(store, session);
    });

    /** Stores a question with its turn. @returns the id of the turn */
    async function ask(
      members: Parameters<typeof aWaitingQuestion>[1] = {},
      where = session,
    ): Promise<string> {
      const record = aTurn();
      const waits = inPrivate(aWaitingQuestion(where, { turn_id: record.turn_id, ...members }));
      const changes = { turn: { record, ttl_ms: 2 * HOUR }, trace: aTrace(where), waits };
      await commitUnderClaim(store, sessionTag(where), changes);
      return waits.message.rerun.turn_id;
    }
    const link = async (person = ada, how: LinkHow = 'token', key = KEY): Promise<void> => {
      const standing = new Map([[key, (await store.links.get(key))?.token ?? null]]);
      const token = `token ${person} ${test.now()}`;
      expect(await store.links.put({ key, token, person, ttl_ms: HOUR, how }, standing)).toBe(true);
    };
    const queued = () => store.inbox.list({ states: ['waiting'], limit: 9 });
    const waits = async (turn_id: string) => (await store.waitingQuestions.ofTurn(turn_id)) !== null;

    it.each(['token', 'code'] as const)('is run again once, for the person of the link: %s', async (how) => {
      const turn_id = await ask({ text: 'my orders' });
      expect(await store.waitingQuestions.ofTurn(turn_id)).toMatchObject({
        link_key: KEY,
        expires_at: test.now() + HOUR,
        message: { message: { text: 'my orders' } },
      });
      test.advance(HOUR - 1);
      await link(ada, how);
      await link(ada, how);
      expect(await queued()).toMatchObject([
        {
          ...{ platform: 'chat', session_id: session.session_id, queue: session.session_id, user_id: 'u1' },
          ...{ message: { text: 'my orders' }, rerun: { turn_id, received_at: 1, person: ada } },
          ...{ state: 'waiting', attempts: 0, received_at: test.now() },
        },
      ]);
      expect(await waits(turn_id)).toBe(false);
    });

    it('is run again at once if its user was linked while its run was going on', async () => {
      const unlinked_at = test.now();
      test.advance(1);
      await link();
      const turn_id = await ask({ unlinked_at });
      expect(await queued()).toMatchObject([{ rerun: { turn_id, person: ada } }]);
      expect(await waits(turn_id)).toBe(false);
      // The run acted for the person of a link, or there was a link that it could not use.
      for (const at of [null, test.now() + 1]) expect(await waits(await ask({ unlinked_at: at }))).toBe(true);
      expect(await queued()).toHaveLength(1);
    });

    it('survives a restart before and after the sign-in', async () => {
      const turn_id = await ask();
      store = await test.restart();
      expect(await waits(turn_id)).toBe(true);
      await link();
      store = await test.restart();
      expect([await waits(turn_id), (await queued()).length]).toEqual([false, 1]);
    });

    it('is not run again for another user, after its time, or for a person who was not linked before', async () => {
      await ask();
      await link(ada, 'token', 'chat:jwt:u2');
      test.advance(HOUR);
      await link();
      expect(await queued()).toEqual([]);
      test.advance(1);
      const turn_id = await ask();
      await link(bob);
      expect([await queued(), await waits(turn_id)]).toEqual([[], false]);
    });

    it('is not run again for another person than the owner of its private chat', async () => {
      const owned = aSession(test.now(), { owner: ada });
      await saveSession(store, owned);
      await ask({}, owned);
      await link(bob);
      expect(await queued()).toEqual([]);
    });

    it('ends when an operator links its user, when the link is removed, and when the user is signed out', async () => {
      const ends: (() => Promise<unknown>)[] = [
        () => link(ada, 'operator'),
        () => dropLink(store.links, KEY),
        () => store.links.remove(new Map(), { signedOut: ['chat:jwt:other', KEY] }),
      ];
      for (const end of ends) {
        const turn_id = await ask();
        expect(await waits(turn_id)).toBe(true);
        await end();
        expect(await waits(turn_id)).toBe(false);
      }
      await link();
      expect(await queued()).toEqual([]);
    });

    it('ends when its own message is deleted', async () => {
      const { message, ...others } = aWaitingQuestion(session);
      const rerun = { ...message.rerun, message_id: 'm1' };
      const turn_id = await ask({ ...others, message: { ...message, rerun } });
      await store.waitingQuestions.forget([KEY], { platform: 'chat', message_id: 'm2' });
      expect(await waits(turn_id)).toBe(true);
      await store.waitingQuestions.forget([KEY], { platform: 'chat', message_id: 'm1' });
      expect(await waits(turn_id)).toBe(false);
    });

    it('is not stored if its user has deleted its message before the run has ended', async () => {
      const running = async (message_id: string) => {
        const { message } = aWaitingQuestion(session);
        await store.inbox.enqueue([{ ...message, message_id }]);
        const [claim] = await store.inbox.claim('run', ['chat'], 1);
        if (!claim) throw new Error('no message');
        const asked = async () => {
          const waits = await ask({ turn_id: message.id });
          await store.inbox.settle(claim, { kind: 'sent' });
          return store.waitingQuestions.ofTurn(waits);
        };
        return { claim, asked };
      };
      const forget = (link_key: string, message_id: string) =>
        store.waitingQuestions.forget(['chat:jwt:other', link_key], { platform: 'chat', message_id });
      const [mine, theirs] = [await running('m1'), 'chat:jwt:u2'];
      await forget(KEY, 'm1');
      expect(await store.inbox.renew(mine.claim)).toBe(true);
      store = await test.restart();
      expect(await mine.asked()).toBeNull();
      // Another message, or somebody else.
      const second = await running('m2');
      await forget(KEY, 'm3');
      await forget(theirs, 'm2');
      expect(await second.asked()).not.toBeNull();
    });

    it('ends with its session, even if a new session has the same id', async () => {
      await ask();
      await store.sessions.end(session.session_id);
      await link();
      test.advance(1);
      expect(await queued()).toEqual([]);
      await dropLink(store.links, KEY);
      session = aSession(test.now(), { session_id: session.session_id });
      await saveSession(store, session);
      await ask();
      await store.sessions.end(session.session_id);
      test.advance(1);
      await saveSession(store, aSession(test.now(), { session_id: session.session_id }));
      await link();
      expect(await queued()).toEqual([]);
    });

    it('ends with its message', async () => {
      const record = aTurn();
      const turn_id = await ask();
      await store.inbox.enqueue([
        { ...aWaitingQuestion(session).message, id: turn_id, message_id: record.turn_id },
      ]);
      expect(await store.inbox.discard(turn_id)).toBe(true);
      expect(await waits(turn_id)).toBe(false);
    });

    it('ends with the erasure of its user', async () => {
      const { persons } = store;
      if (persons === null) return;
      const turn_id = await ask();
      await persons.erase({ platform: 'chat', user_id: 'u1' });
      expect(await waits(turn_id)).toBe(false);
      await link();
      expect(await queued()).toEqual([]);
    });

    it('has a second run that ends with the erasure of its person', async () => {
      const { persons } = store;
      if (persons === null) return;
      await ask();
      await link(ada);
      await persons.erase({ person: bob, link_keys: [] });
      expect(await queued()).toHaveLength(1);
      await persons.erase({ person: ada, link_keys: [] });
      expect(await queued()).toEqual([]);
    });

    it('is replaced by a newer question of the same user only', async () => {
      const first = await ask();
      const others = await ask({ user_id: 'u2' });
      const second = await ask();
      const older = aWaitingQuestion(session);
      older.message.rerun.received_at = 0;
      const late = await ask(older);
      expect(await Promise.all([first, others, second, late].map(waits))).toEqual([false, true, true, false]);
    });

    describe('of a group', () => {
      const private_run = {
        ...{ queue: 'chat:u1', session_id: 'chat:u1', channel_id: 'u1', reply_to: { to: 'u1' } },
        follow_up: anInboxMessage({
          message: null,
          session_id: null,
          queue: 'group',
          reply: 'answered privately',
        }),
      };

      /** A turn in a group whose reply still needs a sentence. @returns the claim of its message */
      async function askInGroup(members: Partial<NewWaitingQuestion> = {}): Promise<InboxClaim> {
        const question = aWaitingQuestion(session, members);
        const id = question.message.rerun.turn_id;
        const { session_id } = session;
        await store.inbox.enqueue([anInboxMessage({ id, session_id, queue: session_id })]);
        const [claim] = await store.inbox.claim('run', ['chat'], 1);
        if (!claim) throw new Error('no message');
        const asks = { id: 'a', begins_at: 5, confirm: 'Yes', decline: 'No' };
        await commitUnderClaim(store, sessionTag(session), {
          turn: { record: aTurn({ turn_id: id }), ttl_ms: 2 * HOUR },
          trace: aTrace(session),
          reply: { claim, text: 'Hint?', question: asks, sign_in: HINT },
          waits: question,
        });
        return claim;
      }

      it('is run again in the private chat, once that is known, and then tells the group', async () => {
        const claim = await askInGroup();
        expect(await store.inbox.find(claim.message.id)).toMatchObject({ reply: 'Hint?', sign_in: HINT });
        const hinted = { reply: 'Hint, written?', begins_at: 14, private_run };
        const completed = await store.inbox.completeSignIn(claim, hinted);
        expect(completed).toMatchObject({
          reply: 'Hint, written?',
          question: { begins_at: 14 },
          state: 'replied',
        });
        expect(completed).not.toHaveProperty('sign_in');
        expect(await store.inbox.find(claim.message.id)).toEqual(completed);
        await store.inbox.settle(claim, { kind: 'sent' });
        await link();
        const [again] = await store.inbox.claim('run', ['chat'], 1);
        expect(again?.message).toMatchObject({
          ...{ queue: 'chat:u1', session_id: 'chat:u1', reply_to: { to: 'u1' }, rerun: { person: ada } },
          message: { thread_id: 'chat:u1', channel_id: 'u1', shared: false },
        });
        const texts = () => store.inbox.list({ states: ['replied'], limit: 9 });
        expect(await texts()).toEqual([]);
        if (again) await store.inbox.settle(again, { kind: 'sent' });
        expect(await texts()).toMatchObject([{ queue: 'group', reply: 'answered privately' }]);
      });

      it('is run again in the private chat if its user was linked while its run was going on', async () => {
        const unlinked_at = test.now();
        await link();
        const claim = await askInGroup({ unlinked_at });
        expect([await waits(claim.message.id), await queued()]).toEqual([true, []]);
        await store.inbox.completeSignIn(claim, { reply: 'Hint.', begins_at: null, private_run });
        expect(await queued()).toMatchObject([{ session_id: 'chat:u1', rerun: { person: ada } }]);
      });

      it('is run again for its sender, even if somebody else signed in there first', async () => {
        session = aSession(test.now(), { owner: bob });
        await saveSession(store, session);
        const claim = await askInGroup();
        await store.inbox.completeSignIn(claim, { reply: 'Hint.', begins_at: null, private_run });
        await link(ada);
        expect(await queued()).toMatchObject([{ session_id: 'chat:u1', rerun: { person: ada } }]);
      });

      it('is never run again in the group', async () => {
        const early = await askInGroup();
        await link();
        expect(await waits(early.message.id)).toBe(false);
        await store.inbox.settle(early, { kind: 'sent' });
        await dropLink(store.links, KEY);
        const claim = await askInGroup();
        await store.inbox.completeSignIn(claim, { reply: 'Hint.', begins_at: null, private_run: null });
        expect(await waits(claim.message.id)).toBe(false);
        await link();
        expect(await queued()).toEqual([]);
      });

      it('is completed only under the claim of its message', async () => {
        const claim = await askInGroup();
        await store.inbox.settle(claim, { kind: 'given_back' });
        const hinted = { reply: 'Other', begins_at: null, private_run: null };
        expect(await store.inbox.completeSignIn(claim, hinted)).toBeNull();
        expect(await store.inbox.find(claim.message.id)).toMatchObject({ reply: 'Hint?', sign_in: HINT });
        expect(await waits(claim.message.id)).toBe(true);
      });
    });

    it('leaves no failed message behind if a hint cannot be sent', async () => {
      const hint = anInboxMessage({ message: null, session_id: null, reply: 'hint', is_hint: true });
      await store.inbox.enqueue([hint]);
      const [claim] = await store.inbox.claim('send', ['chat'], 1);
      if (claim) await store.inbox.settle(claim, { kind: 'failed', failure: 'refused' });
      expect(await store.inbox.find(hint.id)).toBeNull();
      expect(await store.inbox.nextDueAt('send', ['chat'])).toBeNull();
    });

    it('is not stored if its session has ended', async () => {
      const claim = await store.sessions.claim(sessionTag(session));
      await store.sessions.end(session.session_id);
      const waiting = aWaitingQuestion(session);
      const record = aTurn();
      if (claim)
        expect(
          await store.commitTurn(claim, {
            turn: { record, ttl_ms: HOUR },
            trace: aTrace(session),
            waits: waiting,
          }),
        ).toBe('session_ended');
      expect(await waits(waiting.message.rerun.turn_id)).toBe(false);
    });
  });
}

function inPrivate({ message: { message, ...others }, ...question }: NewWaitingQuestion): NewWaitingQuestion {
  return { ...question, message: { ...others, message: message && { ...message, shared: false } } };
}
