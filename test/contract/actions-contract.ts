import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { personKey } from '../../src/daemon/identity/identity.ts';
import { SEALED } from '../../src/daemon/identity/seal.ts';
import type { Session } from '../../src/daemon/session/session.ts';
import type {
  Action,
  NewAction,
  NewPendingAction,
  RunClaims,
} from '../../src/daemon/store/actions/actions.ts';
import { CLAIM_MS, type KeyClaim, type SessionClaim } from '../../src/daemon/store/claims/claims.ts';
import type { InboxClaim } from '../../src/daemon/store/inbox/inbox.ts';
import type { StoredToken } from '../../src/daemon/store/persons/stored-tokens.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { ada, anAction, anInboxMessage, aPendingAction, aSession, aTrace, aTurn, bob } from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { answerOne, beginConfirmed, callBoth, claimSession, saveSession, sweepAll } from './store-writes.ts';

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const DONE = { state: 'done', status: 200, answer: '{"ok":true}' } as const;
const UNKNOWN = { state: 'unknown', status: null, answer: null } as const;
const FAILED = { state: 'failed', status: 404, answer: null } as const;

/** Stores a session with a pending action. @returns the claim of the session, which is still held. */
async function commitPending(
  store: Store,
  session: Session,
  members: Partial<NewPendingAction> = {},
): Promise<{ claim: SessionClaim; action: NewPendingAction }> {
  const action = aPendingAction(session, members);
  const claim = await claimSession(store, action.session_tag);
  const turn = { record: aTurn(), ttl_ms: HOUR };
  const outcome = await store.commitTurn(claim, { session, turn, trace: aTrace(session), pending: [action] });
  if (outcome !== 'committed') throw new Error(`the turn was not committed: ${outcome}`);
  return { claim, action };
}

