import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { guardUser } from '../../../src/daemon/guard/user.ts';
import { migrate, readMigrations } from '../../../src/daemon/store/sqlite/migrations.ts';
import { aTrace, aTurn, GUARD_LIMITS } from '../../contract/fixtures.ts';
import { keepTurn } from '../../contract/store-writes.ts';
import { anArrival } from './an-arrival.ts';
import { openAt, stateDirectory } from './state-directory.ts';

it('a migration from schema 5 keeps sessions, turns, traces, turn counts and the ids of seen messages', async () => {
  const path = join(stateDirectory(), 'agentd.db');
  const db = new Database(path);
  migrate(db, readMigrations().slice(0, 5));
  const expires_at = Date.now() + 3_600_000;
  const begin = db.prepare(
    `INSERT INTO sessions (session_id, user_id, platform, space, generated, turns, created_at, last_active_at,
       expires_at, metadata) VALUES (?, 'u1', 'chat', 'web', 0, 2, 1, 1, ?, '{}')`,
  );
  begin.run('s1', expires_at);
  begin.run('s2', expires_at);
  begin.run('over', 1);
  const keep = db.prepare('INSERT INTO turns (session, person, answered, turn) VALUES (?, NULL, 1, ?)');
  for (const text of ['1', '2', '3']) {
    for (const session of [1, 2, 3]) keep.run(session, JSON.stringify(aTurn({ text: `${session}.${text}` })));
  }
  const trace = aTrace(null, { session_id: 's1', message_id: 'm1' });
  db.prepare(
    `INSERT INTO traces (kept_at, turn_id, request_id, session_id, message_id, trace) VALUES (?, ?, ?, 's1', 'm1', ?)`,
  ).run(Date.now(), trace.turn_id, trace.request_id, JSON.stringify(trace));
  db.prepare(
    `INSERT INTO guard_turns (session_id, turns, blocked, max, ends_at) VALUES ('s1', 7, 0, 200, ?)`,
  ).run(expires_at);
  const verdict = { allowed: true, messages: 1, equal_texts: 1, turns: 1, repeated: false };
  const judge = db.prepare(
    "INSERT INTO guard_verdicts (platform, message_id, verdict, expires_at) VALUES ('chat', ?, ?, ?)",
  );
  for (const id of ['m1', 'm2']) judge.run(id, JSON.stringify(verdict), expires_at);
  const know = db.prepare(
    "INSERT INTO inbox_message_ids (platform, message_id, id, expires_at) VALUES ('chat', ?, 'i', ?)",
  );
  for (const id of ['m2', 'm3']) know.run(id, expires_at);
  db.close();

  const store = openAt(path);
  const texts = async (session: string) => (await store.sessions.turns(session)).map(({ text }) => text);
  expect(await texts('s1')).toEqual(['1.1', '1.2', '1.3']);
  const s2 = await store.sessions.find('s2');
  if (s2) await keepTurn(store, s2, { text: '2.4' });
  expect(await texts('s2')).toEqual(['2.1', '2.2', '2.3', '2.4']);
  for (const id of [trace.turn_id, trace.request_id, 's1', 'm1']) {
    expect(await store.traces.find(id)).toEqual([trace]);
  }
  const user = guardUser({ platform: 'chat', user_id: 'u1', person: null, address: null });
  const message = { user, session_id: 's1', text: 'hash', message_id: null, sent_at: null };
  expect(await store.guard.check(message, GUARD_LIMITS)).toMatchObject({ turns: 8 });
  const ids = ['m1', 'm2', 'm3'];
  const arrivals = ids.map((message_id) => anArrival({ message_id }, { ...message, session_id: 's9' }));
  const { verdicts, outcomes } = await store.inbox.screen(arrivals, GUARD_LIMITS);
  expect(verdicts.map(({ repeated }) => repeated)).toEqual([true, true, false]);
  expect(outcomes).toEqual(['kept', 'repeated', 'repeated']);
  expect(await store.maintenance.sweep()).toBe(4);
  expect(await store.sessions.end('s1')).toBe(true);
  expect(await store.guard.check({ ...message, text: 'another' }, GUARD_LIMITS)).toMatchObject({ turns: 1 });
});

