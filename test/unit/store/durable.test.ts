import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openSqliteStore, type SqliteStore } from '../../../src/daemon/store/kernels/sqlite/store.ts';
import {
  ada,
  anAction,
  anInboxMessage,
  aPendingAction,
  aSession,
  aStream,
  aTrace,
  aTurn,
  GUARD_LIMITS,
} from '../../contract/fixtures.ts';
import { anArrival } from './an-arrival.ts';
import { stateDirectory } from './state-directory.ts';

// Once a method has resolved, its change is on disk: a copy of the files as a crash would leave them has it.

const HOUR = 3_600_000;
const time = { now: Date.UTC(2030, 0, 1) };

/** What is stored, as far as it must be durable. */
async function seen(
  store: SqliteStore,
  ids: { stream: string; session: string; messages: readonly string[] },
) {
  return {
    sessions: await store.sessions.list({ limit: 10 }),
    turns: await store.sessions.turns(ids.session),
    actions: await store.actions.list({ limit: 10 }),
    pending: await store.actions.pendingIn(ids.session),
    inbox: await Promise.all(ids.messages.map((id) => store.inbox.find(id))),
    links: await store.links.list({ limit: 10 }),
    outages: await store.outages.list(),
    stream: await store.streams.find(ids.stream),
    events: await store.streams.read(ids.stream, 0),
    key: await store.idempotency.look('key', 'body'),
    summary: await store.summaries.find(ids.session, 'p'),
    tools: await store.toolDigests.list(),
    audit: await store.audit.list({ limit: 10 }),
    traces: await store.traces.findOf({ user_id: 'ada' }),
    memories: await store.memories?.list({ key: 'owner', alias: null }),
  };
}

it('whatever a method has changed is on disk when it resolves', async () => {
  const directory = stateDirectory();
  const path = join(directory, 'agentd.db');
  const open = (at: string) => {
    const store = openSqliteStore(at, {
      role: 'administrator',
      mayCreate: true,
      clock: { now: () => time.now },
    });
    onTestFinished(() => store.close());
    return store;
  };
  const store = openSqliteStore(path, { role: 'daemon', clock: { now: () => time.now } });
  onTestFinished(() => store.close());
  const session = aSession(time.now);
  const [session_id, tag] = [session.session_id, session.session_id];
  const [first, second, third] = [anInboxMessage(), anInboxMessage(), anInboxMessage({ queue: 'other' })];
  const stream = aStream();
  const arrival = anArrival({ message_id: 'm9' });
  const messages = [first.id, second.id, third.id, arrival.message.id];
  const ids = { stream: stream.stream_id, session: session_id, messages };
  let copies = 0;
  let before: unknown = await seen(store, ids);
  /** Does it, and opens a copy of the files. */
  const does = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const result = await work();
    const copy = join(directory, `copy-${copies++}.db`);
    for (const end of ['', '-wal']) if (existsSync(path + end)) copyFileSync(path + end, copy + end);
    const now = await seen(store, ids);
    expect(now, `${name} has an effect`).not.toEqual(before);
    expect(await seen(open(copy), ids), `${name} is durable`).toEqual(now);
    before = now;
    return result;
  };
  const some = <T>(value: T | null | undefined): T => {
    if (value === null || value === undefined) throw new Error('there is none');
    return value;
  };

  const claim = some(await store.sessions.claim(tag));
  await does('sessions.save', () => store.sessions.save(claim, session, 'new'));
  const renamed = { ...session, turns: 0, last_active_at: time.now + 1 };
  await does('sessions.save changed', () => store.sessions.save(claim, renamed, 'changed'));
  const turn = { record: aTurn(), ttl_ms: HOUR };
  const pending = aPendingAction(session);
  const trace = aTrace(session, { user_id: 'ada' });
  await does('commitTurn', () => store.commitTurn(claim, { turn, trace, pending: [pending] }));
  await does('actions.withdraw', () => store.actions.withdraw({ session_tag: tag }));
  const action = anAction({ session_tag: tag });
  await does('actions.start', () => store.actions.start(null, action));
  await does('actions.finish', () =>
    store.actions.finish(action.action_id, 1, { state: 'unknown', status: null, answer: null }),
  );
  await does('actions.restart', () =>
    store.actions.restart({ session: claim, key: null }, action.action_id, 1),
  );
  await does('traces.keep', () => store.traces.keep(aTrace(null, { user_id: 'ada' })));
  await does('traces.keepRefused', () => store.traces.keepRefused(aTrace(null, { user_id: 'ada' })));
  await does('audit.note', () => store.audit.note({ user: 'u', command: 'c', about: null, person: null }));
  const token = some(await store.summaries.begin(tag, HOUR));
  const summary = { principal: 'p', text: 't', through_turn: 'x', through_at: 1, tainted: false };
  await does('summaries.keep', () => store.summaries.keep(tag, token, summary));
  await does('toolDigests.observe', () =>
    store.toolDigests.observe('tool', 'source', { digest: 'd', title: null, description: 'd', schema: '{}' }),
  );
  await does('inbox.enqueue', () => store.inbox.enqueue([first, second, third]));
  await does('inbox.screen', () => store.inbox.screen([arrival], GUARD_LIMITS));
  const [taken] = await does('inbox.claim', () => store.inbox.claim('run', ['chat'], 1));
  await does('inbox.settle', () =>
    store.inbox.settle(some(taken), { kind: 'failed', failure: 'agent_failed' }),
  );
  await does('inbox.retry', () => store.inbox.retry(some(taken).message.id));
  await does('inbox.discard', () => store.inbox.discard(some(taken).message.id));
  const link = { key: 'chat:jwt:u', token: 'token', person: ada, ttl_ms: HOUR };
  await does('links.put', () => store.links.put(link, null));
  await does('links.noteExpiryNotified', () => store.links.noteExpiryNotified(link.key, 'token'));
  await does('links.bindAlias', () =>
    store.links.bindAlias(link.key, 'token', { alias: 'chat:other', person: ada }),
  );
  await does('links.noteReassigned', () => store.links.noteReassigned(link.key, 'token'));
  await does('replaceToken', () =>
    store.replaceToken({ kind: 'link', key: link.key, token: 'token' }, 'another'),
  );
  await does('links.remove', () => store.links.remove(link.key));
  await does('outages.note', () => store.outages.note('chat', 'unreachable', 'words', HOUR));
  await does('outages.hurry', () => store.outages.hurry('chat'));
  await does('outages.end', () => store.outages.end('chat'));
  await does('streams.create', () => store.streams.create(stream));
  const run = some(
    await does('streams.claim', () => store.streams.claim(stream.stream_id, { owner: null, reader: null })),
  );
  await does('streams.append', () =>
    store.streams.append(run, [{ id: 1, event: 'stream_start', data: '{}' }]),
  );
  const key = await store.idempotency.claim('key', 'body');
  if (key.outcome !== 'new') throw new Error('the key is known');
  await does('idempotency.finish', () =>
    store.idempotency.finish(key.claim, { session_id: 's', response: 'r' }, HOUR),
  );
  const owner = { key: 'owner', alias: null };
  await does('memories.add', () =>
    some(store.memories).add(owner, { text: 'tea', turn_id: 't', tainted: false }),
  );
  await does('memories.forget', () => some(store.memories).forget(owner, 'all'));
  await does('sessions.end', () => store.sessions.end(session_id));
});
