import { expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { guardUser } from '../../../src/daemon/message/keys.ts';
import { CLAIM_MS } from '../../../src/daemon/store/claims/claims.ts';
import { MemoryState } from '../../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../../src/daemon/store/kernels/memory/store.ts';
import { SESSION } from '../../../src/daemon/store/sessions/session-document.ts';
import { ada, anInboxMessage, aSession, aStream, aTrace, GUARD_LIMITS } from '../../contract/fixtures.ts';
import { keepTurn, saveSession } from '../../contract/store-writes.ts';
import { beginFullTurn } from '../../contract/turns-contract.ts';

// The contract of the ports is in test/contract. These tests check the guarantees that only the reference store gives.

const DAY = 24 * 60 * 60 * 1000;

function fixture() {
  const time = { now: Date.UTC(2030, 0, 1) };
  const state = new MemoryState();
  const open = () => openMemoryStore(state, { clock: { now: () => time.now } });
  return { time, state, open };
}

it('the reference store keeps nothing that has expired', async () => {
  const { time, state, open } = fixture();
  const store = open();
  const session = aSession(time.now);
  await saveSession(store, session);
  await keepTurn(store, session);
  const { claim, changes } = await beginFullTurn(store, time.now);
  await store.commitTurn(claim, changes);
  await store.inbox.settle(changes.reply.claim, { kind: 'sent' });
  await store.inbox.enqueue([anInboxMessage({ message_id: 'm' })]);
  const [failing] = await store.inbox.claim('run', ['chat'], 1);
  if (failing) await store.inbox.settle(failing, { kind: 'failed', failure: 'x' });
  await store.idempotency.claim('of a daemon that died', 'body');
  await store.sessions.claim('of a daemon that died');
  const stream = await store.streams.create(aStream());
  await store.streams.claim(stream.stream_id, { owner: null, reader: null });
  await store.traces.keepRefused(aTrace(null));
  await store.links.put({ key: 'chat:jwt:u2', token: 'a.b.c', person: ada, ttl_ms: DAY });
  await store.limits.hit('k', { max: 1, window_ms: DAY });
  const user = guardUser({ platform: 'chat', user_id: 'u1', person: null, address: null });
  const message = { user, session_id: 's', text: 'hash', message_id: 'm', sent_at: null };
  await store.guard.check(message, GUARD_LIMITS);

  time.now += CLAIM_MS;
  await store.streams.reap({ event: 'error', data: '{}' });
  await store.check();
  time.now += 90 * DAY;
  state.sweep(time.now);
  const kept = [...state.documents].filter(([, documents]) => documents.size > 0).map(([name]) => name);
  expect(kept).toEqual([]);
  expect([...state.indexes].filter(([, index]) => index.all().length > 0)).toEqual([]);
});

it('the reference store writes nothing and gets no notifications after it is closed, like a process that died', async () => {
  const { time, state, open } = fixture();
  const [dead, alive] = [open(), open()];
  const { claim, changes, read } = await beginFullTurn(alive, time.now);
  const heard: string[] = [];
  dead.streams.subscribe(changes.events.claim.stream_id, (change) => heard.push(change));
  const before = await read();
  await dead.close();
  await expect(dead.commitTurn(claim, changes)).rejects.toBeInstanceOf(StoreUnavailable);
  expect(await read()).toEqual(before);
  expect(await alive.commitTurn(claim, changes)).toBe('committed');
  expect(heard).toEqual([]);
  expect(state.all(SESSION)).toHaveLength(1);
});