/** The contract of the journal of actions. */
export function describeActions(current: () => StoreUnderTest): void {
  describe('actions', () => {
    let test: StoreUnderTest;
    let store: Store;
    let session: Session;

    beforeEach(() => {
      test = current();
      store = test.store;
      session = aSession(test.now());
    });

    async function claimsOf(of = session): Promise<RunClaims> {
      return { session: await claimSession(store, of.session_id), key: null };
    }

    async function started(members: Partial<NewAction> = {}): Promise<NewAction> {
      const action = anAction(members);
      expect(await store.actions.start(null, action)).toEqual({ outcome: 'started' });
      return action;
    }

    const stateOf = async (action_id: string) => (await store.actions.find(action_id))?.state;

    describe('the journal', () => {
      it('records a write before it is sent and its outcome afterwards, and keeps both across a restart', async () => {
        const claims = await claimsOf();
        const action = anAction({ session_tag: session.session_id, session_id: session.session_id });
        expect(await store.actions.start(claims, action)).toEqual({ outcome: 'started' });
        const begun: Action = {
          ...action,
          ...{ state: 'started', principal: null, attempt: 1, status: null, answer: null },
          ...{ asked_at: null, expires_at: null, created_at: test.now(), started_at: test.now() },
          finished_at: null,
        };
        const restarted = await test.restart();
        expect(await restarted.actions.find(action.action_id)).toEqual(begun);
        test.advance(500);
        await restarted.actions.finish(action.action_id, 1, DONE);
        expect(await (await test.beside()).actions.find(action.action_id)).toEqual({
          ...begun,
          ...DONE,
          finished_at: test.now(),
        });
      });

      it('stores an action only once, however often it is started at the same time', async () => {
        const claims = await claimsOf();
        const action = anAction();
        const outcomes = await callBoth(test, 10, ({ actions }) => actions.start(claims, action));
        expect(outcomes.filter(({ outcome }) => outcome === 'started')).toHaveLength(1);
        expect(outcomes.filter(({ outcome }) => outcome === 'known')).toHaveLength(9);
      });

      it('stores nothing for an id that exists already, and returns the known action', async () => {
        const claims = await claimsOf();
        const action = await started({ turn_key: 'turn' });
        await store.actions.finish(action.action_id, 1, DONE);
        const again = await store.actions.start(claims, { ...action, tool: 'another' });
        expect(again).toMatchObject({ outcome: 'known', action: { ...DONE, tool: action.tool } });
        expect(await store.actions.ofTurn('turn')).toHaveLength(1);
      });

      it('finds the writes that were sent in a session, newest first', async () => {
        const members = { session_tag: session.session_id };
        const first = await started(members);
        await started({ session_tag: 'another' });
        const { claim, action: asked } = await commitPending(store, session);
        const second = await started(members);
        const sent = async () =>
          (await store.actions.sentIn(session.session_id)).map(({ action_id }) => action_id);
        expect(await sent()).toEqual([second.action_id, first.action_id]);
        await beginConfirmed(store, claim, asked.action_id, 'turn');
        expect(await sent()).toEqual([asked.action_id, second.action_id, first.action_id]);
        await store.actions.finish(first.action_id, 1, DONE);
        expect((await store.actions.sentIn(session.session_id)).at(-1)).toMatchObject(DONE);
        test.advance(90 * DAY + 1);
        expect(await sent()).toEqual([]);
      });

      it('knows whether a tool wrote lately in a session, which a failed write did not', async () => {
        const { session_id: session_tag } = session;
        const wrote = (tool = 'pay') => store.actions.wroteSince(session_tag, tool, HOUR);
        const { action_id } = await started({ session_tag, tool: 'pay' });
        expect([await wrote(), await wrote('another')]).toEqual([true, false]);
        expect(await store.actions.wroteSince('another', 'pay', HOUR)).toBe(false);
        await store.actions.finish(action_id, 1, FAILED);
        expect(await wrote()).toBe(false);
        await store.actions.finish(action_id, 1, DONE);
        test.advance(HOUR - 1);
        expect(await wrote()).toBe(true);
        test.advance(1);
        expect(await wrote()).toBe(false);
      });

      it('stores and restarts nothing without the claim of the session', async () => {
        const known = await started();
        const other = await test.another();
        const refused = async (claims: RunClaims) => {
          const action = anAction();
          expect(await store.actions.start(claims, action)).toEqual({ outcome: 'lost' });
          expect(await store.actions.restart(claims, known.action_id, 1)).toBe('lost');
          expect(await other.actions.find(action.action_id)).toBeNull();
          expect(await other.actions.find(known.action_id)).toMatchObject({ attempt: 1 });
        };
        const stale = await claimsOf();
        test.advance(CLAIM_MS);
        const released = { session: await claimSession(other, session.session_id), key: null };
        await refused(stale);
        await other.sessions.release(released.session);
        await refused(released);
      });

      it('stores nothing if the idempotency key was taken over or released', async () => {
        const { session: claim } = await claimsOf();
        const claimKey = async (at: Store): Promise<RunClaims> => {
          const found = await at.idempotency.claim('k', 'body');
          if (found.outcome !== 'new') throw new Error('the key was already claimed');
          return { session: claim, key: found.claim };
        };
        const stale = await claimKey(store);
        test.advance(CLAIM_MS);
        const claims = await claimKey(await test.another());
        expect(await store.actions.start(stale, anAction())).toEqual({ outcome: 'lost' });
        expect(await store.actions.start(claims, anAction())).toEqual({ outcome: 'started' });
        await store.idempotency.release(claims.key as KeyClaim);
        const late = anAction();
        expect(await store.actions.start(claims, late)).toEqual({ outcome: 'lost' });
        expect(await store.actions.restart(claims, late.action_id, 1)).toBe('lost');
        expect(await store.actions.find(late.action_id)).toBeNull();
      });

      it.each([DONE, FAILED, UNKNOWN])('keeps the outcome $state', async (outcome) => {
        const { action_id } = await started();
        await store.actions.finish(action_id, 1, outcome);
        expect(await store.actions.find(action_id)).toMatchObject(outcome);
      });

      it('replaces an unknown outcome when the outcome becomes known, but never replaces `done`', async () => {
        const { action_id } = await started();
        await store.actions.finish(action_id, 1, UNKNOWN);
        await store.actions.finish(action_id, 1, DONE);
        expect(await store.actions.find(action_id)).toMatchObject(DONE);
        for (const late of [UNKNOWN, FAILED, { ...DONE, status: 201 }])
          await store.actions.finish(action_id, 1, late);
        expect(await store.actions.find(action_id)).toMatchObject(DONE);
      });

      it('does not finish an action that was never started', async () => {
        await store.actions.finish('unknown', 1, DONE);
        expect(await store.actions.find('unknown')).toBeNull();
      });

      it('restarts a write with an unknown outcome, as the next attempt', async () => {
        const claims = await claimsOf();
        const { action_id } = await started();
        test.advance(1000);
        expect(await store.actions.restart(claims, action_id, 1)).toBe('started');
        expect(await store.actions.find(action_id)).toMatchObject({
          state: 'started',
          attempt: 2,
          started_at: test.now(),
          finished_at: null,
        });
        await store.actions.finish(action_id, 2, UNKNOWN);
        expect(await store.actions.restart(claims, action_id, 2)).toBe('started');
        expect(await store.actions.restart(claims, action_id, 2)).toBe('gone');
        await store.actions.finish(action_id, 3, DONE);
        expect(await store.actions.restart(claims, action_id, 3)).toBe('gone');
        expect(await store.actions.restart(claims, 'unknown', 1)).toBe('gone');
      });

      it('accepts only the outcome `done` from an earlier attempt', async () => {
        const claims = await claimsOf();
        const { action_id } = await started();
        await store.actions.restart(claims, action_id, 1);
        for (const late of [UNKNOWN, FAILED]) await store.actions.finish(action_id, 1, late);
        expect(await stateOf(action_id)).toBe('started');
        await store.actions.finish(action_id, 2, FAILED);
        expect(await stateOf(action_id)).toBe('failed');
        await store.actions.finish(action_id, 1, DONE);
        expect(await stateOf(action_id)).toBe('done');
      });

      it('lists the writes that a turn has begun, oldest first', async () => {
        const first = await started({ turn_key: 'turn' });
        await started({ turn_key: 'another' });
        const second = await started({ turn_key: 'turn' });
        await commitPending(store, session, { turn_key: 'turn' });
        const listed = await store.actions.ofTurn('turn');
        expect(listed.map(({ action_id }) => action_id)).toEqual([first.action_id, second.action_id]);
      });

      it('keeps an action for ACTIONS_RETENTION_DAYS, and not longer', async () => {
        const old = await started();
        test.advance(DAY);
        const young = await started();
        test.advance(89 * DAY);
        await sweepAll(store);
        expect(await store.actions.find(old.action_id)).toBeNull();
        expect(await store.actions.find(young.action_id)).not.toBeNull();
      });
    });

    describe('the list', () => {
      const ids = (actions: readonly Action[]) => actions.map(({ action_id }) => action_id);

      it('has the newest action first, and no more actions than the limit', async () => {
        const all = [await started(), await started(), await started()];
        expect(ids(await store.actions.list({ limit: 2 }))).toEqual(
          all
            .map(({ action_id }) => action_id)
            .reverse()
            .slice(0, 2),
        );
      });

      it('has the writes of a person, or of a platform’s user, and of nobody else', async () => {
        const tenant = personKey({ sub: 'ada', tenant_id: 'other' });
        const of = { platform: 'chat', user_id: 'u1' };
        const one = await started({ ...of, person: ada });
        const two = await started({ ...of, person: null });
        await started({ ...of, person: tenant, user_id: 'u2' });
        await started({ ...of, person: bob, platform: 'mail' });
        const list = async (who: NonNullable<Parameters<Store['actions']['list']>[0]['who']>) =>
          ids(await store.actions.list({ who, limit: 10 }));
        expect(await list({ person: ada })).toEqual([one.action_id]);
        expect(await list(of)).toEqual([two.action_id, one.action_id]);
        expect(await list({ ...of, nobodys: true })).toEqual([two.action_id]);
        expect(await list({ platform: 'mail', user_id: 'u2' })).toEqual([]);
      });

      it('has the writes of a session, found by its tag or by its id at the time of the write', async () => {
        const { action_id } = await started({ session_tag: 'tag', session_id: 'id' });
        await started({ session_tag: 'other', session_id: 'other' });
        for (const name of ['tag', 'id'])
          expect(ids(await store.actions.list({ session: name, limit: 10 }))).toEqual([action_id]);
      });

      it('has the writes that were sent since a given time', async () => {
        await started();
        test.advance(1000);
        const { action_id } = await started();
        expect(ids(await store.actions.list({ since: test.now(), limit: 10 }))).toEqual([action_id]);
      });

      it('has no action that was never sent', async () => {
        const { claim, action } = await commitPending(store, session);
        expect(await store.actions.list({ limit: 10 })).toEqual([]);
        await answerOne(store, claim, action.action_id, 'declined', 't');
        expect(await store.actions.list({ limit: 10 })).toEqual([]);
      });
    });

    describe('that are pending', () => {
      const confirm = (claim: SessionClaim, action_id: string, at = store) =>
        answerOne(at, claim, action_id, 'confirmed', 'confirming');

      it('are stored with their turn, and survive a restart', async () => {
        const { action } = await commitPending(store, session, { answer_ms: HOUR / 4 });
        const { asked_by: _, answer_ms, unasked_ms: __, ...stored } = action;
        const restarted = await test.restart();
        expect(await restarted.actions.pendingIn(action.session_tag)).toEqual([
          {
            ...stored,
            ...{ state: 'pending', attempt: 0, status: null, answer: null },
            ...{ asked_at: test.now(), expires_at: test.now() + answer_ms, created_at: test.now() },
            seen_replies: [{ at: test.now(), asks: true }],
            ...{ started_at: null, finished_at: null },
          },
        ]);
      });

      it('are not stored if the turn is not stored', async () => {
        const action = aPendingAction(session);
        const claim = await claimSession(store, action.session_tag);
        await store.sessions.release(claim);
        const changes = { session, trace: aTrace(session), pending: [action] };
        expect(await store.commitTurn(claim, changes)).toBe('lost');
        expect(await store.actions.find(action.action_id)).toBeNull();
      });

      it('are not stored if the session has ended meanwhile', async () => {
        await saveSession(store, session);
        const action = aPendingAction(session);
        const claim = await claimSession(store, action.session_tag);
        await store.sessions.end(session.session_id);
        const turn = { record: aTurn(), ttl_ms: HOUR };
        expect(await store.commitTurn(claim, { turn, trace: aTrace(session), pending: [action] })).toBe(
          'session_ended',
        );
        expect(await store.actions.find(action.action_id)).toBeNull();
      });

      it('are limited to one for each principal of a session: a later action replaces the earlier one', async () => {
        const { claim, action } = await commitPending(store, session, { principal: ada });
        const others = aPendingAction(session, { principal: bob });
        const later = aPendingAction(session, { principal: ada });
        for (const pending of [others, later])
          await store.commitTurn(claim, { trace: aTrace(session), pending: [pending] });
        expect(await stateOf(action.action_id)).toBe('withdrawn');
        expect(await store.actions.pendingIn(action.session_tag)).toMatchObject([
          { action_id: others.action_id },
          { action_id: later.action_id },
        ]);
        expect(await store.actions.pendingIn('another')).toEqual([]);
      });

      it('are started only once, and then belong to the turn that confirms them', async () => {
        const { claim, action } = await commitPending(store, session);
        test.advance(1000);
        const start = () => store.actions.settle(claim, action.action_id, 'started', 'confirming');
        expect(await start()).toBe('gone');
        expect(await confirm(claim, action.action_id)).toBe('settled');
        expect(await start()).toBe('settled');
        expect(await store.actions.ofTurn('confirming')).toMatchObject([
          { action_id: action.action_id, state: 'started', attempt: 1, started_at: test.now() },
        ]);
        expect([await start(), await confirm(claim, action.action_id)]).toEqual(['gone', 'gone']);
        expect(await store.actions.pendingIn(action.session_tag)).toEqual([]);
        await store.actions.finish(action.action_id, 1, DONE);
        expect(await store.actions.list({ limit: 1 })).toMatchObject([
          { action_id: action.action_id, ...DONE },
        ]);
      });

      it.each(['declined', 'withdrawn'] as const)('are %s only once', async (state) => {
        const { claim, action } = await commitPending(store, session);
        const end = () =>
          state === 'declined'
            ? answerOne(store, claim, action.action_id, state, 'ending')
            : store.actions.settle(claim, action.action_id, state, 'ending');
        expect(await end()).toBe('settled');
        expect(await store.actions.ofTurn('ending')).toMatchObject([
          { state, started_at: null, finished_at: test.now() },
        ]);
        expect([await end(), await confirm(claim, action.action_id)]).toEqual(['gone', 'gone']);
        expect(await stateOf(action.action_id)).toBe(state);
      });

      it('are answered only under the claim of their session', async () => {
        const { claim, action } = await commitPending(store, session);
        const other = aSession(test.now());
        await saveSession(store, other);
        const others = await claimSession(store, other.session_id);
        expect(await confirm(others, action.action_id)).toBe('gone');
        expect(await confirm(others, 'unknown')).toBe('gone');
        test.advance(CLAIM_MS);
        const peer = await test.another();
        const next = await claimSession(peer, session.session_id);
        expect(await confirm(claim, action.action_id)).toBe('lost');
        expect(await stateOf(action.action_id)).toBe('pending');
        expect(await confirm(next, action.action_id, peer)).toBe('settled');
      });

      it('are answered by only one of several messages at the same time', async () => {
        const { claim, action } = await commitPending(store, session);
        const outcomes = await callBoth(test, 4, (at, n) =>
          answerOne(at, claim, action.action_id, n === 2 ? 'declined' : 'confirmed', `t${n}`),
        );
        expect(outcomes.sort()).toEqual(['gone', 'gone', 'gone', 'settled']);
      });

      it('expire when the time for the answer has passed', async () => {
        const { claim, action } = await commitPending(store, session, { answer_ms: 1000 });
        test.advance(999);
        expect(await stateOf(action.action_id)).toBe('pending');
        test.advance(1);
        expect(await stateOf(action.action_id)).toBe('expired');
        expect(await store.actions.pendingIn(action.session_tag)).toEqual([]);
        expect(await confirm(claim, action.action_id)).toBe('gone');
        await store.actions.withdraw({ session_tag: action.session_tag });
        expect(await stateOf(action.action_id)).toBe('expired');
      });

      it('can be withdrawn by id, while other actions of the session stay pending', async () => {
        const { claim, action } = await commitPending(store, session, { principal: ada });
        const other = aPendingAction(session, { principal: bob });
        await store.commitTurn(claim, { trace: aTrace(session), pending: [other] });
        await store.actions.withdraw({ action_id: action.action_id });
        expect([await stateOf(action.action_id), await stateOf(other.action_id)]).toEqual([
          'withdrawn',
          'pending',
        ]);
      });

      it('stay pending at a sign-in if they belong to the person who signs in', async () => {
        const { claim, action } = await commitPending(store, session, { principal: ada, person: ada });
        const others = [
          aPendingAction(session, { principal: bob, person: bob }),
          aPendingAction(session, { principal: 'chat:u1', person: null }),
        ];
        for (const pending of others)
          await store.commitTurn(claim, { trace: aTrace(session), pending: [pending] });
        await store.actions.withdraw({ platform: 'chat', user_id: 'u1', keep: ada });
        expect(await store.actions.pendingIn(action.session_tag)).toMatchObject([{ person: ada }]);
      });

      it('are withdrawn for a whole session, or for a user of a platform', async () => {
        const { action } = await commitPending(store, session);
        const others = aSession(test.now(), { user_id: 'u2' });
        const { action: other } = await commitPending(store, others);
        await store.actions.withdraw({ session_tag: action.session_tag });
        expect([await stateOf(action.action_id), await stateOf(other.action_id)]).toEqual([
          'withdrawn',
          'pending',
        ]);
        await store.actions.withdraw({ platform: 'mail', user_id: 'u2' });
        expect(await stateOf(other.action_id)).toBe('pending');
        await store.actions.withdraw({ platform: 'chat', user_id: 'u2' });
        expect(await stateOf(other.action_id)).toBe('withdrawn');
      });

      it('are withdrawn when an administrator ends the session', async () => {
        const { action } = await commitPending(store, session);
        await (await test.beside()).sessions.end(session.session_id);
        expect(await stateOf(action.action_id)).toBe('withdrawn');
      });

      it('are withdrawn when the session is replaced', async () => {
        const { claim, action } = await commitPending(store, session);
        expect(await store.sessions.save(claim, aSession(test.now(), session), 'replaced')).toBe('saved');
        expect(await stateOf(action.action_id)).toBe('withdrawn');
        expect(await store.actions.pendingIn(action.session_tag)).toEqual([]);
      });

      it('end when their session expires', async () => {
        const { claim, action } = await commitPending(store, session, { answer_ms: 2 * HOUR });
        test.advance(HOUR);
        expect(await store.actions.pendingIn(action.session_tag)).toEqual([]);
        expect(await confirm(claim, action.action_id)).toBe('gone');
        await store.sessions.save(claim, aSession(test.now(), { session_id: session.session_id }), 'new');
        expect(await store.actions.pendingIn(action.session_tag)).toEqual([]);
        expect(await stateOf(action.action_id)).toBe('withdrawn');
      });

      it('stay pending when sign-in changes the id of the session', async () => {
        const { claim, action } = await commitPending(store, session);
        const found = await store.sessions.find(session.session_id);
        const renamed = { ...session, ...found, session_id: randomUUID(), former_id: session.session_id };
        expect(await store.sessions.save(claim, renamed, 'changed')).toBe('saved');
        expect(await store.actions.pendingIn(action.session_tag)).toHaveLength(1);
        expect(await confirm(claim, action.action_id)).toBe('settled');
      });
    });

    describe('that a reply of the inbox asks the person to confirm', () => {
      const ANSWER = 900_000;

      async function replied(): Promise<{ inbox: InboxClaim; action: NewPendingAction }> {
        const { session_id } = session;
        await store.inbox.enqueue([anInboxMessage({ session_id, queue: session_id })]);
        const [inbox] = (await store.inbox.claim('run', ['chat'], 1)) as [InboxClaim];
        const asked_by = inbox.message.id;
        const action = aPendingAction(session, { asked_by, answer_ms: ANSWER, unasked_ms: 2 * ANSWER });
        const claim = await claimSession(store, session_id);
        const turn = { record: aTurn(), ttl_ms: 24 * HOUR };
        const reply = { claim: inbox, text: 'Cancel order 7?' };
        await store.commitTurn(claim, { session, turn, trace: aTrace(session), reply, pending: [action] });
        await store.sessions.release(claim);
        return { inbox, action };
      }

      it('do not count as asked when the reply is committed', async () => {
        const { action } = await replied();
        expect(await store.actions.find(action.action_id)).toMatchObject({
          state: 'pending',
          asked_at: null,
          expires_at: test.now() + 2 * ANSWER,
        });
      });

      it('count as asked when the reply has been sent: only then does the time for the answer begin', async () => {
        const { inbox, action } = await replied();
        test.advance(ANSWER);
        expect(await store.inbox.settle(inbox, { kind: 'sent' })).toBe(true);
        const asked = { state: 'pending', asked_at: test.now(), expires_at: test.now() + ANSWER };
        expect(await store.actions.find(action.action_id)).toMatchObject(asked);
        test.advance(ANSWER);
        expect(await stateOf(action.action_id)).toBe('expired');
      });

      it('do not count as asked if an attempt to send the reply failed or was given back', async () => {
        const { inbox, action } = await replied();
        await store.inbox.settle(inbox, { kind: 'again', wait_ms: 0, failure: 'x', counts: true });
        const [next] = (await store.inbox.claim('send', ['chat'], 1)) as [InboxClaim];
        await store.inbox.settle(next, { kind: 'given_back' });
        expect(await store.actions.find(action.action_id)).toMatchObject({
          state: 'pending',
          asked_at: null,
        });
      });

      it('are withdrawn if the reply cannot be sent', async () => {
        const { inbox, action } = await replied();
        await store.inbox.settle(inbox, { kind: 'failed', failure: 'delivery_failed' });
        expect(await stateOf(action.action_id)).toBe('withdrawn');
      });

      it('are withdrawn if the reply has waited for too long', async () => {
        const { inbox, action } = await replied();
        await store.inbox.settle(inbox, { kind: 'again', wait_ms: 0, failure: 'x', counts: true });
        expect(await store.inbox.expire('chat', test.now(), 'too late')).toBe(1);
        expect(await stateOf(action.action_id)).toBe('withdrawn');
      });

      it('are withdrawn if an administrator discards the message', async () => {
        const { inbox, action } = await replied();
        await (await test.beside()).inbox.discard(inbox.message.id);
        expect(await stateOf(action.action_id)).toBe('withdrawn');
      });

      it('stay pending if the message is discarded after the reply was sent', async () => {
        const { inbox, action } = await replied();
        await store.inbox.settle(inbox, { kind: 'sent' });
        await store.inbox.discard(inbox.message.id);
        expect(await stateOf(action.action_id)).toBe('pending');
      });
    });

    describe('their texts', () => {
      it('are listed if they are not sealed, and can be replaced', async () => {
        const { action_id } = await started({ args: '{"id":7}', summary: 'Cancel order 7' });
        await store.actions.finish(action_id, 1, DONE);
        await started({ args: `${SEALED}a.b`, summary: `${SEALED}a.c` });
        const texts: StoredToken[] = [];
        for await (const some of store.storedTokens(SEALED)) {
          texts.push(...some);
          for (const one of some) expect(await store.replaceToken(one, `${SEALED}x.${one.token}`)).toBe(true);
        }
        expect(texts.map((one) => one.kind === 'action' && one.field)).toEqual(['answer', 'summary', 'args']);
        expect(await store.actions.find(action_id)).toMatchObject({
          args: `${SEALED}x.{"id":7}`,
          summary: `${SEALED}x.Cancel order 7`,
          answer: `${SEALED}x.${DONE.answer}`,
        });
        const [first] = texts as [StoredToken];
        expect(await store.replaceToken(first, 'late')).toBe(false);
        const left: StoredToken[] = [];
        for await (const some of store.storedTokens(SEALED)) left.push(...some);
        expect(left).toEqual([]);
      });

      it('of one action count as one, however many of them are sealed', async () => {
        const mark = `${SEALED}keykey_1.`;
        await started({ args: `${mark}b`, summary: `${mark}c` });
        await started({ args: `${mark}d`, summary: 'plain' });
        expect((await store.countSeals()).get(mark)).toEqual({ texts: 3, tokens: 2 });
      });
    });
  });
}
