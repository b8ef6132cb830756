import { beforeEach, describe, expect, it } from 'vitest';
import type { ReplyToAsked } from '../../src/daemon/store/actions/actions.ts';
import type { SessionClaim } from '../../src/daemon/store/claims/claims.ts';
import type { InboxClaim } from '../../src/daemon/store/inbox/inbox.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { anInboxMessage, aPendingAction, aSession, aTrace, aTurn } from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { claimSession } from './store-writes.ts';

const HOUR = 60 * 60 * 1000;

/** The contract of questions that ask about several actions. */
export function describeQuestions(current: () => StoreUnderTest): void {
  describe('questions about several actions', () => {
    let test: StoreUnderTest;
    let store: Store;
    let claim: SessionClaim;
    const session_id = 'asked';
    const ids = ['q:1', 'q:2', 'q:3'];

    beforeEach(async () => {
      test = current();
      store = test.store;
      const session = aSession(test.now(), { session_id });
      claim = await claimSession(store, session_id);
      const pending = ids.map((action_id) => aPendingAction(session, { action_id, answer_ms: HOUR / 4 }));
      const turn = { record: aTurn(), ttl_ms: HOUR };
      const changes = { session, turn, trace: aTrace(session), pending };
      expect(await store.commitTurn(claim, changes)).toBe('committed');
    });

    const states = async (of = store) => (await of.actions.ofQuestion('q')).map(({ state }) => state);
    const answer = (confirmed: string[], declined: string[], under = claim) =>
      store.actions.answer(under, { confirmed, declined, answered_at: 7 }, 'answering');

    it('are found by their id, in order', async () => {
      const found = await store.actions.ofQuestion('q');
      expect(found.map(({ action_id }) => action_id)).toEqual(ids);
      expect(await store.actions.ofQuestion('q:1')).toEqual([]);
      expect(await store.actions.ofQuestion('unknown')).toEqual([]);
    });

    /** Sends the reply that asks the question. @returns the id of its message */
    async function show(card_id = 'c:1'): Promise<string> {
      const stored = { id: 'q', begins_at: 0, confirm: 'Yes', decline: 'No' };
      const message = anInboxMessage({ session_id, reply: 'Sure?', question: stored });
      await store.inbox.enqueue([message]);
      const [sending] = await store.inbox.claim('send', ['chat'], 1);
      await store.inbox.settle(sending as InboxClaim, { kind: 'sent', card_id });
      return message.id;
    }
    /** The messages on the platform whose buttons are to be taken away now. */
    const closing = async (of = store) =>
      (await of.inbox.list({ states: ['replied'], limit: 9 })).map(({ closes }) => closes);
    const commit = async (answered_question: string) => {
      const session = aSession(test.now(), { session_id });
      await store.commitTurn(claim, { trace: aTrace(session), answered_question });
    };

    it('lose their buttons with the commit of the answer, once, also after a restart', async () => {
      const message_id = await show();
      await commit('q');
      // Nobody has answered.
      expect(await closing()).toEqual([]);
      await answer(['q:1'], ['q:2', 'q:3']);
      expect(await closing()).toEqual([]);
      await commit('another');
      expect(await closing()).toEqual([]);
      await commit('q');
      await commit('q');
      const restarted = await test.restart();
      expect(await closing(restarted)).toEqual([{ message_id, sent_id: 'c:1' }]);
      expect((await restarted.inbox.take(['chat'], { run: 1, send: 9, idle: true })).claims).toHaveLength(1);
    });

    it('lose their buttons when they are withdrawn, in each message that shows them', async () => {
      const shown = [await show('c:1'), await show('c:2')];
      await store.actions.withdraw({ session_tag: session_id });
      const closed = (await closing()).map((one) => one?.message_id);
      expect(closed.sort()).toEqual(shown.sort());
    });

    it('lose their buttons after they have expired, but not while their calls are made', async () => {
      await show();
      test.advance(HOUR / 4 - 1000);
      await store.inbox.reap();
      expect(await closing()).toEqual([]);
      await answer(ids, []);
      await store.actions.settle(claim, 'q:1', 'started', 'answering');
      test.advance(2000);
      await store.inbox.reap();
      expect(await closing()).toEqual([]);
      test.advance(HOUR / 4);
      await store.inbox.reap();
      expect(await closing()).toHaveLength(1);
    });

    it('that were withdrawn before they were shown lose their buttons at once', async () => {
      await store.actions.withdraw({ session_tag: session_id });
      await show();
      expect(await closing()).toHaveLength(1);
    });

    it('are answered once, for each action, and the answer survives a restart', async () => {
      expect(await answer(['q:1', 'q:3'], ['q:2'])).toBe('settled');
      expect(await answer(['q:1', 'q:3'], ['q:2'])).toBe('gone');
      expect(await store.actions.pendingIn(session_id)).toEqual([]);
      const restarted = await test.restart();
      expect(await states(restarted)).toEqual(['confirmed', 'declined', 'confirmed']);
      const mine = await restarted.actions.ofTurn('answering');
      expect(mine.map(({ action_id }) => action_id)).toEqual(ids);
    });

    it('are answered with the begin of the first call, in one step', async () => {
      const given = { confirmed: ['q:1', 'q:2'], declined: ['q:3'], begun: 'q:1', answered_at: 7 };
      expect(await store.actions.answer(claim, given, 'answering')).toBe('settled');
      expect(await store.actions.answer(claim, given, 'answering')).toBe('gone');
      const restarted = await test.restart();
      expect(await states(restarted)).toEqual(['started', 'confirmed', 'declined']);
      expect(await restarted.actions.sentIn(session_id)).toMatchObject([{ action_id: 'q:1', attempt: 1 }]);
    });

    it('are not answered at all if one action is no longer pending', async () => {
      await store.actions.withdraw({ action_id: 'q:2' });
      expect(await answer(['q:1', 'q:2'], ['q:3'])).toBe('gone');
      expect(await states()).toEqual(['pending', 'withdrawn', 'pending']);
    });

    it('are not answered after they have expired, or without the claim of their session', async () => {
      const others = await claimSession(store, 'another');
      expect(await answer(ids, [], others)).toBe('gone');
      test.advance(HOUR / 4);
      expect(await answer(ids, [])).toBe('gone');
      expect(await states()).toEqual(['expired', 'expired', 'expired']);
      await store.sessions.release(claim);
      expect(await answer(ids, [])).toBe('lost');
    });

    it('have confirmed actions that only the turn which recorded the answer starts or withdraws', async () => {
      await answer(['q:1', 'q:2'], ['q:3']);
      expect(await store.actions.settle(claim, 'q:1', 'started', 'another')).toBe('gone');
      expect(await store.actions.settle(claim, 'q:1', 'started', 'answering')).toBe('settled');
      expect(await store.actions.settle(claim, 'q:2', 'withdrawn', 'answering')).toBe('settled');
      expect(await store.actions.settle(claim, 'q:3', 'started', 'answering')).toBe('gone');
      expect(await states()).toEqual(['started', 'withdrawn', 'declined']);
    });

    it('have confirmed actions that are not started after the session has ended', async () => {
      await answer(ids, []);
      await store.sessions.end(session_id);
      expect(await store.actions.settle(claim, 'q:1', 'started', 'answering')).not.toBe('settled');
      expect(await states()).toEqual(['confirmed', 'confirmed', 'confirmed']);
    });

    describe('and the replies to the person who was asked', () => {
      const asksAgain = { repeats: { question_id: 'q', counts: true }, withdraws: null };
      const asksNothing = { repeats: null, withdraws: null };
      async function reply(
        about: Pick<ReplyToAsked, 'repeats' | 'withdraws'>,
        principal = asked,
        sent_by?: InboxClaim,
      ) {
        test.advance(1000);
        const sent = sent_by ? { reply: { claim: sent_by, text: 'reply' } } : {};
        const reply_to_asked = { ...about, principal, sent_by: sent_by?.message.id ?? null };
        const turn = { record: aTurn(), ttl_ms: HOUR };
        await store.commitTurn(claim, { turn, trace: aTrace(null), reply_to_asked, ...sent });
      }
      const first = async () => (await store.actions.ofQuestion('q'))[0];
      const seen = async () => (await first())?.seen_replies?.map(({ asks }) => asks);
      let asked: string;
      beforeEach(async () => {
        asked = (await first())?.principal ?? '';
      });

      it('are remembered: whether each ended with the question, and how many asked again', async () => {
        await reply(asksNothing, 'somebody else');
        expect(await seen()).toEqual([true]);
        await reply(asksAgain);
        await reply(asksNothing);
        await reply(asksNothing);
        await reply(asksAgain);
        expect(await seen()).toEqual([true, false, true]);
        expect(await first()).toMatchObject({ repeats: 2 });
        const restarted = await test.restart();
        expect((await restarted.actions.ofQuestion('q')).map(({ repeats }) => repeats)).toEqual([2, 2, 2]);
      });

      it('may withdraw the question', async () => {
        await reply({ repeats: null, withdraws: 'another' });
        expect(await states()).toEqual(['pending', 'pending', 'pending']);
        await reply({ repeats: null, withdraws: 'q' });
        expect(await states()).toEqual(['withdrawn', 'withdrawn', 'withdrawn']);
      });

      it('count from the time when they were sent, or not at all', async () => {
        const message = anInboxMessage({ platform: 'chat' });
        for (const outcome of ['failed', 'sent'] as const) {
          await store.inbox.enqueue([{ ...message, id: outcome, message_id: outcome, queue: outcome }]);
          const [taken] = await store.inbox.claim('run', ['chat'], 1);
          if (!taken) throw new Error('nothing is claimed');
          await reply(asksNothing, asked, taken);
          expect(await seen()).toEqual([true]);
          const end =
            outcome === 'sent' ? { kind: 'sent' as const } : { kind: 'failed' as const, failure: 'x' };
          await store.inbox.settle(taken, end);
        }
        expect(await seen()).toEqual([true, false]);
        expect(await states()).toEqual(['pending', 'pending', 'pending']);
      });

      it('count by themselves if several were stored before one was sent', async () => {
        const message = anInboxMessage({ platform: 'chat' });
        const queues = ['quiet', 'asking'];
        await store.inbox.enqueue(queues.map((id) => ({ ...message, id, message_id: id, queue: id })));
        const [quiet, asking] = await store.inbox.claim('run', ['chat'], 2);
        if (!quiet || !asking) throw new Error('nothing is claimed');
        await reply(asksNothing, asked, quiet);
        await reply(asksAgain, asked, asking);
        await store.inbox.settle(quiet, { kind: 'sent' });
        expect(await seen()).toEqual([true, false]);
        await store.inbox.settle(asking, { kind: 'sent' });
        expect(await seen()).toEqual([true, false, true]);
      });

      it('end an expired question that was the last that the person had read', async () => {
        test.advance(HOUR / 4);
        await store.sessions.release(claim);
        const begun = await store.beginTurn(session_id, session_id, null);
        expect(begun?.lapsed.map(({ action_id }) => action_id)).toEqual(ids);
        expect(begun?.pending).toEqual([]);
        claim = begun?.claim ?? claim;
        await reply(asksNothing);
        await store.sessions.release(claim);
        expect((await store.beginTurn(session_id, session_id, null))?.lapsed).toEqual([]);
      });
    });

    it('that were declined are remembered for 10 minutes', async () => {
      await answer(['q:1'], ['q:2', 'q:3']);
      const declined = async () => {
        await store.sessions.release(claim);
        const begun = await store.beginTurn(session_id, session_id, null);
        claim = begun?.claim ?? claim;
        return begun?.declined.map(({ action_id, answered_at }) => [action_id, answered_at]);
      };
      test.advance(HOUR / 6 - 1);
      expect(await declined()).toEqual([
        ['q:2', 7],
        ['q:3', 7],
      ]);
      test.advance(1);
      expect(await declined()).toEqual([]);
    });
  });
}
