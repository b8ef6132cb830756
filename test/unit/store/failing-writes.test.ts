import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it, vi } from 'vitest';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { personKey } from '../../../src/daemon/identity/identity.ts';
import { guardUser } from '../../../src/daemon/message/keys.ts';
import { openSqliteStore, type SqliteStore } from '../../../src/daemon/store/kernels/sqlite/store.ts';
import {
  ada,
  anInboxMessage,
  aSession,
  aStream,
  aTrace,
  aTurn,
  GUARD_LIMITS,
} from '../../contract/fixtures.ts';
import { commitUnderClaim, saveSession, storeReply } from '../../contract/store-writes.ts';
import type { Failure as OneFailure } from './failing-connection.ts';
import { stateDirectory } from './state-directory.ts';

// Plays a history in which the n-th write fails, for n = 1, 2, 3, … until the history has no n-th write. Checks after
// each failure that acknowledged data is stored, that nothing is half written, and that the store still works.

interface Failure extends OneFailure {
  /** Number of writes in a row that fail. */
  times: number;
}

const injected = vi.hoisted(() => ({ writes: 0, from: Number.POSITIVE_INFINITY, failure: null as unknown }));

vi.mock('../../../src/daemon/store/kernels/sqlite/database.ts', async (original) => {
  const real = await original<typeof import('../../../src/daemon/store/kernels/sqlite/database.ts')>();
  const { failing } = await import('./failing-connection.ts');
  const next = () => {
    const number = ++injected.writes - injected.from;
    const failure = injected.failure as Failure;
    return number < 0 || number >= failure.times ? null : failure;
  };
  return { ...real, openDatabase: (path: string) => failing(real.openDatabase(path), next) };
});

const HOUR = 3_600_000;
const user = guardUser({ platform: 'chat', user_id: 'u1', person: null, address: null });
const limit = { max: 100, window_ms: HOUR };

/** The operations, and which of them were acknowledged. */
interface History {
  session_id: string;
  said: string[];
  kept: string[];
  hits: { done: number; kept: number };
  inbox: { id: string; kept: boolean; ended: boolean }[];
  stream: { id: string; created: boolean; kept: number; ended: boolean };
  link: boolean;
  answer: boolean;
  refused: { request_id: string; kept: boolean };
}

async function play(store: SqliteStore, now: number): Promise<History> {
  const session = aSession(now);
  // A stream of a person, which is not deleted to make room.
  const stream = aStream({ owner: personKey({ sub: 'ada' }) });
  const messages = [anInboxMessage({ message_id: 'm1' }), anInboxMessage({ message_id: 'm2' })];
  const refused = aTrace(null);
  const history: History = {
    session_id: session.session_id,
    said: [],
    kept: [],
    hits: { done: 0, kept: 0 },
    inbox: messages.map(({ id }) => ({ id, kept: false, ended: false })),
    stream: { id: stream.stream_id, created: false, kept: 0, ended: false },
    link: false,
    answer: false,
    refused: { request_id: refused.request_id, kept: false },
  };
  const hit = async () => {
    history.hits.done++;
    // A hit is durable with the next commit.
    const [hit, next] = await Promise.all([
      done(store.limits.hit('k', limit)),
      done(store.check().then(() => true)),
    ]);
    if (hit && next) history.hits.kept++;
  };
  const say = async (text: string) => {
    history.said.push(text);
    const turn = aTurn({ text });
    const trace = aTrace(session, { turn_id: turn.turn_id, message_id: text });
    const changes = { turn: { record: turn, ttl_ms: HOUR }, trace };
    const kept = await done(commitUnderClaim(store, session.session_id, changes));
    if (kept === 'committed') history.kept.push(text);
  };
  const check = (message_id: string | null) =>
    done(store.guard.check({ user, session_id: 's', text: 'x', message_id, sent_at: null }, GUARD_LIMITS));

  await done(saveSession(store, aSession(now, { expires_at: now - 1 })));
  const begun = (await done(saveSession(store, session))) === 'saved';
  // These operations share one commit.
  await Promise.all([...(begun ? [say('one')] : []), hit(), check(null), hit()]);
  if (begun) await say('two');
  await check('m0');
  await hit();

  const outcomes = await done(store.inbox.enqueue(messages));
  history.inbox.forEach((entry, place) => {
    entry.kept = outcomes?.[place] === 'kept';
  });
  const [claim] = (await done(store.inbox.claim('run', ['chat'], 1))) ?? [];
  if (
    claim &&
    (await done(storeReply(store, claim, 'reply'))) &&
    (await done(store.inbox.settle(claim, { kind: 'sent' })))
  ) {
    const entry = history.inbox.find(({ id }) => id === claim.message.id);
    if (entry) entry.ended = true;
  }

  history.stream.created = (await done(store.streams.create(stream))) !== null;
  const events = ['stream_start', 'text_chunk', 'stream_complete'] as const;
  if (history.stream.created) {
    const claimed = await done(store.streams.claim(stream.stream_id, { owner: stream.owner, reader: null }));
    for (const [place, event] of events.entries()) {
      if (!claimed) break;
      const next = { id: place + 1, event, data: '{}' };
      if (!(await done(store.streams.append(claimed, [next])))) break;
      history.stream.kept++;
    }
    history.stream.ended = history.stream.kept === events.length;
  }

  const link = { key: 'chat:jwt:u1', token: 'sealed', person: ada, ttl_ms: HOUR };
  history.link = (await done(store.links.put(link, null))) === true;
  const answer = { session_id: 's', response: 'r' };
  const key = await store.idempotency.claim('key', 'body');
  if (key.outcome !== 'new') throw new Error('the key is not new');
  history.answer = (await done(store.idempotency.finish(key.claim, answer, HOUR))) === true;
  await store.idempotency.release(key.claim);
  history.refused.kept = (await done(store.traces.keepRefused(refused).then(() => true))) === true;
  await done(store.maintenance.sweep());
  if (begun) await say('three');
  await hit();
  return history;
}

