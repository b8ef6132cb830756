import { beforeEach, describe, expect, it } from 'vitest';
import type { StreamEvent } from '../../src/channel/index.ts';
import {
  CLAIM_MS,
  type KeyClaim,
  type SessionClaim,
  type StreamClaim,
} from '../../src/daemon/store/claims/claims.ts';
import type { InboxClaim } from '../../src/daemon/store/inbox/inbox.ts';
import type { TurnChanges } from '../../src/daemon/store/sessions/turns.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import {
  anInboxMessage,
  aPendingAction,
  aSession,
  aStream,
  aTrace,
  aTurn,
  aWaitingQuestion,
} from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { claimSession, commitUnderClaim, saveSession } from './store-writes.ts';

const HOUR = 60 * 60 * 1000;
const ANSWER = { session_id: 's', response: 'hello' };
const END: StreamEvent[] = [
  { id: 1, event: 'complete', data: '{}' },
  { id: 2, event: 'stream_complete', data: '{}' },
];

/** An uncommitted turn that changes everything that an answered turn can change. */
export interface FullTurn {
  claim: SessionClaim;
  changes: Required<Omit<TurnChanges, 'failed' | 'ends_claim'>>;
  /** Reads everything that the commit of the turn would change. */
  read(): Promise<Record<string, unknown>>;
}

const FAILED = { kind: 'notify', notice: 'Sorry.', failure: 'agent_failed' } as const;

/**
 * Begins a turn on this store, in a session that is not stored yet.
 * @param reader the store in which `read` reads
 */
export async function beginFullTurn(store: Store, now: number, reader = store): Promise<FullTurn> {
  const session = aSession(now);
  const { session_id } = session;
  const claim = await claimSession(store, session_id);
  const message = anInboxMessage({ session_id, queue: session_id });
  await store.inbox.enqueue([message]);
  const [inbox_claim] = (await store.inbox.claim('run', ['chat'], 1)) as [InboxClaim];
  const key = await store.idempotency.claim(session_id, 'body');
  const { stream_id } = await store.streams.create(aStream());
  const stream_claim = await store.streams.claim(stream_id, { owner: null, reader: null });
  const record = aTurn();
  const changes = {
    session,
    turn: { record, ttl_ms: 2 * HOUR },
    trace: aTrace(session, { turn_id: record.turn_id }),
    reply: { claim: inbox_claim, text: 'the reply' },
    pending: [aPendingAction(session)],
    acted_with: { sub: 'ada' },
    reply_to_asked: { principal: 'nobody', sent_by: null, repeats: null, withdraws: null },
    answered_question: 'unknown',
    waits: aWaitingQuestion(session, { turn_id: record.turn_id }),
    answer: { claim: (key as { claim: KeyClaim }).claim, answer: ANSWER, ttl_ms: HOUR },
    events: { claim: stream_claim as StreamClaim, events: END },
  };
  const read = async () => ({
    session: await reader.sessions.find(session_id),
    turns: await reader.sessions.turns(session_id),
    traces: await reader.traces.find(record.turn_id),
    message: await reader.inbox.find(message.id),
    pending: await reader.actions.find(changes.pending[0]?.action_id ?? ''),
    waits: await reader.waitingQuestions.ofTurn(record.turn_id),
    answer: await reader.idempotency.look(session_id, 'body'),
    stream: await reader.streams.find(stream_id),
    events: await reader.streams.read(stream_id, 0),
  });
  return { claim, changes, read };
}