it('a migration from schema 7 keeps waiting, running and replied messages, in order', async () => {
  const path = join(stateDirectory(), 'agentd.db');
  const db = new Database(path);
  migrate(db, readMigrations().slice(0, 7));
  const put = db.prepare(
    `INSERT INTO inbox (id, platform, queue, session_id, message, reply_to, reply, request_id, state, attempts, sends,
       sent_at, received_at, next_attempt_at, ended_at)
     VALUES (@id, 'chat', @queue, @queue, '{"text":"x"}', '{}', @reply, 'r', @state, 1, 0, 1, 1, 1, @ended_at)`,
  );
  const row = { queue: 'q1', reply: null, state: 'waiting', ended_at: null };
  put.run({ ...row, id: 'failed', state: 'failed', ended_at: Date.now() });
  put.run({ ...row, id: 'running', state: 'running' });
  put.run({ ...row, id: 'behind' });
  put.run({ ...row, id: 'replied', queue: 'q2', reply: 'text', state: 'replied' });
  db.exec(
    "INSERT INTO inbox_queues VALUES ('q1', 'chat', 0, 1, 2, 'dead', 'dead/1'), ('q2', 'chat', 1, 1, 4, NULL, NULL)",
  );
  db.close();

  const { inbox } = openAt(path);
  expect(await inbox.claim('run', ['chat'], 10)).toEqual([]);
  expect(await inbox.reap()).toBe(1);
  const ids = async (kind: 'run' | 'send', which?: 'interrupted') =>
    (await inbox.claim(kind, ['chat'], 10, which)).map(({ message }) => message.id);
  expect(await inbox.find('replied')).toMatchObject({ text_stored_at: 1, parts_sent: 0 });
  expect(await ids('send')).toEqual(['replied']);
  expect(await ids('run', 'interrupted')).toEqual(['running']);
  expect(await inbox.discard('running')).toBe(true);
  expect(await ids('run')).toEqual(['behind']);
});

it('a migration from schema 12 keeps the hits of limits, and drops the hits of the guard', async () => {
  const path = join(stateDirectory(), 'agentd.db');
  const db = new Database(path);
  migrate(db, readMigrations().slice(0, 12));
  const now = Date.now();
  const limits = JSON.stringify([
    ['k', now + 60_000, [[now - 1000, 500]]],
    ['k', now + 60_000, [[now]], 1],
  ]);
  db.prepare('INSERT INTO limit_log (entries) VALUES (?)').run(limits);
  const user = guardUser({ platform: 'chat', user_id: 'u1', person: null, address: null });
  const { key, ...named } = user;
  const state = { user: named, burst: [[now - 1000]], texts: [['hash', [[now - 1000]]]] };
  const guard = JSON.stringify([
    [key, now + 60_000, state],
    [key, now + 60_000, [['hash', [now], [now]]], 1],
  ]);
  db.prepare('INSERT INTO guard_log (entries) VALUES (?)').run(guard);
  db.prepare(
    "INSERT INTO guard_turns (session_id, turns, blocked, max, ends_at, look_at) VALUES ('s1', 7, 0, 200, ?, ?)",
  ).run(now + 60_000, now + 60_000);
  db.close();

  const store = openAt(path);
  expect(await store.limits.hit('k', { max: 10, window_ms: 60_000 })).toMatchObject({ remaining: 6 });
  const message = { user, session_id: 's1', text: 'hash', message_id: null, sent_at: null };
  expect(await store.guard.check(message, GUARD_LIMITS)).toMatchObject({ messages: 1, turns: 8 });
});