/** @returns null if the store is unavailable. Any other error fails the test. */
async function done<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof StoreUnavailable) return null;
    throw error;
  }
}

async function expectWhole(store: SqliteStore, history: History): Promise<void> {
  const turns = await store.sessions.turns(history.session_id);
  const texts = turns.map(({ text }) => text);
  expect(history.said.filter((text) => texts.includes(text))).toEqual(texts);
  expect(texts).toEqual(expect.arrayContaining(history.kept));
  expect((await store.sessions.find(history.session_id))?.turns ?? 0).toBe(texts.length);
  for (const turn of turns) expect(await store.traces.find(turn.turn_id)).toHaveLength(1);
  for (const text of history.kept) expect(await store.traces.find(text)).toHaveLength(1);

  for (const { id, kept, ended } of history.inbox) {
    const found = await store.inbox.find(id);
    if (kept) expect(found).not.toBeNull();
    if (ended) expect(found).toMatchObject({ state: 'done', reply: 'reply' });
    if (found?.state === 'done') expect(found.reply).toBe('reply');
  }
  const { id, created, kept, ended } = history.stream;
  const stream = await store.streams.find(id);
  if (created) expect(stream).not.toBeNull();
  const events = (await store.streams.read(id, 0)) ?? [];
  expect(events.map((event) => event.id)).toEqual(events.map((_, place) => place + 1));
  expect(events.length).toBeGreaterThanOrEqual(kept);
  if (ended) expect(stream?.state).toBe('ended');
  expect(stream?.state === 'ended').toBe(events.at(-1)?.event === 'stream_complete');

  if (history.link) expect(await store.links.get('chat:jwt:u1')).toMatchObject({ token: 'sealed' });
  if (history.answer) expect((await store.idempotency.look('key', 'body')).outcome).toBe('done');
  if (history.refused.kept) expect(await store.traces.find(history.refused.request_id)).toHaveLength(1);
  const { remaining } = await store.limits.hit('k', limit);
  const before = limit.max - remaining - 1;
  expect(before).toBeGreaterThanOrEqual(history.hits.kept);
  expect(before).toBeLessThanOrEqual(history.hits.done);
  expect(await store.maintenance.examine()).toEqual([]);
}

/** The visible state, so that the state in memory can be compared with the state that the next process loads. */
async function seen(store: SqliteStore): Promise<unknown> {
  return {
    sessions: await store.sessions.list({ limit: 100 }),
    inbox: await store.inbox.list({
      states: ['waiting', 'running', 'replied', 'done', 'failed'],
      limit: 100,
    }),
    due: await store.inbox.nextDueAt('run', ['chat']),
    guard: await store.guard.list(),
  };
}

const FULL: Failure = { code: 'SQLITE_FULL', times: 1, first: 'nothing' };
const OTHERS: readonly Failure[] = [
  { code: 'SQLITE_FULL', times: 20, first: 'nothing' },
  { code: 'SQLITE_IOERR_WRITE', times: 1, first: 'rollback' },
  { code: 'SQLITE_IOERR', times: 3, first: 'rollback' },
  { code: 'SQLITE_IOERR_FSYNC', times: 1, first: 'write' },
  { code: 'SQLITE_BUSY', times: 1, first: 'nothing' },
  { code: 'SQLITE_NOMEM', times: 1, first: 'nothing' },
];

/** Whether to try every failure at every write, which takes minutes. */
const ALL = process.env.FAILING_WRITES === 'all';

let template: string;

beforeAll(async () => {
  const directory = mkdtempSync(join(tmpdir(), 'agentd-store-'));
  template = join(directory, 'agentd.db');
  await openAs('daemon', template).close();
  return () => rmSync(directory, { recursive: true });
});

const openAs = (role: 'daemon' | 'administrator', path: string) =>
  openSqliteStore(path, {
    role,
    clock: { now: () => Date.now() },
    traceRetentionMs: HOUR,
    anonymousMax: 1,
  });

/** @returns false if the history has fewer than n writes. */
async function playWithFailure(n: number, failure: Failure): Promise<boolean> {
  const path = join(stateDirectory(), 'agentd.db');
  copyFileSync(template, path);
  const store = openAs('daemon', path);
  Object.assign(injected, { writes: 0, from: n, failure });
  const history = await play(store, Date.now());
  const failed = injected.writes >= n;
  injected.from = Number.POSITIVE_INFINITY;

  await expectWhole(store, history);
  history.hits.done++;
  await store.check();
  expect(store.condition()).toEqual({ writable: true, detail: null });
  const before = await seen(store);
  await store.close();

  const next = openAs('daemon', path);
  expect(await seen(next)).toEqual(before);
  await expectWhole(next, history);
  await next.close();
  return failed;
}

it('the store loses no acknowledged data, whichever write fails', { timeout: 120_000 }, async () => {
  let n = 1;
  while (await playWithFailure(n, FULL)) n++;
  // Each write of the history has failed once.
  expect(n).toBeGreaterThan(60);
});

it.each(OTHERS)(
  'the store loses no acknowledged data if $times writes fail with $code (what SQLite does before it fails: $first)',
  { timeout: 300_000 },
  async (failure) => {
    const stride = ALL ? 1 : OTHERS.length;
    let n = ALL ? 1 : 1 + OTHERS.indexOf(failure);
    while (await playWithFailure(n, failure)) n += stride;
    expect(n).toBeGreaterThan(60);
  },
);
