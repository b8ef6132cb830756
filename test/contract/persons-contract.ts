import { beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/channel/index.ts';
import { guardUser } from '../../src/daemon/message/keys.ts';
import {
  countRecords,
  type PersonSelector,
  type PersonStore,
} from '../../src/daemon/store/persons/persons.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import type { TraceRecord } from '../../src/daemon/trace/trace-record.ts';
import {
  aResident,
  fillAsPerson,
  fillAsUser,
  PLATFORM,
  speakInThread,
  THREAD,
} from '../support/person-world.ts';
import {
  anAction,
  anInboxMessage,
  aSession,
  aStream,
  aTrace,
  aTurn,
  aWaitingQuestion,
  GUARD_LIMITS,
} from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { commitUnderClaim, keepTurn, saveSession, storeReply } from './store-writes.ts';

const HOUR = 60 * 60 * 1000;

const EVERY_OTHER = {
  summaries: 1,
  traces: expect.any(Number),
  streams: 1,
  answers: 1,
  seen_messages: 0,
  guard: 3,
  limits: 2,
  budgets: 1,
  link_codes: 2,
  feedback: 1,
  recordings: 1,
  waiting_questions: 1,
};

/** The contract of the port `persons`, for backends that have it. */
export function describePersons(current: () => StoreUnderTest): void {
  describe('persons', () => {
    const ada = aResident('Ada');
    const bob = aResident('Bob');
    const cleo = aResident('Cleo');
    let test: StoreUnderTest;
    let store: Store;

    beforeEach(async () => {
      test = current();
      store = test.store;
    });

    /**
     * Stores data of Ada and Bob, both as signed-in persons and as users of a platform. Returns null if the backend
     * does not have the port.
     */
    async function fill(): Promise<PersonStore | null> {
      if (store.persons === null) return null;
      for (const one of [ada, bob]) {
        await fillAsPerson(store, test.now(), one);
        await fillAsUser(store, test.now(), one);
      }
      return (await test.beside()).persons;
    }

    const asPerson = ({ person, user_id }: typeof ada): PersonSelector => ({
      person,
      link_keys: [`${PLATFORM}:jwt:${user_id}`],
    });
    const asUser = ({ user_id }: typeof ada): PersonSelector => ({ platform: PLATFORM, user_id });

    it('shows the stored data of every kind about a person', async () => {
      const persons = await fill();
      if (persons === null) return;
      const { sessions, links, actions, inbox, others } = await persons.show(asPerson(ada));
      expect(
        sessions.map(({ session, turns, shared }) => [session.session_id, turns.length, shared]),
      ).toEqual([[`s-${ada.canary}`, 2, false]]);
      expect(links.map(({ key }) => key)).toEqual([`${PLATFORM}:jwt:${ada.user_id}`]);
      expect(actions).toHaveLength(2);
      // The text about the link, the guard and wrong codes also count for the linked user.
      expect(inbox).toMatchObject([{ link_change: 'replaced' }]);
      expect(others).toEqual({ ...EVERY_OTHER, guard: 4, link_codes: 3 });
    });

    it("shows the stored data of every kind about a platform's user", async () => {
      const persons = await fill();
      if (persons === null) return;
      const { sessions, links, actions, inbox, others } = await persons.show(asUser(ada));
      const named = sessions.map(({ session, turns, shared }) => [session.session_id, turns.length, shared]);
      expect(named.sort()).toEqual([
        [`dm:${ada.user_id}`, 1, false],
        [THREAD, 1, true],
      ]);
      expect(links).toHaveLength(1);
      expect(actions).toHaveLength(1);
      expect(inbox).toHaveLength(4);
      expect(others).toEqual({
        ...EVERY_OTHER,
        streams: 0,
        limits: 0,
        seen_messages: 2,
        guard: 2,
        link_codes: 2,
      });
    });

    it.each([
      ['a person', asPerson],
      ["a platform's user", asUser],
    ])('erases all data about %s, and no data about anybody else', async (_, selector) => {
      const persons = await fill();
      if (persons === null) return;
      const before = await persons.show(selector(bob));
      const found = await persons.show(selector(ada));
      expect(await persons.erase(selector(ada))).toEqual(found);
      expect(countRecords(await persons.show(selector(ada)))).toBe(0);
      expect(withoutTies(await persons.show(selector(bob)))).toEqual(withoutTies(before));
      expect((await store.sessions.find(`dm:${bob.user_id}`))?.user_id).toBe(bob.user_id);
    });

    it("keeps others' turns in a shared thread, but not the id of the erased person who opened it", async () => {
      const persons = await fill();
      if (persons === null) return;
      await speakInThread(store, test.now(), ada, ada.person);
      await speakInThread(store, test.now(), bob, bob.person);
      await persons.erase(asUser(ada));
      const turns = await store.sessions.turns(THREAD);
      expect(turns.map(({ turn_id }) => turn_id)).toEqual([
        `turn-${bob.canary}-nobody`,
        `turn-${bob.canary}-person`,
      ]);
      expect(await store.sessions.find(THREAD)).toMatchObject({ user_id: 'erased', owner: null });
      // Others can still write in the thread.
      await speakInThread(store, test.now(), aResident('Cleo'), null);
      expect(await store.sessions.turns(THREAD)).toHaveLength(3);
    });

    it("keeps others' turns without sign-in in a thread that belongs to the erased person", async () => {
      if (store.persons === null) return;
      const { person, user_id } = ada;
      const thread = aSession(test.now(), { platform: PLATFORM, owner: person, user_id });
      await saveSession(store, thread);
      const others = await keepTurn(store, thread, { user_id: bob.user_id });
      await keepTurn(store, thread, { user_id, person });
      await store.persons.erase(asPerson(ada));
      const left = await store.sessions.turns(thread.session_id);
      expect(left.map(({ turn_id }) => turn_id)).toEqual([others.turn_id]);
      expect(await store.sessions.find(thread.session_id)).toMatchObject({ owner: null });
      const other = { ...thread, session_id: 'opened', owner: cleo.person };
      await saveSession(store, other);
      await keepTurn(store, other, { user_id: bob.user_id });
      await store.persons.erase(asUser(ada));
      expect(await store.sessions.find('opened')).toMatchObject({ user_id: 'erased', owner: null });
    });

    it("removes the sign-in of the erased person from others' threads, even if no turn was stored", async () => {
      if (store.persons === null) return;
      const jwt_context = { has_jwt: true as const, user_id: 'a', email: 'a', token: 't', token_exp: '2031' };
      const thread = aSession(test.now(), {
        ...{ platform: PLATFORM, owner: bob.person, user_id: bob.user_id, metadata: { jwt_context } },
        credential_owner: { user_id: ada.user_id, person: ada.person },
      });
      await saveSession(store, thread);
      await keepTurn(store, thread, { user_id: bob.user_id, person: bob.person });
      await store.persons.erase({ person: ada.person, link_keys: [] });
      expect(await store.sessions.find(thread.session_id)).toMatchObject({
        ...{ owner: bob.person, metadata: {}, credential_owner: null },
      });
    });

    it('shows a person nothing that ties a shared thread to the other who opened it', async () => {
      if (store.persons === null) return;
      const jwt_context = { has_jwt: true as const, user_id: 'b', email: 'b', token: 't', token_exp: '2031' };
      const thread = aSession(test.now(), {
        ...{ platform: PLATFORM, owner: bob.person, user_id: bob.user_id, metadata: { jwt_context } },
        credential_owner: { user_id: bob.user_id, person: bob.person },
      });
      await saveSession(store, thread);
      await keepTurn(store, thread, { user_id: bob.user_id, person: bob.person });
      await keepTurn(store, thread, { user_id: ada.user_id, person: ada.person });
      const { sessions } = await store.persons.show({ person: ada.person, link_keys: [] });
      const [shown] = sessions.map(({ session }) => session);
      expect([sessions.length, shown?.owner, shown?.credential_owner, shown?.metadata]).toEqual([
        1,
        null,
        null,
        {},
      ]);
      expect(shown?.user_id).not.toBe(bob.user_id);
      expect(sessions[0]?.turns).toHaveLength(1);
    });

    it('erases what only the session of the person, their turn, or their other id leads to', async () => {
      if (store.persons === null) return;
      const { links, actions, inbox, waitingQuestions } = store;
      const own = aSession(test.now(), { platform: 'webchat', owner: ada.person });
      await saveSession(store, own);
      const waiting = aWaitingQuestion(own, { link_key: 'another' });
      const changes = { turn: { record: aTurn(), ttl_ms: HOUR }, trace: aTrace(own), waits: waiting };
      await commitUnderClaim(store, own.session_id, changes);
      const before = anAction({ platform: 'webchat', session_tag: own.session_id });
      await actions.start(null, before);
      const thread = aSession(test.now(), { platform: PLATFORM, user_id: bob.user_id });
      await saveSession(store, thread);
      const { turn_id } = await keepTurn(store, thread, { user_id: ada.user_id, person: ada.person });
      const reply = anInboxMessage({ id: turn_id, platform: PLATFORM, message: null, reply: 'to Ada' });
      await inbox.enqueue([reply]);
      // A link whose token no key opens is not among the links of the person.
      const unread = `${PLATFORM}:jwt:unread`;
      await links.put({ key: unread, token: 't', person: bob.person, ttl_ms: HOUR });
      await links.bindAlias(unread, 't', { alias: `${PLATFORM}:hers`, person: ada.person });
      await store.persons.erase({ person: ada.person, link_keys: [] });
      expect([await links.get(unread), await links.findByAlias(`${PLATFORM}:hers`)]).toEqual([null, null]);
      expect(await waitingQuestions.ofTurn(waiting.message.rerun.turn_id)).toBeNull();
      expect([await actions.find(before.action_id), await inbox.find(turn_id)]).toEqual([null, null]);

      const key = `${PLATFORM}:jwt:number`;
      await links.put({ key, token: 't', person: ada.person, ttl_ms: HOUR });
      await links.bindAlias(key, 't', { alias: `${PLATFORM}:other`, person: ada.person });
      const code = { code_id: 'code', code_hash: 'hash', person: bob.person, token: 'sealed' };
      await store.linkCodes.create({ ...code, ttl_ms: HOUR });
      const sender = { platform: PLATFORM, user_id: 'number', alias_id: 'other', name: null, locale: null };
      await store.linkCodes.claim('hash', { ...sender, reply_to: {}, message_id: null });
      await store.persons.erase({ platform: PLATFORM, user_id: 'other' });
      expect([await links.get(key), await store.linkCodes.find('code')]).toEqual([null, null]);
    });

    it('erases the streams that became those of the person by their tokens, or that the user began', async () => {
      if (store.persons === null) return;
      const { streams, limits } = store;
      const [read, byCookie, users, others] = [aStream(), aStream(), aStream(), aStream()];
      byCookie.start.cookie_person = ada.person;
      byCookie.start.token_given = false;
      byCookie.start.address = '192.0.2.7';
      users.start.message.user_id = 'visitor';
      for (const one of [read, byCookie, users, others]) await streams.create(one);
      await streams.claim(read.stream_id, { owner: null, reader: ada.person });
      const max = { max: 5, window_ms: HOUR };
      await limits.hit('http:address:192.0.2.7', max);
      await store.persons.erase({ person: ada.person, link_keys: [] });
      await store.persons.erase({ platform: users.start.message.platform, user_id: 'visitor' });
      const left = [read, byCookie, users, others].map(async ({ stream_id }) => streams.find(stream_id));
      expect((await Promise.all(left)).map((one) => one !== null)).toEqual([false, false, false, true]);
      expect(await limits.hit('http:address:192.0.2.7', max)).toMatchObject({ remaining: 4 });
    });

    it('erases the turns of a person in a thread that somebody else opened, and no other turns', async () => {
      const persons = await fill();
      if (persons === null) return;
      await speakInThread(store, test.now(), bob, bob.person);
      await persons.erase(asPerson(bob));
      const turns = await store.sessions.turns(THREAD);
      expect(turns.map(({ turn_id }) => turn_id)).toEqual([
        `turn-${ada.canary}-nobody`,
        `turn-${bob.canary}-nobody`,
      ]);
    });

    it('works while a daemon runs: counts restart at 0, and a message in progress is not answered', async () => {
      const persons = await fill();
      if (persons === null) return;
      const [claim] = (await store.inbox.claim('run', [PLATFORM], 5)).filter(
        ({ message }) => message.message?.user_id === ada.user_id,
      );
      if (!claim) throw new Error('no message was claimed');
      await persons.erase(asUser(ada));
      await persons.erase(asPerson(ada));
      expect(await store.inbox.renew(claim)).toBe(false);
      expect(await store.limits.hit(`http:person:${ada.person}`, { max: 5, window_ms: 1000 })).toMatchObject({
        remaining: 4,
      });
      const user = {
        key: JSON.stringify([PLATFORM, 'user', ada.user_id]),
        platform: PLATFORM,
        user_id: ada.user_id,
        person: null,
        address: null,
      };
      const message = { user, session_id: 'anew', text: 'hash', message_id: null, sent_at: null };
      expect(await store.guard.check(message, GUARD_LIMITS)).toMatchObject({ allowed: true, messages: 1 });
    });

    it('stores no turn, trace or answer of a message that is in progress during the erasure', async () => {
      if (store.persons === null) return;
      const session = aSession(test.now(), { session_id: 'cleo-1', user_id: 'cleo', owner: cleo.person });
      await saveSession(store, session);
      const claim = await store.sessions.claim(session.session_id);
      const key = JSON.stringify(['web', ['person', cleo.person], 'k']);
      const answering = await store.idempotency.claim(key, 'body');
      if (claim === null || answering.outcome !== 'new')
        throw new Error('the session or the key was already claimed');
      await (await test.beside()).persons?.erase({ person: cleo.person, link_keys: [] });
      const trace = aTrace(session, { user_id: 'cleo' });
      const answer = { session_id: session.session_id, response: 'said' };
      const changes = {
        turn: { record: aTurn({ person: cleo.person }), ttl_ms: HOUR },
        trace,
        answer: { claim: answering.claim, answer, ttl_ms: HOUR },
      };
      expect(await store.commitTurn(claim, changes)).toBe('lost');
      await store.traces.keepRefused(trace);
      await store.traces.keep(trace);
      expect(await store.traces.find(session.session_id)).toEqual([]);
      expect(await store.idempotency.look(key, 'body')).not.toMatchObject({ outcome: 'done' });
      // An hour after the erasure, a sender with the same id counts as a different person.
      test.advance(HOUR);
      await store.traces.keep(trace);
      expect(await store.traces.find(session.session_id)).toHaveLength(1);
    });

    it('ends the claim of a run in progress, so that the run cannot record any write', async () => {
      if (store.persons === null) return;
      const session = aSession(test.now(), { session_id: 'cleo-2', user_id: 'cleo', owner: cleo.person });
      await saveSession(store, session);
      const claim = await store.sessions.claim(session.session_id);
      if (claim === null) throw new Error('the session was already claimed');
      await (await test.beside()).persons?.erase({ person: cleo.person, link_keys: [] });
      expect(await store.sessions.renew(claim)).toBe(false);
      const action = anAction({ session_tag: session.session_id, person: cleo.person, user_id: 'cleo' });
      expect(await store.actions.start({ session: claim, key: null }, action)).toEqual({ outcome: 'lost' });
      expect(await store.sessions.save(claim, session, 'new')).toBe('lost');
    });

    it('ends the claim of a run even if its session is not stored yet', async () => {
      if (store.persons === null) return;
      const session_id = `${PLATFORM}:dora`;
      const names = { platform: PLATFORM, user_id: 'dora', channel_id: 'dora', thread_id: session_id };
      const message = { ...names, text: 'hello', metadata: {} };
      await store.inbox.enqueue([anInboxMessage({ platform: PLATFORM, session_id, message })]);
      expect(await store.inbox.claim('run', [PLATFORM], 5)).toHaveLength(1);
      const claim = await store.sessions.claim(session_id);
      if (claim === null) throw new Error('the session was already claimed');
      await (await test.beside()).persons?.erase({ platform: PLATFORM, user_id: 'dora' });
      expect(await store.sessions.renew(claim)).toBe(false);
      const action = anAction({ session_tag: session_id, platform: PLATFORM, user_id: 'dora' });
      expect(await store.actions.start({ session: claim, key: null }, action)).toEqual({ outcome: 'lost' });
      // The next message starts a new session.
      await store.sessions.release(claim);
      test.advance(1);
      const next = await store.sessions.claim(session_id);
      if (next === null) throw new Error('the session was already claimed');
      expect(await store.actions.start({ session: next, key: null }, action)).toEqual({ outcome: 'started' });
    });

    it('erases a reply that was written for the person, even if the link and the session have ended', async () => {
      const persons = await fill();
      if (persons === null) return;
      const message = anInboxMessage({ platform: PLATFORM, text: `${ada.canary} asks` });
      await store.inbox.enqueue([message]);
      const claims = await store.inbox.claim('run', [PLATFORM], 9);
      const claim = claims.find(({ message: { id } }) => id === message.id);
      if (claim === undefined) throw new Error('the message is not due');
      await storeReply(store, claim, 'what only one may read', { written_for: ada.person });
      expect((await persons.show({ person: bob.person, link_keys: [] })).inbox).toEqual([]);
      const erased = await persons.erase({ person: ada.person, link_keys: [] });
      expect(erased.inbox.map(({ reply }) => reply)).toEqual(['what only one may read']);
      expect(await store.inbox.find(message.id)).toBeNull();
    });

    it('erases what the person was told at sign-in on a platform, even if the link has ended', async () => {
      const persons = await fill();
      if (persons === null) return;
      const { inbox, idempotency } = store;
      for (const [one, message_id] of [
        [ada, 'sign-in-ada'],
        [bob, 'sign-in-bob'],
      ] as const) {
        const key = `link:${JSON.stringify([PLATFORM, one.user_id, message_id])}`;
        const claim = await idempotency.claim(key, '');
        if (claim.outcome !== 'new') throw new Error('the key is known');
        const response = JSON.stringify({ email: `${one.canary}@example.com` });
        await idempotency.finish(claim.claim, { session_id: '', response, person: one.person }, HOUR);
        const told = { message: null, session_id: null, reply: `${one.canary} is signed in` };
        await inbox.enqueue([anInboxMessage({ ...told, platform: PLATFORM, message_id, reply_to: {} })]);
      }
      const erased = await persons.erase({ person: ada.person, link_keys: [] });
      expect(erased.others.answers).toBe(2);
      expect(erased.inbox.map(({ reply }) => reply)).toEqual([`${ada.canary} is signed in`]);
      const left = await inbox.list({ states: ['waiting', 'replied'], limit: 9 });
      const repliesLeft = left.map(({ reply }) => reply);
      expect(repliesLeft).toContain(`${bob.canary} is signed in`);
      expect(repliesLeft).not.toContain(`${ada.canary} is signed in`);
      expect((await persons.show({ person: ada.person, link_keys: [] })).others.answers).toBe(0);
      expect((await persons.show({ person: bob.person, link_keys: [] })).others.answers).toBe(2);
    });

    it('stores nothing more about a code that was erased with its person or user', async () => {
      const { linkCodes, inbox, traces } = store;
      for (const by of ['person', 'user'] as const) {
        const code = { code_id: `code of ${by}`, code_hash: by, person: ada.person, token: 'sealed' };
        await linkCodes.create({ ...code, ttl_ms: HOUR });
        const sender = { platform: PLATFORM, user_id: 'claimant', alias_id: null, name: null, locale: null };
        await linkCodes.claim(by, { ...sender, reply_to: {}, message_id: null });
        const of = by === 'person' ? { person: ada.person, link_keys: [] } : sender;
        await (await test.beside()).persons?.erase(of);
        const text = anInboxMessage({ reply: 'Connect?', message: null, link_code: code.code_id });
        expect(await inbox.enqueue([text])).toEqual(['repeated']);
        await traces.keep(aTrace(null, { request_id: code.code_id }), code.code_id);
        expect([await inbox.find(text.id), await traces.find(code.code_id)]).toEqual([null, []]);
      }
    });

    it("erases the guard's counters of the users that are linked to a person", async () => {
      const persons = await fill();
      if (persons === null) return;
      const withLink = (await persons.show(asPerson(ada))).others.guard;
      const alone = (await persons.show({ person: ada.person, link_keys: [] })).others.guard;
      expect(withLink - alone).toBe(1);
      await persons.erase(asPerson(ada));
      expect((await persons.show(asUser(ada))).others.guard).toBe(1);
      expect((await persons.show(asUser(bob))).others.guard).toBe(2);
    });

    it('erases the message count of a session that was never stored, because its stream was not opened', async () => {
      const persons = await fill();
      if (persons === null) return;
      const stream = aStream({ owner: ada.person });
      const { message, session_id } = stream.start;
      const user = guardUser({ ...message, person: null, address: null });
      const counted = { user, session_id, text: 'hash', message_id: null, sent_at: null };
      await store.guard.check(counted, GUARD_LIMITS);
      await store.streams.create(stream);
      expect((await persons.erase(asPerson(ada))).others.guard).toBe(5);
      expect((await persons.show(asPerson(ada))).others.guard).toBe(0);
    });

    it('erases a hint for a user whom the agent has never answered, whatever its address', async () => {
      if (store.persons === null) return;
      const hint = (user_id: string | null, message_id: string, reply_to: JsonObject) =>
        anInboxMessage({
          ...{ platform: PLATFORM, message: null, session_id: null, reply: 'I only read text.' },
          ...{ message_id, user_id, reply_to },
        });
      await store.inbox.enqueue([
        hint('+4915550001', 'room-1', { channel: 'D1' }),
        hint(null, 'number-1', { number_id: '1', to: '4915550001' }),
        hint('+4915550002', 'room-2', { channel: 'D1' }),
        hint(null, 'number-2', { number_id: '1', to: '4915550002' }),
        hint(null, 'chat-1', { chat: 777 }),
        hint(null, 'chat-2', { chat: 7777 }),
      ]);
      const { persons } = await test.beside();
      const erase = async (user_id: string) => {
        const { inbox, others } = (await persons?.erase({ platform: PLATFORM, user_id })) ?? {};
        return [inbox?.map(({ message_id }) => message_id).sort(), others?.seen_messages];
      };
      expect(await erase('+4915550001')).toEqual([['number-1', 'room-1'], 2]);
      expect(await erase('777')).toEqual([['chat-1'], 1]);
      const left = await store.inbox.list({ states: ['replied'], limit: 9 });
      expect(left.map(({ message_id }) => message_id).sort()).toEqual(['chat-2', 'number-2', 'room-2']);
    });

    it('erases what is known of messages that were discarded or blocked, and have no trace', async () => {
      if (store.persons === null) return;
      const user = guardUser({ platform: PLATFORM, user_id: '+4915550001', person: null, address: null });
      const judged = { user, session_id: 'blocked', text: 'hash', message_id: 'blocked-1', sent_at: null };
      await store.guard.check(judged, GUARD_LIMITS);
      const { user_id } = user;
      const waiting = anInboxMessage({ platform: PLATFORM, message_id: 'discarded-1', user_id });
      await store.inbox.enqueue([waiting]);
      await store.inbox.discard(waiting.id);
      const erased = await (await test.beside()).persons?.erase({ platform: PLATFORM, user_id });
      expect(erased?.others.seen_messages).toBe(2);
      expect(await store.inbox.enqueue([waiting])).toEqual(['kept']);
    });

    it('erases the counters of the anonymous web user who later signed in, and of nobody else', async () => {
      if (store.persons === null) return;
      const { persons } = await test.beside();
      const visit = async (user_id: string, address: string) => {
        const user = guardUser({ platform: 'webchat', user_id, person: null, address });
        const message = { user, session_id: `s-${address}`, text: 'hash', message_id: null, sent_at: null };
        await store.guard.check(message, GUARD_LIMITS);
        await store.limits.hit(`http:address:${address}`, { max: 5, window_ms: HOUR });
      };
      await visit('cleo-web', '192.0.2.1');
      await visit('dora-web', '192.0.2.2');
      const session = aSession(test.now(), { session_id: 'cleo', user_id: 'cleo-web', owner: cleo.person });
      await saveSession(store, session);
      const { others } = (await persons?.erase({ person: cleo.person, link_keys: [] })) ?? {};
      expect([others?.guard, others?.limits]).toEqual([1, 1]);
      const max = { max: 5, window_ms: HOUR };
      expect(await store.limits.hit('http:address:192.0.2.1', max)).toMatchObject({ remaining: 4 });
      expect(await store.limits.hit('http:address:192.0.2.2', max)).toMatchObject({ remaining: 3 });
    });

    it('erases the keys of requests that were the person’s, and of nobody else', async () => {
      if (store.persons === null) return;
      const { idempotency, guard } = store;
      const ids = { session_id: 'cleo-now', former_id: 'cleo-before' };
      await saveSession(store, aSession(test.now(), { ...ids, user_id: 'cleo-web', owner: cleo.person }));
      const user = guardUser({
        platform: 'webchat',
        user_id: 'cleo-web',
        person: null,
        address: '192.0.2.1',
      });
      const visit = { user, session_id: 'elsewhere', text: 'hash', message_id: null, sent_at: null };
      await guard.check(visit, GUARD_LIMITS);
      const client = (address: string) => ['client', address, 'cleo-web'];
      const keys = [
        { sender: ['person', cleo.person], answer: { session_id: 'ended' } },
        { sender: client('192.0.2.3'), answer: { session_id: 'elsewhere', reader: cleo.person } },
        { sender: client('192.0.2.4'), answer: { session_id: 'cleo-now' } },
        { sender: client('192.0.2.1'), answer: null },
        { sender: client('192.0.2.2'), answer: null },
        { sender: ['person', bob.person], answer: { session_id: 'ended' } },
      ].map(({ sender, answer }, n) => ({ key: JSON.stringify(['web', sender, `k${n}`]), answer }));
      for (const { key, answer } of keys) {
        const claimed = await idempotency.claim(key, 'body');
        if (claimed.outcome !== 'new') throw new Error('the key is known');
        if (answer === null) await idempotency.release(claimed.claim);
        else await idempotency.finish(claimed.claim, { ...answer, response: 'said' }, HOUR);
      }
      await store.persons.erase({ person: cleo.person, link_keys: [] });
      const left = await Promise.all(keys.map(({ key }) => idempotency.look(key, 'another body')));
      expect(left.map(({ outcome }) => outcome)).toEqual([
        'new',
        'new',
        'new',
        'new',
        'other_body',
        'other_body',
      ]);
    });

    it('ends the streams of an erased person for their readers', async () => {
      if (store.persons === null) return;
      const stream = aStream({ owner: cleo.person });
      await store.streams.create(stream);
      const claim = await store.streams.claim(stream.stream_id, { owner: cleo.person, reader: null });
      if (claim === null) throw new Error('the stream was already claimed');
      expect(await store.streams.read(stream.stream_id, 0)).toEqual([]);
      await (await test.beside()).persons?.erase({ person: cleo.person, link_keys: [] });
      expect(await store.streams.read(stream.stream_id, 0)).toBeNull();
      expect(await store.streams.append(claim, [{ id: 1, event: 'text_chunk', data: '{}' }])).toBe(false);
    });

    it('erases the traces of refused messages, which have no turn and no session', async () => {
      if (store.persons === null) return;
      const [theirs, other] = [cleo.person, bob.person].map((person) =>
        aTrace(null, { user_id: 'web-visitor', person, outcome: 'loop_guard_blocked' }),
      ) as [TraceRecord, TraceRecord];
      for (const trace of [theirs, other]) await store.traces.keepRefused(trace);
      const of = { person: cleo.person, link_keys: [] };
      expect(countRecords(await store.persons.show(of))).toBe(1);
      await (await test.beside()).persons?.erase(of);
      expect(await store.traces.find(theirs.turn_id)).toEqual([]);
      expect(await store.traces.find(other.turn_id)).toHaveLength(1);
    });

    it('stores no trace of a platform message that is in progress during the erasure', async () => {
      const persons = await fill();
      if (persons === null) return;
      const [waiting] = (await persons.show(asUser(ada))).inbox.filter(({ message }) => message !== null);
      await persons.erase(asUser(ada));
      const turn_id = waiting?.id ?? '';
      await store.traces.keep(aTrace(null, { turn_id, platform: PLATFORM, user_id: ada.user_id }));
      expect(await store.traces.find(turn_id)).toEqual([]);
    });
  });
}

/**
 * The data, with the record of each session replaced by its id. The erasure of another person may change one value of
 * these records: the user who opened the shared thread.
 */
function withoutTies({ sessions, ...rest }: Awaited<ReturnType<PersonStore['show']>>) {
  const plain = sessions.map(({ session, ...one }) => ({ ...one, session_id: session.session_id }));
  return { ...rest, sessions: plain };
}
