import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import type { StreamEvent } from '../../src/channel/index.ts';
import type { GuardedMessage } from '../../src/daemon/guard/verdict.ts';
import { guardUser } from '../../src/daemon/message/keys.ts';
import { CLAIM_MS, type KeyClaim, type StreamClaim } from '../../src/daemon/store/claims/claims.ts';
import type { AttemptOutcome, InboxClaim } from '../../src/daemon/store/inbox/inbox.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { describeActionPeers } from './actions-contract.ts';
import { ada, anInboxMessage, aSession, aStream, aTrace, aTurn, bob, GUARD_LIMITS } from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { claimSession, commitUnderClaim, keepTurn, saveSession } from './store-writes.ts';
import { beginFullTurn } from './turns-contract.ts';

const HOUR = 60 * 60 * 1000;
const NOBODY = { owner: null, reader: null };
const INTERRUPTED = { event: 'error', data: '{"code":"interrupted"}' } as const;
const ANSWER = { session_id: 's', response: 'hello' };

const chunk = (id: number): StreamEvent => ({ id, event: 'text_chunk', data: `{"text":"${id}"}` });

/** The guarantees of the store when two daemons share it. */
export function describePeers(current: () => StoreUnderTest): void {
  describe('two daemons', () => {
    let test: StoreUnderTest;
    let one: Store;
    let two: Store;

    beforeEach(async ({ skip }) => {
      test = current();
      const peer = test.peer();
      if (peer === null) return skip('this backend allows one daemon at a time');
      one = test.store;
      two = await peer;
    });

    describe('claiming a session', () => {
      it('cannot both claim a session: the second can claim it only after the first has released it', async () => {
        const claim = await claimSession(one, 's');
        expect(await two.sessions.claim('s')).toBeNull();
        await one.sessions.release(claim);
        const next = await claimSession(two, 's');
        expect(next.owner).not.toBe(claim.owner);
        expect(await one.sessions.claim('s')).toBeNull();
      });

      it('get only one claim of a session, however many requests they make at once', async () => {
        const claims = await Promise.all(
          Array.from({ length: 20 }, (_, n) => (n % 2 ? one : two).sessions.claim('s')),
        );
        expect(claims.filter((claim) => claim !== null)).toHaveLength(1);
      });

      it('do not take a session from an owner who renews its claim', async () => {
        const claim = await claimSession(one, 's');
        for (let n = 0; n < 4; n++) {
          test.advance(CLAIM_MS - 1);
          expect(await one.sessions.renew(claim)).toBe(true);
        }
        test.advance(CLAIM_MS - 1);
        expect(await two.sessions.claim('s')).toBeNull();
        test.advance(1);
        expect(await two.sessions.claim('s')).not.toBeNull();
      });

      it('take over a session whose claim has expired; then the earlier owner cannot renew or release the claim', async () => {
        const stale = await claimSession(one, 's');
        test.advance(CLAIM_MS);
        const next = await claimSession(two, 's');
        expect(await one.sessions.renew(stale)).toBe(false);
        await one.sessions.release(stale);
        expect(await one.sessions.claim('s')).toBeNull();
        expect(await two.sessions.renew(next)).toBe(true);
      });

      it('let the owner renew an expired claim that nobody has taken over', async () => {
        const claim = await claimSession(one, 's');
        test.advance(2 * CLAIM_MS);
        expect(await one.sessions.renew(claim)).toBe(true);
        expect(await two.sessions.claim('s')).toBeNull();
      });

      it('can claim a session that a dead daemon had claimed, as soon as its claim expires', async () => {
        await claimSession(one, 's');
        await one.close();
        expect(await two.sessions.claim('s')).toBeNull();
        test.advance(CLAIM_MS);
        expect(await two.sessions.claim('s')).not.toBeNull();
      });

      it.each(['new', 'changed', 'replaced'] as const)(
        'write nothing under a stale claim: save as %s',
        async (as) => {
          const session = aSession(test.now());
          if (as !== 'new') await saveSession(one, session);
          const stale = await claimSession(one, session.session_id);
          test.advance(CLAIM_MS);
          const next = await claimSession(two, session.session_id);
          const changed = { ...session, owner: ada };
          expect(await one.sessions.save(stale, changed, as)).toBe('lost');
          expect(await two.sessions.find(session.session_id)).toEqual(as === 'new' ? null : session);
          expect(await two.sessions.save(next, changed, as)).toBe('saved');
          expect(await one.sessions.find(session.session_id)).toEqual(changed);
        },
      );
    });

    describeActionPeers(() => ({ test, one, two }));

    describe('committing a turn', () => {
      it('see at once everything that a turn has stored', async () => {
        const { claim, changes } = await beginFullTurn(one, test.now());
        expect(await two.sessions.find(claim.session_tag)).toBeNull();
        expect(await one.commitTurn(claim, changes)).toBe('committed');
        expect(await two.sessions.turns(claim.session_tag)).toEqual([changes.turn.record]);
        expect(await two.inbox.find(changes.reply.claim.message.id)).toMatchObject({ reply: 'the reply' });
        expect(await two.idempotency.look(claim.session_tag, 'body')).toMatchObject({ outcome: 'done' });
        expect(await two.streams.read(changes.events.claim.stream_id, 0)).toHaveLength(2);
      });

      it('store nothing of a turn if its session was taken over', async () => {
        const { claim, changes, read } = await beginFullTurn(one, test.now());
        const before = await read();
        test.advance(CLAIM_MS);
        const next = await claimSession(two, claim.session_tag);
        expect(await one.commitTurn(claim, changes)).toBe('lost');
        expect(await read()).toEqual({ ...before, answer: { outcome: 'new' } });
        const { session, turn, trace } = changes;
        expect(await two.commitTurn(next, { session, turn, trace })).toBe('committed');
        expect(await one.commitTurn(claim, changes)).toBe('lost');
        expect(await one.sessions.turns(claim.session_tag)).toHaveLength(1);
      });

      it('store nothing of a turn if its message was taken over', async () => {
        const turn = await beginFullTurn(one, test.now());
        test.advance(CLAIM_MS);
        expect(await one.sessions.renew(turn.claim)).toBe(true);
        expect(await two.inbox.reap()).toBe(1);
        await two.inbox.claim('run', ['chat'], 1, 'interrupted');
        await expectNothingStored(turn);
      });

      it('store nothing of a turn if its idempotency key was taken over', async () => {
        const turn = await beginFullTurn(one, test.now());
        test.advance(CLAIM_MS);
        expect(await one.sessions.renew(turn.claim)).toBe(true);
        expect(await two.idempotency.claim(turn.claim.session_tag, 'body')).toMatchObject({ outcome: 'new' });
        await expectNothingStored(turn);
      });

      it('store nothing of a turn if its stream was ended', async () => {
        const turn = await beginFullTurn(one, test.now());
        test.advance(CLAIM_MS);
        expect(await one.sessions.renew(turn.claim)).toBe(true);
        expect(await two.streams.reap(INTERRUPTED)).toBe(1);
        await expectNothingStored(turn);
      });

      it('store a turn under expired claims if nobody has taken them over', async () => {
        const { claim, changes } = await beginFullTurn(one, test.now());
        test.advance(CLAIM_MS);
        expect(await one.commitTurn(claim, changes)).toBe('committed');
        expect(await two.sessions.turns(claim.session_tag)).toHaveLength(1);
      });

      it('store only the turn of the current owner if both commit at once', async () => {
        const session = aSession(test.now());
        await saveSession(one, session);
        const stale = await claimSession(one, session.session_id);
        test.advance(CLAIM_MS);
        const next = await claimSession(two, session.session_id);
        const turn = () => ({ turn: { record: aTurn(), ttl_ms: HOUR }, trace: aTrace(session) });
        const outcomes = await Promise.all([one.commitTurn(stale, turn()), two.commitTurn(next, turn())]);
        expect(outcomes).toEqual(['lost', 'committed']);
        expect((await one.sessions.find(session.session_id))?.turns).toBe(1);
      });

      async function expectNothingStored({
        claim,
        changes,
        read,
      }: Awaited<ReturnType<typeof beginFullTurn>>) {
        const before = await read();
        expect(await one.commitTurn(claim, changes)).toBe('lost');
        expect(await read()).toEqual(before);
      }
    });

    describe('reading sessions', () => {
      it('see at once that a session was ended, replaced or renamed', async () => {
        const session = aSession(test.now(), { generated: true });
        await saveSession(one, session);
        await keepTurn(two, session);
        const found = await one.sessions.find(session.session_id);
        const renamed = { ...session, ...found, session_id: randomUUID(), former_id: session.session_id };
        expect(await saveSession(two, { ...renamed, owner: ada }, 'changed')).toBe('saved');
        expect(await one.sessions.find(renamed.session_id)).toMatchObject({ owner: ada, turns: 1 });
        expect(await one.sessions.end(session.session_id)).toBe(true);
        expect(await two.sessions.find(renamed.session_id)).toBeNull();
        const late = { turn: { record: aTurn(), ttl_ms: HOUR }, trace: aTrace(session) };
        expect(await commitUnderClaim(two, session.session_id, late)).toBe('session_ended');
      });
    });

    describe('claiming an idempotency key', () => {
      const claimed = async (store: Store, fingerprint = 'body'): Promise<KeyClaim> => {
        const found = await store.idempotency.claim('k', fingerprint);
        if (found.outcome !== 'new') throw new Error(`the key is ${found.outcome}`);
        return found.claim;
      };

      it('run only one of many equal requests that arrive at both at once', async () => {
        const found = await Promise.all(
          Array.from({ length: 20 }, (_, n) => (n % 2 ? one : two).idempotency.claim('k', 'body')),
        );
        expect(found.filter(({ outcome }) => outcome === 'new')).toHaveLength(1);
        expect(found.filter(({ outcome }) => outcome === 'running')).toHaveLength(19);
      });

      it('see whether a request of the other daemon is running, whether its body differs, and its answer', async () => {
        const claim = await claimed(one);
        expect(await two.idempotency.claim('k', 'body')).toEqual({ outcome: 'running' });
        expect(await two.idempotency.look('k', 'another')).toEqual({ outcome: 'other_body' });
        expect(await one.idempotency.finish(claim, ANSWER, HOUR)).toBe(true);
        expect(await two.idempotency.claim('k', 'body')).toEqual({ outcome: 'done', answer: ANSWER });
        expect(await two.idempotency.look('k', 'another')).toEqual({ outcome: 'other_body' });
      });

      it('let the other daemon repeat a request after its key was released', async () => {
        await one.idempotency.release(await claimed(one));
        await claimed(two);
        expect(await one.idempotency.look('k', 'body')).toEqual({ outcome: 'running' });
      });

      it('take over the key of a daemon that died, and refuse its late answer', async () => {
        const stale = await claimed(one);
        test.advance(CLAIM_MS - 1);
        expect(await two.idempotency.look('k', 'body')).toEqual({ outcome: 'running' });
        test.advance(1);
        const next = await claimed(two);
        expect(await one.idempotency.renew(stale)).toBe(false);
        expect(await one.idempotency.finish(stale, { ...ANSWER, response: 'stale' }, HOUR)).toBe(false);
        await one.idempotency.release(stale);
        expect(await one.idempotency.look('k', 'body')).toEqual({ outcome: 'running' });
        expect(await two.idempotency.finish(next, ANSWER, HOUR)).toBe(true);
        expect(await one.idempotency.look('k', 'body')).toEqual({ outcome: 'done', answer: ANSWER });
      });

      it('leave the key to a request that renews its claim', async () => {
        const claim = await claimed(one);
        for (let n = 0; n < 4; n++) {
          test.advance(CLAIM_MS - 1);
          expect(await one.idempotency.renew(claim)).toBe(true);
          expect(await two.idempotency.look('k', 'body')).toEqual({ outcome: 'running' });
        }
      });
    });

    describe('running a stream', () => {
      async function running(): Promise<StreamClaim> {
        const { stream_id } = await one.streams.create(aStream());
        const claim = await one.streams.claim(stream_id, NOBODY);
        if (!claim) throw new Error('the stream was not claimed');
        await one.streams.append(claim, [chunk(1)]);
        return claim;
      }

      it('create only one stream for a key, and begin only one run of it', async () => {
        const stream = aStream({ idempotency_key: 'k' });
        const [first, second] = await Promise.all([
          one.streams.create(stream),
          two.streams.create(aStream({ idempotency_key: 'k' })),
        ]);
        expect(second).toEqual(first);
        const { stream_id } = first;
        const claims = await Promise.all(
          Array.from({ length: 20 }, (_, n) => (n % 2 ? one : two).streams.claim(stream_id, NOBODY)),
        );
        expect(claims.filter((claim) => claim !== null)).toHaveLength(1);
      });

      it('read the events that the other daemon adds', async () => {
        const claim = await running();
        await one.streams.append(claim, [chunk(2)]);
        expect(await two.streams.read(claim.stream_id, 1)).toEqual([chunk(2)]);
        expect(await two.streams.find(claim.stream_id)).toMatchObject({ state: 'running', last_event: 2 });
      });

      it('stop a run of the other daemon', async () => {
        const { stream_id } = await running();
        const seen: string[] = [];
        one.streams.subscribe(stream_id, (change) => seen.push(change));
        await two.streams.requestStop(stream_id);
        expect(await one.streams.find(stream_id)).toMatchObject({ state: 'running', stop_requested: true });
        if (!one.streams.hintsMayBeLost) expect(seen).toEqual(['stop']);
      });

      it('end the runs of a dead daemon only once, and refuse its late events', async () => {
        const [dead, alive] = [await running(), await running()];
        test.advance(CLAIM_MS - 1);
        expect(await two.streams.reap(INTERRUPTED)).toBe(0);
        expect(await one.streams.renew(alive)).toBe(true);
        test.advance(1);
        const reaped = await Promise.all([one.streams.reap(INTERRUPTED), two.streams.reap(INTERRUPTED)]);
        expect(reaped.sort()).toEqual([0, 1]);
        expect(await one.streams.append(dead, [chunk(2)])).toBe(false);
        expect(await one.streams.renew(dead)).toBe(false);
        expect(await one.streams.read(dead.stream_id, 1)).toEqual([{ ...INTERRUPTED, id: 2 }]);
        expect(await one.streams.append(alive, [chunk(2)])).toBe(true);
      });

      it('end a run that the other daemon has abandoned', async () => {
        const claim = await running();
        await one.streams.release(claim);
        expect(await one.streams.append(claim, [chunk(2)])).toBe(false);
        expect(await two.streams.reap(INTERRUPTED)).toBe(1);
      });
    });

    describe('working on the inbox', () => {
      const inQueue = (queue: string, text: string) =>
        anInboxMessage({ queue: `chat:${queue}`, session_id: `chat:${queue}`, text });
      const outcomes: AttemptOutcome[] = [
        { kind: 'given_back' },
        { kind: 'again', wait_ms: 0, failure: 'stale', counts: true },
        { kind: 'notify', notice: 'stale', failure: 'stale' },
        { kind: 'sent' },
        { kind: 'failed', failure: 'stale' },
      ];

      it('store a message only once if it is delivered to both', async () => {
        const outcomes = await Promise.all(
          Array.from({ length: 20 }, (_, n) =>
            (n % 2 ? one : two).inbox.enqueue([anInboxMessage({ message_id: 'm' })]),
          ),
        );
        expect(outcomes.flat().filter((outcome) => outcome === 'kept')).toHaveLength(1);
      });

      it('work on a queue one message at a time, in the order of its messages', async () => {
        await one.inbox.enqueue([inQueue('a', 'a1'), inQueue('b', 'b1')]);
        await two.inbox.enqueue([inQueue('a', 'a2'), inQueue('b', 'b2')]);
        const next = async (store: Store) => {
          const [claim] = (await store.inbox.claim('run', ['chat'], 1)) as [InboxClaim];
          return { claim, text: claim.message.message?.text };
        };
        const both = await Promise.all([next(one), next(two)]);
        const [first, second] = both.sort((a, b) => (`${a.text}` < `${b.text}` ? -1 : 1)) as typeof both;
        expect([first.text, second.text]).toEqual(['a1', 'b1']);
        expect(await one.inbox.claim('run', ['chat'], 10)).toEqual([]);
        expect(await two.inbox.claim('run', ['chat'], 10)).toEqual([]);
        await one.inbox.settle(first.claim, { kind: 'sent' });
        expect((await next(two)).text).toBe('a2');
        expect(await one.inbox.claim('run', ['chat'], 10)).toEqual([]);
        await two.inbox.settle(second.claim, { kind: 'sent' });
        expect((await next(one)).text).toBe('b2');
      });

      it('hold back a queue while the other daemon works on its first message or has postponed it', async () => {
        await one.inbox.enqueue([inQueue('a', 'a1'), inQueue('a', 'a2')]);
        const [claim] = (await one.inbox.claim('run', ['chat'], 10)) as [InboxClaim];
        expect(await two.inbox.claim('run', ['chat'], 10)).toEqual([]);
        await one.inbox.settle(claim, { kind: 'again', wait_ms: 1000, failure: 'x', counts: true });
        expect(await two.inbox.claim('run', ['chat'], 10)).toEqual([]);
        expect(await two.inbox.nextDueAt('run', ['chat'])).toBe(test.now() + 1000);
        test.advance(1000);
        const [again] = await two.inbox.claim('run', ['chat'], 10);
        expect(again?.message).toMatchObject({ id: claim.message.id, attempts: 2 });
      });

      it('leave a message to a daemon that renews its claim', async () => {
        await one.inbox.enqueue([inQueue('a', 'a1')]);
        const [claim] = (await one.inbox.claim('run', ['chat'], 1)) as [InboxClaim];
        for (let n = 0; n < 4; n++) {
          test.advance(CLAIM_MS - 1);
          expect(await one.inbox.renew(claim)).toBe(true);
          expect(await two.inbox.reap()).toBe(0);
        }
        expect(await one.inbox.settle(claim, { kind: 'sent' })).toBe(true);
      });

      it('take over the messages of a dead daemon, which then count as interrupted', async () => {
        const [run, text] = [inQueue('a', 'a1'), anInboxMessage({ queue: 'chat/x', reply: 'a notice' })];
        await one.inbox.enqueue([run, text]);
        await one.inbox.claim('run', ['chat'], 1);
        await one.inbox.claim('send', ['chat'], 1);
        await one.close();
        expect(await two.inbox.reap()).toBe(0);
        test.advance(CLAIM_MS);
        expect(await two.inbox.claim('run', ['chat'], 10)).toEqual([]);
        expect(await two.inbox.reap()).toBe(2);
        expect(await two.inbox.reap()).toBe(0);
        expect(await two.inbox.find(run.id)).toMatchObject({ state: 'waiting', attempts: 1, interrupted: 1 });
        expect(await two.inbox.find(text.id)).toMatchObject({ state: 'replied', sends: 1, interrupted: 1 });
        expect(await two.inbox.claim('run', ['chat'], 10)).toEqual([]);
        const [again] = await two.inbox.claim('run', ['chat'], 10, 'interrupted');
        expect(again?.message).toMatchObject({ id: run.id, attempts: 2, interrupted: 1 });
      });

      it('count a message as interrupted even if its claim ended only long after the daemon had died', async () => {
        const message = inQueue('a', 'a1');
        await one.inbox.enqueue([message]);
        await one.inbox.claim('run', ['chat'], 1);
        test.advance(24 * HOUR);
        expect(await two.inbox.claim('run', ['chat'], 1)).toEqual([]);
        expect(await two.inbox.reap()).toBe(1);
        expect(await two.inbox.find(message.id)).toMatchObject({ state: 'waiting', interrupted: 1 });
      });

      it.each(outcomes)('refuse every write under a stale claim: $kind', async (outcome) => {
        const message = inQueue('a', 'a1');
        await one.inbox.enqueue([message]);
        const [stale] = (await one.inbox.claim('run', ['chat'], 1)) as [InboxClaim];
        test.advance(CLAIM_MS);
        await two.inbox.reap();
        const late = () => one.inbox.settle(stale, outcome);
        expect(await late()).toBe(false);
        const [next] = (await two.inbox.claim('run', ['chat'], 1, 'interrupted')) as [InboxClaim];
        const before = await two.inbox.find(message.id);
        expect(await late()).toBe(false);
        expect(await one.inbox.renew(stale)).toBe(false);
        const reply = { trace: aTrace(null), reply: { claim: stale, text: 'stale' } };
        expect(await commitUnderClaim(one, 'chat:a', reply)).toBe('lost');
        expect(await two.inbox.find(message.id)).toEqual(before);
        expect(await two.inbox.settle(next, { kind: 'sent' })).toBe(true);
      });
    });

    describe('checking messages', () => {
      const user = guardUser({ platform: 'chat', user_id: 'u1', person: null, address: null });
      const check = (store: Store, members: Partial<GuardedMessage> = {}, limits = GUARD_LIMITS) => {
        const message = { user, session_id: randomUUID(), text: randomUUID(), message_id: null };
        return store.guard.check({ ...message, sent_at: null, ...members }, limits);
      };

      it('together allow no more messages than one daemon would, in whatever order the checks run', async () => {
        await fc.assert(
          fc.asyncProperty(fc.scheduler(), fc.array(fc.boolean(), { maxLength: 30 }), async (s, turns) => {
            const someone = guardUser({ ...user, user_id: randomUUID() });
            const ask = s.scheduleFunction((isOne: boolean) => check(isOne ? one : two, { user: someone }));
            const asked = Promise.all(turns.map((isOne) => ask(isOne)));
            await s.waitFor(asked);
            const passed = (await asked).filter(({ allowed }) => allowed);
            expect(passed).toHaveLength(Math.min(turns.length, GUARD_LIMITS.max_messages));
          }),
          { numRuns: 25 },
        );
      });

      it('count equal texts, turns of a session and request limits together', async () => {
        const both = [one, two, one];
        const passed = (all: { allowed: boolean }[]) => all.filter(({ allowed }) => allowed).length;
        const equal = await Promise.all(both.map((store) => check(store, { text: 'a' })));
        expect(passed(equal)).toBe(2);
        const others = both.map((_, n) => guardUser({ ...user, user_id: `other ${n}` }));
        const few = { ...GUARD_LIMITS, max_turns: 2 };
        const turns = await Promise.all(
          both.map((store, n) => check(store, { user: others[n] ?? user, session_id: 's' }, few)),
        );
        expect(passed(turns)).toBe(2);
        const limit = { max: 2, window_ms: 1000 };
        const hits = await Promise.all(both.map((store) => store.limits.hit('k', limit)));
        expect(passed(hits)).toBe(2);
      });

      it('give only one verdict to a message that is delivered to both', async () => {
        const verdicts = await Promise.all(
          Array.from({ length: 20 }, (_, n) => check(n % 2 ? one : two, { message_id: 'm' })),
        );
        expect(verdicts.filter(({ repeated }) => !repeated)).toHaveLength(1);
      });

      it('see at once that the other daemon has reset a user', async () => {
        for (let n = 0; n < 6; n++) await check(one);
        expect((await check(two)).allowed).toBe(false);
        expect(await two.guard.resetUser('chat', 'u1')).toBe(true);
        expect((await check(one)).allowed).toBe(true);
      });
    });

    describe('being listed', () => {
      it('list each other while they run', async () => {
        const about = { host: 'h', pid: 1, version: '1.0.0', runs: 2, waiting: 0, digests: { A: 'x' } };
        const [first, second] = [
          { replica_id: 'a', uptime_ms: 5, ...about },
          { replica_id: 'b', uptime_ms: 9, ...about },
        ];
        await one.replicas?.record(first, 1000);
        await two.replicas?.record(second, 2000);
        const seen_at = test.now();
        const expected = one.replicas && [second, first].map((replica) => ({ ...replica, seen_at }));
        expect((await one.replicas?.list()) ?? null).toEqual(expected);
        test.advance(1000);
        expect((await two.replicas?.list())?.map(({ replica_id }) => replica_id)).toEqual(
          one.replicas ? ['b'] : undefined,
        );
        await two.replicas?.remove('b');
        expect((await one.replicas?.list()) ?? []).toEqual([]);
      });
    });

    describe('sharing links and outages', () => {
      it('replace a link only if it still has the token that they have read', async () => {
        const link = { key: 'chat:jwt:u1', person: ada, ttl_ms: HOUR };
        expect(await one.links.put({ ...link, token: 'one' }, null)).toBe(true);
        const won = await Promise.all(
          [one, two].map((store, n) => store.links.put({ ...link, token: `next ${n}` }, 'one')),
        );
        expect(won.filter(Boolean)).toHaveLength(1);
        const winner = `next ${won.indexOf(true)}`;
        expect(await two.links.remove(link.key, 'one')).toBe(false);
        const alias = { alias: 'chat:X', person: ada };
        expect(await two.links.bindAlias(link.key, 'one', alias)).toBe(false);
        expect(await two.links.bindAlias(link.key, winner, alias)).toBe(true);
        expect(await one.links.findByAlias('chat:X')).toMatchObject({ token: winner });
        expect(await one.links.put({ ...link, person: bob, token: "bob's" }, winner)).toBe(true);
        expect(await two.links.findByAlias('chat:X')).toBeNull();
      });

      it('do not probe an unreachable platform at the same time', async () => {
        await one.outages.note('chat', 'unreachable', 'x', 1000);
        test.advance(1000);
        const taken = () =>
          Promise.all(
            Array.from({ length: 10 }, (_, n) => (n % 2 ? one : two).outages.takeProbe('chat', 5000)),
          );
        expect((await taken()).filter(Boolean)).toHaveLength(1);
        test.advance(4999);
        expect((await taken()).filter(Boolean)).toHaveLength(0);
        test.advance(1);
        expect((await taken()).filter(Boolean)).toHaveLength(1);
        expect(await two.outages.end('chat')).toBe(true);
        expect(await one.outages.list()).toEqual([]);
      });
    });
  });
}
