import { beforeEach, describe, expect, it } from 'vitest';
import type { GuardLimits } from '../../src/daemon/guard/verdict.ts';
import { guardUser } from '../../src/daemon/message/keys.ts';
import { CLAIM_MS } from '../../src/daemon/store/claims/claims.ts';
import type {
  AttemptOutcome,
  InboxClaim,
  InboxStore,
  NewInboxMessage,
  ScreenedMessage,
  Taken,
} from '../../src/daemon/store/inbox/inbox.ts';
import { anInboxMessage } from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { callBoth, storeReply, sweepAll, sweepExpired } from './store-writes.ts';

const DAY = 24 * 60 * 60 * 1000;

/** The contract of the port `inbox`. */
export function describeInbox(current: () => StoreUnderTest): void {
  describe('inbox', () => {
    let test: StoreUnderTest;
    let inbox: InboxStore;
    /** That of another daemon. */
    let other: InboxStore;

    beforeEach(async () => {
      test = current();
      inbox = test.store.inbox;
      other = (await test.another()).inbox;
    });

    describe('enqueue', () => {
      it('stores a message exactly as it was given', async () => {
        const message = anInboxMessage({ text: 'it\'s \u0000 👩‍👩‍👧 "here"', message_id: 'm1' });
        expect(await inbox.enqueue([message])).toEqual(['kept']);
        expect(await inbox.find(message.id)).toEqual({
          ...message,
          state: 'waiting',
          received_at: test.now(),
          attempts: 0,
          sends: 0,
          next_attempt_at: test.now(),
          question: null,
          notice: null,
          failure: null,
          notice_failure: null,
          passing: 0,
          first_run_at: null,
          text_stored_at: null,
          parts_sent: 0,
          interrupted: 0,
          ended_at: null,
        });
        expect(await inbox.find('nothing')).toBeNull();
      });

      it('stores only one message with the same id and platform, within one call and across calls', async () => {
        const twice = [anInboxMessage({ message_id: 'm1' }), anInboxMessage({ message_id: 'm1' })];
        expect(await inbox.enqueue(twice)).toEqual(['kept', 'repeated']);
        expect(await inbox.enqueue([anInboxMessage({ message_id: 'm1' })])).toEqual(['repeated']);
        const other = anInboxMessage({ message_id: 'm1', platform: 'mail' });
        expect(await inbox.enqueue([other, anInboxMessage(), anInboxMessage()])).toEqual([
          'kept',
          'kept',
          'kept',
        ]);
        const many = await callBoth(test, 20, (store) =>
          store.inbox.enqueue([anInboxMessage({ message_id: 'm2' })]),
        );
        expect(many.flat().filter((outcome) => outcome === 'kept')).toHaveLength(1);
      });

      it('recognizes a message id for 7 days, even after the message was done or discarded', async () => {
        const discarded = anInboxMessage({ message_id: 'discarded' });
        await inbox.enqueue([anInboxMessage({ message_id: 'done' }), discarded]);
        await inbox.discard(discarded.id);
        await finish(await claimed());
        test.advance(7 * DAY - 1);
        await sweepAll(test.store);
        const again = () => [
          anInboxMessage({ message_id: 'done' }),
          anInboxMessage({ message_id: 'discarded' }),
        ];
        expect(await inbox.enqueue(again())).toEqual(['repeated', 'repeated']);
        test.advance(1);
        expect(await inbox.enqueue(again())).toEqual(['kept', 'kept']);
      });

      it('stores no message of a delivery that exceeds the free space, but recognizes repeated messages', async () => {
        await inbox.enqueue(Array.from({ length: 49 }, (_, n) => anInboxMessage({ message_id: `m${n}` })));
        const [first, second] = [anInboxMessage({ message_id: 'a' }), anInboxMessage({ message_id: 'b' })];
        expect(await inbox.enqueue([first, second])).toBeNull();
        expect(await inbox.find(first.id)).toBeNull();
        expect(await inbox.enqueue([first])).toEqual(['kept']);
        expect(await inbox.enqueue([anInboxMessage({ message_id: 'm1' })])).toEqual(['repeated']);
        expect(await inbox.enqueue([second])).toBeNull();
        await finish(await claimed());
        expect(await inbox.enqueue([second])).toEqual(['kept']);
        await inbox.discard(second.id);
        expect(await inbox.enqueue([anInboxMessage()])).toEqual(['kept']);
        await fail(await claimed(), 'agent_failed');
        expect(await inbox.enqueue([anInboxMessage()])).toEqual(['kept']);
        expect(await inbox.enqueue([anInboxMessage()])).toBeNull();
      });
    });

    describe('counts', () => {
      it('reports how many messages are in each state, and when the oldest of them arrived', async () => {
        expect(await inbox.counts()).toEqual([]);
        const received_at = test.now();
        await inbox.enqueue([anInboxMessage(), anInboxMessage(), anInboxMessage({ platform: 'mail' })]);
        test.advance(1000);
        await inbox.enqueue([anInboxMessage()]);
        const [first, second] = await inbox.claim('run', ['chat'], 2);
        await inbox.settle(first as InboxClaim, { kind: 'failed', failure: 'x' });
        await storeReply(test.store, second as InboxClaim, 'reply');
        await inbox.settle(second as InboxClaim, { kind: 'sent' });
        const counts = await inbox.counts();
        expect(counts).toHaveLength(3);
        expect(counts).toEqual(
          expect.arrayContaining([
            { platform: 'chat', state: 'failed', messages: 1, oldest_at: received_at },
            { platform: 'chat', state: 'waiting', messages: 1, oldest_at: received_at + 1000 },
            { platform: 'mail', state: 'waiting', messages: 1, oldest_at: received_at },
          ]),
        );
      });
    });

    describe('screen', () => {
      const limits: GuardLimits = {
        max_messages: 2,
        window_ms: 10_000,
        cooldown_ms: 30_000,
        max_turns: 200,
        repeat_threshold: 3,
        repeat_window_ms: 60_000,
        session_ttl_ms: DAY,
      };
      const user = guardUser({ platform: 'chat', user_id: 'u1', person: null, address: null });

      function arrival(message_id: string): ScreenedMessage {
        const session_id = 'chat:s';
        const message = anInboxMessage({ message_id, session_id, queue: session_id });
        const text = `text of ${message_id}`;
        return {
          message: message as ScreenedMessage['message'],
          guarded: { user, session_id, text, message_id, sent_at: null },
          notice: anInboxMessage({
            message: null,
            session_id: null,
            queue: 'chat/s',
            reply: '{max} used, goes on {time}',
          }),
        };
      }

      const screen = (...ids: string[]) => inbox.screen(ids.map(arrival), limits);

      /** The stored items, oldest first: the message id of each message, and the text of each notice. */
      const stored = async () =>
        (await inbox.list({ states: ['waiting', 'replied'], limit: 100 }))
          .map(({ message_id, reply }) => reply ?? message_id)
          .reverse();
      const filler = () => anInboxMessage({ reply: 'filler' });
      const withoutFillers = async () => (await stored()).filter((one) => one !== 'filler');

      it('stores the messages that pass, in order, and the traces of the blocked messages', async () => {
        const { verdicts, outcomes } = await screen('m1', 'm2', 'm3', 'm4');
        expect(verdicts).toMatchObject([
          { allowed: true, messages: 1, turns: 1 },
          { allowed: true, messages: 2, turns: 2 },
          { allowed: false, reason: 'rate_limit', opened: true, count: 3 },
          { allowed: false, reason: 'rate_limit', opened: false, blocked: 2 },
        ]);
        expect(outcomes).toEqual(['kept', 'kept', null, null]);
        expect(await stored()).toEqual(['m1', 'm2']);
        for (const id of ['m3', 'm4'])
          expect(await test.store.traces.find(id)).toMatchObject([{ outcome: 'loop_guard_blocked' }]);
        expect(await test.store.traces.find('m1')).toEqual([]);
      });

      it('stores one notice for a session that has used all its turns', async () => {
        const few = { ...limits, max_messages: 10, max_turns: 1 };
        const { outcomes } = await inbox.screen(['m1', 'm2', 'm3'].map(arrival), few);
        expect(outcomes).toEqual(['kept', 'kept', null]);
        const notice = expect.stringMatching(/^1 used, goes on \d{4}-\d\d-\d\d \d\d:\d\d$/);
        expect(await stored()).toEqual(['m1', notice]);
        expect(await test.store.traces.find('m2')).toHaveLength(1);
        expect(await test.store.traces.find('m3')).toHaveLength(1);
        const again = await inbox.screen(['m1', 'm2', 'm3'].map(arrival), few);
        expect(again.outcomes).toEqual(['repeated', 'repeated', null]);
        expect(await inbox.claim('send', ['chat'], 10)).toMatchObject([
          { message: { queue: 'chat/s', reply: notice, session_id: null } },
        ]);
      });

      it('stores the notice of a session that has used all its turns as soon as the inbox has room', async () => {
        const few = { ...limits, max_messages: 10, max_turns: 1 };
        await screen('m1');
        await inbox.enqueue(Array.from({ length: 49 }, filler));
        expect((await inbox.screen([arrival('m2')], few)).outcomes).toBeNull();
        for (const { id } of await inbox.list({ states: ['replied'], limit: 2 })) await inbox.discard(id);
        expect((await inbox.screen([arrival('m2')], few)).outcomes).toEqual(['kept']);
        expect((await inbox.screen([arrival('m2')], few)).outcomes).toEqual(['repeated']);
        expect(await withoutFillers()).toEqual(['m1', expect.stringMatching(/^1 used/)]);
        expect(await test.store.traces.find('m2')).toHaveLength(1);
      });

      it('gives a repeated delivery the same verdicts, and counts and stores nothing twice', async () => {
        const first = await screen('m1', 'm2', 'm3');
        const again = await screen('m1', 'm2', 'm3');
        expect(again.verdicts).toEqual(first.verdicts.map((verdict) => ({ ...verdict, repeated: true })));
        expect(again.outcomes).toEqual(['repeated', 'repeated', null]);
        expect(await stored()).toEqual(['m1', 'm2']);
        expect(await test.store.traces.find('m3')).toHaveLength(1);
      });

      it('stores a message that was judged earlier but not stored', async () => {
        const verdict = await test.store.guard.check(arrival('m1').guarded, limits);
        expect(await screen('m1')).toEqual({
          verdicts: [{ ...verdict, repeated: true }],
          outcomes: ['kept'],
        });
        expect((await screen('m2')).verdicts).toMatchObject([{ allowed: true, messages: 2 }]);
      });

      it('remembers for 7 days that a message was stored, and for 7 days what its verdict was', async () => {
        // `m1` is stored without a verdict, and judged later. `m2` is judged, and stored again later.
        await inbox.enqueue([anInboxMessage({ message_id: 'm1', reply: 'said' })]);
        expect(await screen('m1')).toMatchObject({ verdicts: [{ repeated: false }], outcomes: ['repeated'] });
        await screen('m2');
        test.advance(7 * DAY);
        expect(await inbox.enqueue([anInboxMessage({ message_id: 'm1' })])).toEqual(['kept']);
        expect(await inbox.enqueue([anInboxMessage({ message_id: 'm2' })])).toEqual(['kept']);
        expect(await screen('m1', 'm2')).toMatchObject({
          verdicts: [
            { repeated: false, messages: 1 },
            { repeated: false, messages: 2 },
          ],
          outcomes: ['repeated', 'repeated'],
        });
        test.advance(7 * DAY);
        expect((await screen('m1')).outcomes).toEqual(['kept']);
      });

      it('accepts no message of a delivery if the inbox is full, but stores its verdicts and traces', async () => {
        await inbox.enqueue(Array.from({ length: 50 }, filler));
        const first = await screen('m1', 'm2', 'm3');
        expect(first.outcomes).toBeNull();
        expect(first.verdicts.map(({ allowed }) => allowed)).toEqual([true, true, false]);
        expect(await test.store.traces.find('m3')).toHaveLength(1);
        for (const { id } of await inbox.list({ states: ['replied'], limit: 3 })) await inbox.discard(id);
        const again = await screen('m1', 'm2', 'm3');
        expect(again.verdicts).toEqual(first.verdicts.map((verdict) => ({ ...verdict, repeated: true })));
        expect(again.outcomes).toEqual(['kept', 'kept', null]);
        expect(await withoutFillers()).toEqual(['m1', 'm2']);
      });

      it('judges and stores a message only once if many copies of its delivery arrive at once', async () => {
        const all = await Promise.all(Array.from({ length: 20 }, () => screen('m1')));
        const outcomes = all.flatMap(({ outcomes }) => outcomes);
        expect(outcomes.filter((outcome) => outcome === 'kept')).toHaveLength(1);
        expect(all.flatMap(({ verdicts }) => verdicts).filter(({ repeated }) => !repeated)).toHaveLength(1);
      });
    });

    describe('edit', () => {
      const editOf = (message: NewInboxMessage, text: string, other: object = {}) => ({
        platform: message.platform,
        message_id: message.message_id ?? '',
        user_id: message.message?.user_id ?? '',
        session_id: message.session_id ?? '',
        text,
        ...other,
      });

      it('replaces the text only until the first attempt has begun, and marks the message', async () => {
        const message = anInboxMessage({ message_id: 'm1', text: 'before' });
        await inbox.enqueue([message]);
        expect(await inbox.edit(editOf(message, 'it\'s "after"'))).toBe(true);
        expect(await inbox.edit(editOf(message, 'no', { platform: 'mail' }))).toBe(false);
        expect(await inbox.edit(editOf(message, 'no', { message_id: 'unknown' }))).toBe(false);
        const claim = await claimed();
        expect(claim.message.message).toEqual({ ...message.message, text: 'it\'s "after"', edited: true });
        expect(await inbox.edit(editOf(message, 'too late'))).toBe(false);
        await retryLater(claim, 0, 'agent_failed');
        expect(await inbox.edit(editOf(message, 'too late'))).toBe(false);
      });

      it('is ignored if another user made it, or in another session', async () => {
        const message = anInboxMessage({ message_id: 'm1', text: 'before' });
        await inbox.enqueue([message]);
        expect(await inbox.edit(editOf(message, 'yes', { user_id: 'another' }))).toBe(false);
        expect(await inbox.edit(editOf(message, 'yes', { session_id: 'chat:another' }))).toBe(false);
        expect((await claimed()).message.message).toEqual(message.message);
      });
    });

    describe('claim', () => {
      it('gives the first message of each queue to only one caller, and counts the attempt', async () => {
        const [a1, a2, b1] = [
          inQueue('a', { text: 'a1' }),
          inQueue('a', { text: 'a2' }),
          inQueue('b', { text: 'b1' }),
        ];
        await inbox.enqueue([a1, a2, b1]);
        const claims = (await callBoth(test, 2, (store) => store.inbox.claim('run', ['chat'], 10))).flat();
        const ofA = claims.find(({ message }) => message.id === a1.id);
        expect(new Set(claims.map(({ message }) => message.id))).toEqual(new Set([a1.id, b1.id]));
        expect(ofA?.message).toMatchObject({ state: 'running', attempts: 1, sends: 0 });
        expect(new Set(claims.map(({ owner }) => owner)).size).toBe(2);
        expect(await inbox.find(a1.id)).toEqual(ofA?.message);
        expect(await inbox.claim('run', ['chat'], 10)).toEqual([]);
      });

      it('gives out the next message of a queue only when the claim to the previous message has ended', async () => {
        await inbox.enqueue(['a1', 'a2', 'a3'].map((text) => inQueue('a', { text })));
        const order: unknown[] = [];
        for (let n = 0; n < 3; n++) {
          const claim = await claimed();
          order.push(claim.message.message?.text);
          expect(await other.claim('run', ['chat'], 10)).toEqual([]);
          await finish(claim);
        }
        expect(order).toEqual(['a1', 'a2', 'a3']);
        expect(await inbox.claim('run', ['chat'], 10)).toEqual([]);
        expect(await nextDueAt('chat')).toBeNull();
      });

      it('claims only messages of the given platforms and kind, the longest due first, up to the limit', async () => {
        const messages: NewInboxMessage[] = [];
        for (const queue of ['a', 'b', 'c']) {
          const message = inQueue(queue);
          messages.push(message);
          await inbox.enqueue([message]);
          test.advance(1);
        }
        const [a, b, c] = messages;
        const said = inQueue('said', { message: null, session_id: null, reply: 'hint' });
        await inbox.enqueue([anInboxMessage({ platform: 'mail' }), said]);
        expect((await inbox.claim('run', ['chat'], 2)).map(({ message }) => message.id)).toEqual([
          a?.id,
          b?.id,
        ]);
        expect((await inbox.claim('run', ['chat'], 2)).map(({ message }) => message.id)).toEqual([c?.id]);
        const [send] = await inbox.claim('send', ['chat'], 10);
        expect(send?.message).toMatchObject({ id: said.id, state: 'replied', attempts: 0, sends: 1 });
        expect(await inbox.claim('run', [], 10)).toEqual([]);
        expect(await inbox.claim('run', ['other', 'mail'], 10)).toHaveLength(1);
      });

      it('returns the time when the first unclaimed message is due', async () => {
        expect(await nextDueAt('chat')).toBeNull();
        await inbox.enqueue([anInboxMessage()]);
        expect(await nextDueAt('chat')).toBe(test.now());
        expect(await nextDueAt('mail')).toBeNull();
        const claim = await claimed();
        expect(await nextDueAt('chat')).toBeNull();
        await retryLater(claim, 5000, 'agent_failed');
        expect(await nextDueAt('chat')).toBe(test.now() + 5000);
        await inbox.enqueue([anInboxMessage({ reply: 'said', message: null, session_id: null })]);
        expect(await nextDueAt('chat')).toBe(test.now());
      });
    });

    describe('retryLater', () => {
      it('postpones a message and the later messages of its queue, but no other queue', async () => {
        const [a1, a2, b1] = [inQueue('a'), inQueue('a'), inQueue('b')];
        await inbox.enqueue([a1, a2]);
        const claim = await claimed();
        expect(await retryLater(claim, 1000, 'agent_failed: why')).toBe(true);
        expect(await inbox.find(a1.id)).toMatchObject({
          state: 'waiting',
          attempts: 1,
          failure: 'agent_failed: why',
          next_attempt_at: test.now() + 1000,
        });
        await inbox.enqueue([b1]);
        expect((await claimed()).message.id).toBe(b1.id);
        expect(await other.claim('run', ['chat'], 10)).toEqual([]);
        test.advance(1000);
        const again = await claimed();
        expect(again.message).toMatchObject({ id: a1.id, attempts: 2, state: 'running' });
        await finish(again);
        expect((await claimed()).message.id).toBe(a2.id);
      });

      it('sends a message with a stored reply again, and does not run it again', async () => {
        const message = anInboxMessage();
        await inbox.enqueue([message]);
        const claim = await claimed();
        expect(await storeReply(test.store, claim, 'the reply')).toBe(true);
        expect(await inbox.find(message.id)).toMatchObject({
          state: 'replied',
          reply: 'the reply',
          sends: 1,
        });
        expect(await inbox.claim('send', ['chat'], 10)).toEqual([]);
        await retryLater(claim, 0, 'delivery_failed');
        expect(await inbox.claim('run', ['chat'], 10)).toEqual([]);
        const [send] = await inbox.claim('send', ['chat'], 10);
        expect(send?.message).toMatchObject({ reply: 'the reply', attempts: 1, sends: 2, state: 'replied' });
      });
    });

    describe('settle', () => {
      it('does not count an attempt that was given back', async () => {
        const message = anInboxMessage();
        await inbox.enqueue([message]);
        const first = await claimed();
        expect(first.message).toMatchObject({ attempts: 1, first_run_at: test.now() });
        expect(await settle(first, { kind: 'given_back' })).toBe(true);
        expect(await inbox.find(message.id)).toMatchObject({
          state: 'waiting',
          attempts: 0,
          first_run_at: null,
          next_attempt_at: test.now(),
        });
        await retryLater(await claimed(), 0, 'agent_failed');
        const began = test.now();
        test.advance(5);
        await settle(await claimed(), { kind: 'given_back' });
        expect(await inbox.find(message.id)).toMatchObject({ attempts: 1, first_run_at: began });
        const again = await claimed();
        await storeReply(test.store, again, 'the reply');
        await settle(again, { kind: 'given_back' });
        expect(await inbox.find(message.id)).toMatchObject({ state: 'replied', sends: 0, attempts: 2 });
      });

      it('counts runs that failed for a temporary reason separately', async () => {
        const message = anInboxMessage();
        await inbox.enqueue([message]);
        const began = test.now();
        await retryLater(await claimed(), 10, 'agent_failed: model_overloaded', false);
        test.advance(10);
        await retryLater(await claimed(), 10, 'agent_failed: runtime_threw', true);
        expect(await inbox.find(message.id)).toMatchObject({
          attempts: 2,
          passing: 1,
          first_run_at: began,
          failure: 'agent_failed: runtime_threw',
        });
      });

      it('keeps the reason why the run failed, and adds the reason why the platform refused the notice', async () => {
        const message = anInboxMessage();
        await inbox.enqueue([message]);
        await notify(await claimed(), 'sorry', 'agent_failed: model_refused');
        const notice = async () => (await inbox.claim('send', ['chat'], 1))[0] as InboxClaim;
        await retryLater(await notice(), 0, 'delivery_failed: status 503');
        const both = {
          failure: 'agent_failed: model_refused',
          notice_failure: 'delivery_failed: status 503',
        };
        expect(await inbox.find(message.id)).toMatchObject({ ...both, state: 'replied', sends: 1 });
        await fail(await notice(), 'delivery_refused: blocked');
        expect(await inbox.find(message.id)).toMatchObject({
          state: 'failed',
          failure: 'agent_failed: model_refused',
          notice_failure: 'delivery_refused: blocked',
        });
      });

      it('sends the reply and no notice if a run stored its reply before it was reported as failed', async () => {
        const message = anInboxMessage();
        await inbox.enqueue([message]);
        const run = await claimed();
        await storeReply(test.store, run, 'the reply');
        await notify(run, 'sorry', 'unavailable');
        expect(await inbox.find(message.id)).toMatchObject({
          state: 'replied',
          reply: 'the reply',
          notice: null,
          sends: 0,
          next_attempt_at: test.now(),
        });
        const [sending] = await inbox.claim('send', ['chat'], 1);
        await finish(sending as InboxClaim);
        expect(await inbox.find(message.id)).toMatchObject({ state: 'done', failure: null });
      });

      it('clears the failure of earlier runs when a reply is stored', async () => {
        const message = anInboxMessage();
        await inbox.enqueue([message]);
        await retryLater(await claimed(), 0, 'agent_failed');
        test.advance(7);
        await storeReply(test.store, await claimed(), 'the reply');
        expect(await inbox.find(message.id)).toMatchObject({ failure: null, text_stored_at: test.now() });
      });
    });

    describe('parts that were sent', () => {
      it('are counted for the text that is being sent, and the count never decreases', async () => {
        const message = anInboxMessage();
        await inbox.enqueue([message]);
        const claim = await claimed();
        expect(await inbox.partsSent(message.id)).toBe(0);
        await storeReply(test.store, claim, 'the reply');
        await inbox.notePartsSent(message.id, 2);
        await inbox.notePartsSent(message.id, 1);
        expect(await inbox.partsSent(message.id)).toBe(2);
        await inbox.notePartsSent('unknown', 3);
        expect(await inbox.partsSent('unknown')).toBe(0);
        const next = await test.restart();
        expect(await next.inbox.partsSent(message.id)).toBe(2);
      });

      it('stay counted when a failed reply is retried, because the platform has them', async () => {
        const message = anInboxMessage();
        await inbox.enqueue([message]);
        const claim = await claimed();
        await storeReply(test.store, claim, 'the reply');
        await inbox.notePartsSent(message.id, 2);
        await fail(claim, 'delivery_refused');
        await inbox.retry(message.id);
        expect(await inbox.find(message.id)).toMatchObject({ parts_sent: 2, text_stored_at: test.now() });
      });
    });

    describe('messages on which a process was working when it died', () => {
      it('are claimed with the fewest interruptions first, until a failed attempt resets their count', async () => {
        const [a, b] = [inQueue('a'), inQueue('b')];
        await inbox.enqueue([a, b]);
        await inbox.claim('run', ['chat'], 10);
        const died = async () => {
          const next = await test.restart();
          test.advance(CLAIM_MS);
          await next.inbox.reap();
          return next;
        };
        const due = test.now();
        let store = await died();
        // The process dies again while it works on the first message.
        const [first] = await store.inbox.claim('run', ['chat'], 1, 'interrupted');
        expect(first?.message).toMatchObject({ id: a.id, interrupted: 1 });
        store = await died();
        expect(await store.inbox.nextDueAt('run', ['chat'])).toBe(due);
        const claims = await store.inbox.claim('run', ['chat'], 10, 'interrupted');
        expect(claims.map(({ message }) => [message.id, message.interrupted])).toEqual([
          [b.id, 1],
          [a.id, 2],
        ]);
        const [ofB, ofA] = claims as [InboxClaim, InboxClaim];
        await store.inbox.settle(ofB, { kind: 'given_back' });
        await store.inbox.settle(ofA, { kind: 'again', wait_ms: 0, failure: 'agent_failed', counts: true });
        expect(await store.inbox.find(b.id)).toMatchObject({ interrupted: 1 });
        expect(await store.inbox.find(a.id)).toMatchObject({ interrupted: 0 });
        expect(await store.inbox.claim('run', ['chat'], 10)).toMatchObject([{ message: { id: a.id } }]);
      });
    });

    describe('take', () => {
      const ROOM = { run: 10, send: 10, idle: false };
      const idsOf = ({ claims }: Taken) => claims.map(({ message }) => message.id).sort();

      it('claims the runs and texts that are due, as `claim` does, up to the free slots for each kind', async () => {
        const [run, text, later] = [inQueue('a'), inQueue('b', { reply: 'text' }), inQueue('c')];
        await inbox.enqueue([run, text]);
        test.advance(1);
        await inbox.enqueue([later, inQueue('d', { platform: 'mail' })]);
        expect(await inbox.take(['chat'], { ...ROOM, run: 0, send: 0 })).toEqual({
          outages: [],
          interrupted: false,
          claims: [],
        });
        const taken = await inbox.take(['chat'], { ...ROOM, run: 1 });
        expect(idsOf(taken)).toEqual([run.id, text.id].sort());
        const states = new Map(taken.claims.map(({ message }) => [message.id, message]));
        expect(states.get(run.id)).toMatchObject({ state: 'running', attempts: 1, sends: 0 });
        expect(states.get(text.id)).toMatchObject({ state: 'replied', attempts: 0, sends: 1 });
        for (const claim of taken.claims) expect(await inbox.renew(claim)).toBe(true);
        expect(idsOf(await inbox.take(['chat'], ROOM))).toEqual([later.id]);
        expect(idsOf(await inbox.take(['chat'], ROOM))).toEqual([]);
      });

      it('claims no texts of an unreachable platform, and reports the outage', async () => {
        const [away, near] = [inQueue('a', { reply: 'x' }), inQueue('b', { reply: 'y', platform: 'mail' })];
        const run = inQueue('c');
        await inbox.enqueue([away, near, run]);
        await test.store.outages.note('chat', 'unreachable', 'no answer', 1000);
        const taken = await inbox.take(['chat', 'mail'], ROOM);
        expect(idsOf(taken)).toEqual([near.id, run.id].sort());
        expect(taken.outages).toEqual(await test.store.outages.list());
        expect(taken.outages).toMatchObject([{ platform: 'chat', words: 'no answer' }]);
      });

      it('claims nothing but an interrupted message of the given platforms, and only for an idle worker', async () => {
        const died = inQueue('a');
        await inbox.enqueue([died]);
        await inbox.claim('run', ['chat'], 1);
        const next = await test.restart();
        test.advance(CLAIM_MS);
        await next.inbox.reap();
        await next.inbox.enqueue([inQueue('b'), inQueue('c', { platform: 'mail' })]);
        expect(await next.inbox.take(['chat', 'mail'], ROOM)).toMatchObject({
          interrupted: true,
          claims: [],
        });
        expect(await next.inbox.take(['mail'], ROOM)).toMatchObject({ interrupted: false, claims: [{}] });
        const taken = await next.inbox.take(['chat', 'mail'], { ...ROOM, idle: true });
        expect([taken.interrupted, idsOf(taken)]).toEqual([true, [died.id]]);
      });

      it('skips an interrupted text whose platform is unreachable', async () => {
        await inbox.enqueue([inQueue('a', { reply: 'x' })]);
        await inbox.claim('send', ['chat'], 1);
        const next = await test.restart();
        test.advance(CLAIM_MS);
        await next.inbox.reap();
        await next.inbox.enqueue([inQueue('b')]);
        expect(await next.inbox.take(['chat'], ROOM)).toMatchObject({ interrupted: true, claims: [] });
        await next.outages.note('chat', 'unreachable', 'no answer', 1000);
        expect(await next.inbox.take(['chat'], ROOM)).toMatchObject({ interrupted: false, claims: [{}] });
      });
    });

    describe('expire', () => {
      it('marks unclaimed texts of a platform as failed if they were stored by the given time', async () => {
        const [old, sent, other, fresh] = [
          inQueue('a', { reply: 'old' }),
          inQueue('b', { reply: 'sent' }),
          inQueue('c', { reply: 'other', platform: 'mail' }),
          inQueue('d', { reply: 'fresh' }),
        ];
        await inbox.enqueue([sent]);
        const [claim] = await inbox.claim('send', ['chat'], 1);
        await inbox.enqueue([old, other]);
        const until = test.now();
        test.advance(1);
        await inbox.enqueue([fresh]);
        expect(await inbox.expire('chat', until, 'delivery_failed: too late')).toBe(1);
        expect(await inbox.find(old.id)).toMatchObject({
          state: 'failed',
          reply: 'old',
          failure: 'delivery_failed: too late',
          ended_at: test.now(),
        });
        expect(await finish(claim as InboxClaim)).toBe(true);
        const left = await inbox.claim('send', ['chat', 'mail'], 10);
        expect(left.map(({ message }) => message.id)).toEqual([other.id, fresh.id]);
      });
    });

    describe('retryFailed', () => {
      it('retries the messages that failed since a time, of one platform or all', async () => {
        const [early, late, mail] = [inQueue('a'), inQueue('b'), inQueue('c', { platform: 'mail' })];
        await inbox.enqueue([early]);
        await fail(await claimed(), 'agent_failed');
        test.advance(1000);
        await inbox.enqueue([late]);
        await fail(await claimed(), 'agent_failed');
        await inbox.enqueue([mail]);
        const [ofMail] = await inbox.claim('run', ['mail'], 1);
        await fail(ofMail as InboxClaim, 'agent_failed');
        const beside = (await test.beside()).inbox;
        expect(await beside.retryFailed({ platform: 'sms' })).toEqual([]);
        const since = { platform: 'chat', failed_since: test.now() };
        expect(await beside.retryFailed(since)).toEqual([late.id]);
        expect(await beside.retryFailed({})).toEqual([early.id, mail.id]);
        expect(await beside.retryFailed({})).toEqual([]);
        const claims = await inbox.claim('run', ['chat', 'mail'], 10);
        expect(claims.map(({ message }) => message.id).sort()).toEqual([early.id, late.id, mail.id].sort());
      });
    });

    describe('a message that ends', () => {
      it('is done when its reply was sent, and is deleted after 7 days', async () => {
        const message = anInboxMessage();
        await inbox.enqueue([message]);
        const claim = await claimed();
        await storeReply(test.store, claim, 'the reply');
        expect(await finish(claim)).toBe(true);
        expect(await inbox.find(message.id)).toMatchObject({
          state: 'done',
          failure: null,
          ended_at: test.now(),
        });
        test.advance(7 * DAY - 1);
        expect(await sweepAll(test.store)).toBe(0);
        expect(await inbox.find(message.id)).not.toBeNull();
        test.advance(1);
        // The sweep deletes the message and the trace of its turn.
        if (test.store.maintenance !== null) expect(await sweepExpired(test)).toBe(2);
        expect(await inbox.find(message.id)).toBeNull();
      });

      it('has failed when its notice was sent, and only then can the next message be claimed', async () => {
        const [a1, a2] = [inQueue('a'), inQueue('a')];
        await inbox.enqueue([a1, a2]);
        expect(await notify(await claimed(), 'sorry', 'agent_failed')).toBe(true);
        expect(await inbox.find(a1.id)).toMatchObject({ state: 'replied', notice: 'sorry', sends: 0 });
        expect(await inbox.claim('run', ['chat'], 10)).toEqual([]);
        const [send] = await inbox.claim('send', ['chat'], 10);
        expect(send?.message).toMatchObject({ id: a1.id, notice: 'sorry', sends: 1 });
        if (send) await finish(send);
        expect(await inbox.find(a1.id)).toMatchObject({ state: 'failed', failure: 'agent_failed' });
        expect((await claimed()).message.id).toBe(a2.id);
      });

      it('stays in the list of failed messages for 30 days, unless too many newer messages have failed', async () => {
        const failed = Array.from({ length: 7 }, () => anInboxMessage());
        for (const message of failed) {
          await inbox.enqueue([message]);
          await fail(await claimed(), 'agent_failed: broke');
          test.advance(1000);
        }
        await sweepAll(test.store);
        const list = await inbox.list({ states: ['failed'], limit: 10 });
        expect(list.map(({ id }) => id)).toEqual(
          failed
            .slice(-5)
            .map(({ id }) => id)
            .reverse(),
        );
        expect(list[0]).toMatchObject({ state: 'failed', failure: 'agent_failed: broke' });
        test.advance(20 * DAY);
        await sweepAll(test.store);
        expect(await inbox.list({ states: ['failed'], limit: 10 })).toHaveLength(5);
        test.advance(10 * DAY);
        await sweepAll(test.store);
        expect(await inbox.list({ states: ['failed'], limit: 10 })).toEqual([]);
      });
    });

    describe('fencing', () => {
      it('leaves a message to a daemon that renews its claim', async () => {
        await inbox.enqueue([anInboxMessage()]);
        const claim = await claimed();
        for (let n = 0; n < 4; n++) {
          test.advance(CLAIM_MS - 1);
          expect(await inbox.renew(claim)).toBe(true);
          expect(await other.reap()).toBe(0);
        }
        expect(await finish(claim)).toBe(true);
      });

      it('refuses every write under a claim that has ended, also once another daemon has the message', async () => {
        const message = anInboxMessage();
        await inbox.enqueue([message]);
        const old = await claimed();
        const refused = async () => {
          const before = await other.find(message.id);
          expect(await inbox.renew(old)).toBe(false);
          expect(await storeReply(test.store, old, 'stale')).toBe(false);
          expect(await settle(old, { kind: 'given_back' })).toBe(false);
          expect(await retryLater(old, 0, 'stale')).toBe(false);
          expect(await notify(old, 'stale', 'stale')).toBe(false);
          expect(await finish(old)).toBe(false);
          expect(await fail(old, 'stale')).toBe(false);
          expect(await other.find(message.id)).toEqual(before);
        };
        test.advance(CLAIM_MS);
        expect(await other.reap()).toBe(1);
        await refused();
        const [now] = (await other.claim('run', ['chat'], 1, 'interrupted')) as [InboxClaim];
        await refused();
        expect(await other.settle(now, { kind: 'sent' })).toBe(true);
      });

      it('gives the messages of a dead process to the next process, with their attempts counted', async () => {
        const [run, replied, behind] = [inQueue('a'), inQueue('b'), inQueue('a')];
        await inbox.enqueue([run, replied, behind]);
        const claims = await inbox.claim('run', ['chat'], 10);
        const ofReplied = claims.find(({ message }) => message.id === replied.id);
        if (ofReplied) await storeReply(test.store, ofReplied, 'the reply');
        expect(await inbox.reap()).toBe(0);
        const next = await test.restart();
        test.advance(CLAIM_MS);
        expect(await next.inbox.reap()).toBe(2);
        expect(await next.inbox.find(run.id)).toMatchObject({
          state: 'waiting',
          attempts: 1,
          interrupted: 1,
        });
        expect(await next.inbox.claim('run', ['chat'], 10)).toEqual([]);
        const [again] = await next.inbox.claim('run', ['chat'], 10, 'interrupted');
        expect(again?.message).toMatchObject({ id: run.id, attempts: 2 });
        const [send] = await next.inbox.claim('send', ['chat'], 10, 'interrupted');
        expect(send?.message).toMatchObject({ id: replied.id, reply: 'the reply', attempts: 1, sends: 2 });
        expect(await next.inbox.reap()).toBe(0);
      });
    });

    describe('while a daemon runs', () => {
      it('lists the messages in the given states, newest first', async () => {
        const [done, failed, open] = [anInboxMessage(), anInboxMessage(), anInboxMessage()];
        await inbox.enqueue([done]);
        await finish(await claimed());
        await inbox.enqueue([failed]);
        await fail(await claimed(), 'agent_failed');
        await inbox.enqueue([open]);
        const beside = (await test.beside()).inbox;
        const ids = async (states: Parameters<InboxStore['list']>[0]['states'], limit = 10) =>
          (await beside.list({ states, limit })).map(({ id }) => id);
        expect(await ids(['waiting', 'running', 'replied', 'done', 'failed'])).toEqual([
          open.id,
          failed.id,
          done.id,
        ]);
        expect(await ids(['failed'])).toEqual([failed.id]);
        expect(await ids(['waiting', 'done'], 1)).toEqual([open.id]);
      });

      it('retries a failed message before the later messages of its queue', async () => {
        const [a1, a2] = [inQueue('a'), inQueue('a')];
        await inbox.enqueue([a1, a2]);
        await notify(await claimed(), 'sorry', 'agent_failed');
        const [send] = await inbox.claim('send', ['chat'], 1);
        if (send) await finish(send);
        const beside = (await test.beside()).inbox;
        expect(await beside.retry(a1.id)).toBe(true);
        expect(await inbox.find(a1.id)).toMatchObject({
          state: 'waiting',
          attempts: 0,
          sends: 0,
          notice: null,
          failure: null,
          ended_at: null,
        });
        expect((await claimed()).message.id).toBe(a1.id);
        expect(await beside.retry(a1.id)).toBe(false);
        expect(await beside.retry('unknown')).toBe(false);
      });

      it('makes a retried message wait while its queue is claimed', async () => {
        const [a1, a2] = [inQueue('a'), inQueue('a')];
        await inbox.enqueue([a1, a2]);
        await fail(await claimed(), 'agent_failed');
        const claim = await claimed();
        expect(claim.message.id).toBe(a2.id);
        expect(await inbox.retry(a1.id)).toBe(true);
        expect(await inbox.claim('run', ['chat'], 10)).toEqual([]);
        expect(await finish(claim)).toBe(true);
        expect((await claimed()).message.id).toBe(a1.id);
      });

      it('sends the stored reply when a failed message is retried', async () => {
        const message = anInboxMessage();
        await inbox.enqueue([message]);
        const claim = await claimed();
        await storeReply(test.store, claim, 'the reply');
        await fail(claim, 'delivery_refused');
        expect(await inbox.retry(message.id)).toBe(true);
        expect((await inbox.claim('send', ['chat'], 1))[0]?.message).toMatchObject({
          reply: 'the reply',
          sends: 1,
        });
      });

      it('finds a message by its id, and by its message id with or without the channel, in any state', async () => {
        const [done, failed, open] = [
          anInboxMessage({ message_id: 'room:1' }),
          anInboxMessage({ message_id: 'room:2' }),
          anInboxMessage({ message_id: 'room:3' }),
        ];
        await inbox.enqueue([done, failed, open]);
        await finish(await claimed());
        await fail(await claimed(), 'agent_failed');
        for (const { id, message_id } of [done, failed, open]) {
          for (const name of [id, `${message_id}`, `chat:${message_id}`])
            expect((await inbox.search(name)).map((found) => found.id)).toEqual([id]);
        }
        for (const stranger of ['room:4', 'mail:room:1', 'room', '', 'chat:', '1'])
          expect(await inbox.search(stranger)).toEqual([]);
      });

      it('finds every message for an id, newest first, but no done message by request or session id', async () => {
        const [first, second, done] = [
          inQueue('a', { message_id: 'm', request_id: 'r' }),
          inQueue('a', { message_id: 'm', platform: 'mail', request_id: 'r' }),
          inQueue('b', { request_id: 'r' }),
        ];
        await inbox.enqueue([done]);
        await finish(await claimed());
        await inbox.enqueue([first, second]);
        for (const name of ['m', 'r', 'chat:a'])
          expect((await inbox.search(name)).map(({ id }) => id)).toEqual([second.id, first.id]);
        expect((await inbox.search('mail:m')).map(({ id }) => id)).toEqual([second.id]);
        expect(await inbox.search('chat:b')).toEqual([]);
      });

      it('lets a waiting message be retried at once, before its next attempt is due', async () => {
        const message = anInboxMessage();
        await inbox.enqueue([message]);
        await retryLater(await claimed(), DAY, 'agent_failed');
        expect(await inbox.retry(message.id)).toBe(true);
        expect((await claimed()).message).toMatchObject({ id: message.id, attempts: 2 });
      });

      it('discards a message in any state, and ends the claim to it', async () => {
        const [a1, a2, a3] = [inQueue('a'), inQueue('a'), inQueue('a')];
        await inbox.enqueue([a1, a2, a3]);
        const claim = await claimed();
        const beside = (await test.beside()).inbox;
        expect(await beside.discard(a2.id)).toBe(true);
        expect(await inbox.renew(claim)).toBe(true);
        expect(await beside.discard(a1.id)).toBe(true);
        expect(await beside.discard(a1.id)).toBe(false);
        expect(await storeReply(test.store, claim, 'discarded')).toBe(false);
        expect((await claimed()).message.id).toBe(a3.id);
        await beside.discard(a3.id);
        expect(await nextDueAt('chat')).toBeNull();
        expect(await inbox.list({ states: ['waiting', 'running', 'replied'], limit: 10 })).toEqual([]);
      });
    });

    const settle = (claim: InboxClaim, outcome: AttemptOutcome) => inbox.settle(claim, outcome);
    const finish = (claim: InboxClaim) => settle(claim, { kind: 'sent' });
    const fail = (claim: InboxClaim, failure: string) => settle(claim, { kind: 'failed', failure });
    const notify = (claim: InboxClaim, notice: string, failure: string) =>
      settle(claim, { kind: 'notify', notice, failure });
    const retryLater = (claim: InboxClaim, wait_ms: number, failure: string, counts = true) =>
      settle(claim, { kind: 'again', wait_ms, failure, counts });

    async function nextDueAt(platform: string): Promise<number | null> {
      const due = [await inbox.nextDueAt('run', [platform]), await inbox.nextDueAt('send', [platform])];
      const times = due.filter((time) => time !== null);
      return times.length === 0 ? null : Math.min(...times);
    }

    function inQueue(queue: string, members: Parameters<typeof anInboxMessage>[0] = {}): NewInboxMessage {
      return anInboxMessage({ queue: `chat:${queue}`, session_id: `chat:${queue}`, ...members });
    }

    async function claimed(): Promise<InboxClaim> {
      const [claim] = await inbox.claim('run', ['chat'], 1);
      if (!claim) throw new Error('no message was due');
      return claim;
    }
  });
}