/** The contract of `commitTurn`. */
export function describeTurns(current: () => StoreUnderTest): void {
  describe('commitTurn', () => {
    let test: StoreUnderTest;
    let store: Store;
    let other: Store;

    beforeEach(async () => {
      test = current();
      store = test.store;
      other = await test.another();
    });

    /** Begins a turn; another daemon reads what it changes. */
    const begin = () => beginFullTurn(store, test.now(), other);

    it('stores a turn, counts it and extends the session', async () => {
      const session = aSession(test.now());
      await saveSession(store, session);
      test.advance(HOUR / 2);
      const sealed = { calls: 'sealed.v1.calls', calls_bytes: 7, state: 'sealed.v1.state' };
      const record = aTurn({ text: 'hello', tainted: false, ...sealed });
      const trace = aTrace(session);
      const changes = { turn: { record, ttl_ms: HOUR }, trace };
      expect(await commitUnderClaim(store, session.session_id, changes)).toBe('committed');
      expect(await store.sessions.turns(session.session_id)).toEqual([record]);
      expect(await store.traces.find(trace.turn_id)).toEqual([trace]);
      expect(await store.sessions.find(session.session_id)).toEqual({
        ...session,
        turns: 1,
        last_active_at: test.now(),
        expires_at: test.now() + HOUR,
      });
    });

    it('stores everything that a turn changes, and keeps it across a restart', async () => {
      const { claim, changes, read } = await begin();
      expect(await store.commitTurn(claim, changes)).toBe('committed');
      const { session, turn, trace, events } = changes;
      const stored = await read();
      expect(stored).toMatchObject({
        session: { ...session, turns: 1, last_active_at: test.now(), expires_at: test.now() + 2 * HOUR },
        turns: [turn.record],
        traces: [trace],
        message: { state: 'replied', reply: 'the reply', sends: 1, text_stored_at: test.now() },
        pending: { state: 'pending', asked_at: test.now() },
        waits: { link_key: 'chat:jwt:u1', expires_at: test.now() + HOUR },
        answer: { outcome: 'done', answer: ANSWER },
        stream: { state: 'ended', last_event: 2 },
        events: events.events,
      });
      const next = await test.restart();
      expect(await next.sessions.turns(session.session_id)).toEqual([turn.record]);
      expect(await next.idempotency.look(session.session_id, 'body')).toMatchObject({ outcome: 'done' });
    });

    it('keeps the claim of the session, for several commits of one turn', async () => {
      const session = aSession(test.now());
      const claim = await claimSession(store, session.session_id);
      const turn = () => ({ turn: { record: aTurn(), ttl_ms: HOUR }, trace: aTrace(session) });
      expect(await store.commitTurn(claim, { session, ...turn() })).toBe('committed');
      expect(await store.commitTurn(claim, turn())).toBe('committed');
      expect(await store.sessions.renew(claim)).toBe(true);
      expect((await store.sessions.find(session.session_id))?.turns).toBe(2);
    });

    it('creates a session in place of an expired session, without the old turns', async () => {
      const session = aSession(test.now());
      const turn = () => ({ record: aTurn(), ttl_ms: HOUR });
      const tag = session.session_id;
      await commitUnderClaim(store, tag, { session, turn: turn(), trace: aTrace(session) });
      test.advance(HOUR);
      const anew = aSession(test.now(), { session_id: tag, user_id: 'another' });
      await commitUnderClaim(store, tag, { session: anew, turn: turn(), trace: aTrace(anew) });
      expect(await store.sessions.find(tag)).toMatchObject({ user_id: 'another', turns: 1 });
      expect(await store.sessions.turns(tag)).toHaveLength(1);
    });

    it('stores everything except the turn and its pending action if the session has ended meanwhile', async () => {
      const { claim, changes, read } = await begin();
      const { session, ...rest } = changes;
      expect(await store.sessions.save(claim, session, 'new')).toBe('saved');
      await store.sessions.end(session.session_id);
      expect(await store.commitTurn(claim, rest)).toBe('session_ended');
      expect(await read()).toMatchObject({
        session: null,
        turns: [],
        traces: [changes.trace],
        message: { state: 'replied' },
        pending: null,
        answer: { outcome: 'done' },
        stream: { state: 'ended' },
      });
    });

    it('ends the claims of a key and of a finished stream, and no others', async () => {
      const { claim, changes } = await begin();
      await store.commitTurn(claim, changes);
      expect(await store.idempotency.renew(changes.answer.claim)).toBe(false);
      expect(await store.streams.renew(changes.events.claim)).toBe(false);
      expect(await store.inbox.renew(changes.reply.claim)).toBe(true);
      expect(await store.sessions.renew(claim)).toBe(true);
    });

    it('stores nothing without a valid claim of the session', async () => {
      const { claim, changes, read } = await begin();
      const before = await read();
      expect(await store.commitTurn({ ...claim, owner: 'another' }, changes)).toBe('lost');
      await store.sessions.release(claim);
      expect(await store.commitTurn(claim, changes)).toBe('lost');
      expect(await read()).toEqual(before);
    });

    it('stores nothing if the claim of the session was taken over, and leaves the session to its new owner', async () => {
      const { claim, changes, read } = await begin();
      const before = await read();
      test.advance(CLAIM_MS);
      const next = await claimSession(other, claim.session_tag);
      await renewOthers(changes);
      expect(await store.commitTurn(claim, { ...changes, ends_claim: true })).toBe('lost');
      expect(await read()).toEqual(before);
      const { session, turn, trace } = changes;
      expect(await other.commitTurn(next, { session, turn, trace })).toBe('committed');
    });

    it('stores a turn under expired claims if nobody has taken them over', async () => {
      const { claim, changes } = await begin();
      test.advance(CLAIM_MS);
      expect(await store.commitTurn(claim, changes)).toBe('committed');
      expect(await other.sessions.turns(claim.session_tag)).toEqual([changes.turn.record]);
    });

    it.each([
      {
        what: 'the message of the inbox',
        lose: ({ changes: { reply } }: FullTurn) => store.inbox.settle(reply.claim, { kind: 'given_back' }),
      },
      {
        what: 'the idempotency key',
        lose: ({ changes: { answer } }: FullTurn) => store.idempotency.release(answer.claim),
      },
      {
        what: 'the stream',
        lose: ({ changes: { events } }: FullTurn) => store.streams.release(events.claim),
      },
      { what: 'the message of a dead daemon', lose: () => other.inbox.reap() },
      {
        what: 'the idempotency key of a dead daemon',
        lose: ({ claim }: FullTurn) => other.idempotency.claim(claim.session_tag, 'body'),
      },
      { what: 'the stream of a dead daemon', lose: () => other.streams.reap({ event: 'error', data: '{}' }) },
    ])('stores nothing if the claim of $what has ended', async ({ lose }) => {
      const turn = await begin();
      test.advance(CLAIM_MS);
      expect(await store.sessions.renew(turn.claim)).toBe(true);
      await lose(turn);
      const before = await turn.read();
      expect(await store.commitTurn(turn.claim, turn.changes)).toBe('lost');
      expect(await turn.read()).toEqual(before);
    });

    it('stores nothing if the message of the inbox was discarded', async () => {
      const { claim, changes, read } = await begin();
      await (await test.beside()).inbox.discard(changes.reply.claim.message.id);
      const before = await read();
      expect(await store.commitTurn(claim, changes)).toBe('lost');
      expect(await read()).toEqual(before);
    });

    it('stores a failed turn and settles its message in the same commit', async () => {
      const { claim, changes, read } = await begin();
      const { turn, trace, session } = changes;
      const failed = { claim: changes.reply.claim, outcome: FAILED };
      expect(await store.commitTurn(claim, { session, turn, trace, failed })).toBe('committed');
      expect(await read()).toMatchObject({
        turns: [turn.record],
        message: { state: 'replied', notice: 'Sorry.', failure: 'agent_failed', reply: null, sends: 0 },
      });
      expect(await store.inbox.renew(failed.claim)).toBe(false);
      expect(await store.inbox.claim('send', ['chat'], 1)).toMatchObject([{ message: { sends: 1 } }]);
    });

    it('stores no failed turn if the claim of its message has ended', async () => {
      const { claim, changes, read } = await begin();
      const { turn, trace, session } = changes;
      const failed = { claim: changes.reply.claim, outcome: FAILED };
      await store.inbox.settle(failed.claim, { kind: 'given_back' });
      const before = await read();
      expect(await store.commitTurn(claim, { session, turn, trace, failed })).toBe('lost');
      expect(await read()).toEqual(before);
    });

    it('stores nothing if the events do not follow the last event of their stream', async () => {
      const { claim, changes, read } = await begin();
      const before = await read();
      const { events } = changes;
      const gap = { ...events, events: [{ id: 2, event: 'text_chunk' as const, data: '{}' }] };
      await expect(store.commitTurn(claim, { ...changes, events: gap })).rejects.toThrow(/does not follow/);
      expect(await read()).toEqual(before);
      expect(await store.commitTurn(claim, changes)).toBe('committed');
    });

    it('stores nothing if the id of the new session belongs to another session', async () => {
      const { claim, changes, read } = await begin();
      const former_id = changes.session.session_id;
      await store.sessions.save(claim, changes.session, 'new');
      const renamed = { ...changes.session, session_id: 'new id', former_id };
      await store.sessions.save(claim, renamed, 'changed');
      const before = await read();
      await expect(store.commitTurn(claim, changes)).rejects.toThrow();
      expect(await read()).toEqual(before);
    });

    it('ends the claim of the session in the same commit on request, unless the commit is refused', async () => {
      const { claim, changes } = await begin();
      expect(await store.commitTurn({ ...claim, owner: 'another' }, { ...changes, ends_claim: true })).toBe(
        'lost',
      );
      expect(await store.sessions.claim(claim.session_tag)).toBeNull();
      expect(await store.commitTurn(claim, { ...changes, ends_claim: true })).toBe('committed');
      expect(await store.sessions.renew(claim)).toBe(false);
      expect(await store.sessions.claim(claim.session_tag)).not.toBeNull();
    });

    it('wakes the subscribers of the stream, unless it stores nothing', async () => {
      const { claim, changes } = await begin();
      const seen: unknown[] = [];
      const { events } = changes;
      store.streams.subscribe(events.claim.stream_id, (change, added) => seen.push([change, added]));
      await store.commitTurn({ ...claim, owner: 'another' }, changes);
      expect(seen).toEqual([]);
      await store.commitTurn(claim, changes);
      expect(seen).toEqual([['events', events.events]]);
    });

    async function renewOthers({ reply, answer, events }: FullTurn['changes']): Promise<void> {
      expect(await store.inbox.renew(reply.claim)).toBe(true);
      expect(await store.idempotency.renew(answer.claim)).toBe(true);
      expect(await store.streams.renew(events.claim)).toBe(true);
    }
  });
}
