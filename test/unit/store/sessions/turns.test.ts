import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { StreamEvent } from '../../../../src/channel/index.ts';
import type { SessionClaim } from '../../../../src/daemon/store/claims/claims.ts';
import type { TurnChanges } from '../../../../src/daemon/store/sessions/turns.ts';
import type { Store } from '../../../../src/daemon/store/store.ts';
import { anInboxMessage, aSession, aStream, aTrace, aTurn } from '../../../contract/fixtures.ts';
import { openAt, stateDirectory } from '../state-directory.ts';
import { commitsIn } from '../wal-commits.ts';

const HOUR = 3_600_000;

/** A turn that changes everything a turn can change. */
async function fixture() {
  const path = join(stateDirectory(), 'agentd.db');
  const store = openAt(path);
  const session = aSession(Date.now());
  const claim = present(await store.sessions.claim(session.session_id));
  const key = await store.idempotency.claim('key', 'body');
  if (key.outcome !== 'new') throw new Error('the key is not new');
  const message = anInboxMessage();
  await store.inbox.enqueue([message]);
  const [inbox] = await store.inbox.claim('run', ['chat'], 1);
  const { stream_id } = await store.streams.create(aStream());
  const stream = present(await store.streams.claim(stream_id, { owner: null, reader: null }));
  const turn = aTurn();
  const changes = {
    session,
    turn: { record: turn, ttl_ms: HOUR },
    trace: aTrace(session, { turn_id: turn.turn_id }),
    reply: { claim: present(inbox), text: 'reply' },
    answer: { claim: key.claim, answer: { session_id: 's', response: 'answer' }, ttl_ms: HOUR },
    events: { claim: stream, events: ending(1) },
  } satisfies TurnChanges;
  return { path, store, claim, changes };
}

it('commitTurn writes all changes of a turn in one commit', async () => {
  const { path, store, claim, changes } = await fixture();
  const before = commitsIn(path);
  expect(await store.commitTurn(claim, changes)).toBe('committed');
  expect(commitsIn(path)).toBe(before + 1);
  expect(await stored(store, claim, changes)).toEqual({
    turns: 1,
    traces: 1,
    reply: 'reply',
    key: 'done',
    events: 2,
  });
});

it('commitTurn notifies subscribers of the events that it stores, and does not notify them if the commit is refused', async () => {
  const { store, claim, changes } = await fixture();
  const { stream_id } = changes.events.claim;
  const told: unknown[] = [];
  store.streams.subscribe(stream_id, (change, added) => told.push([change, added]));
  const stale = { ...claim, owner: 'another' };
  expect(await store.commitTurn(stale, changes)).toBe('lost');
  expect(told).toEqual([]);
  expect(await store.commitTurn(claim, changes)).toBe('committed');
  expect(told).toEqual([['events', changes.events.events]]);
});

async function stored(
  store: Store,
  claim: SessionClaim,
  changes: Awaited<ReturnType<typeof fixture>>['changes'],
) {
  const { trace, reply, events } = changes;
  return {
    turns: (await store.sessions.turns(claim.session_tag)).length,
    traces: (await store.traces.find(trace.turn_id)).length,
    reply: (await store.inbox.find(reply.claim.message.id))?.reply,
    key: (await store.idempotency.look('key', 'body')).outcome,
    events: (await store.streams.read(events.claim.stream_id, 0))?.length,
  };
}

function ending(id: number): StreamEvent[] {
  return [
    { id, event: 'complete', data: '{}' },
    { id: id + 1, event: 'stream_complete', data: '{}' },
  ];
}

function present<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) throw new Error('there is no claim');
  return value;
}
