import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { createSeal, SEALED } from '../../../src/daemon/identity/seal.ts';
import { tokenRecord } from '../../../src/daemon/message/create-stream.ts';
import { sealStoredTokens } from '../../../src/daemon/sealing/stored-tokens.ts';
import { sealRecord, storedToken } from '../../../src/daemon/session/jwt-context.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import type { NewAction } from '../../../src/daemon/store/actions/actions.ts';
import { openSqliteStore } from '../../../src/daemon/store/kernels/sqlite/store.ts';
import type { Store } from '../../../src/daemon/store/store.ts';
import { systemClock } from '../../../src/daemon/time/clock.ts';
import { actionTextRecord } from '../../../src/daemon/tools/journal/action-record.ts';
import { ada, anAction, aSession, aStream } from '../../contract/fixtures.ts';
import { saveSession } from '../../contract/store-writes.ts';

const HOUR = 3_600_000;
const KEY = 'chat:jwt:u1';
const seal = createSeal(new Secret(Buffer.alloc(32, 1).toString('base64')));
const link = { key: KEY, person: ada, ttl_ms: HOUR };
const context = (token: string) => ({
  has_jwt: true as const,
  user_id: 'ada',
  email: 'ada@example.com',
  token,
  token_exp: '2030-01-01T00:00:00.000Z',
});
const bound = { user_id: 'u1', person: ada };

function fixture() {
  const directory = mkdtempSync(join(tmpdir(), 'agentd-seal-'));
  const store = openSqliteStore(join(directory, 'agentd.db'), {
    role: 'daemon',
    clock: systemClock,
    traceRetentionMs: HOUR,
  });
  onTestFinished(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });
  const logged: [level: string, fields: Record<string, unknown>][] = [];
  const log = {
    info: (fields: Record<string, unknown>) => void logged.push(['info', fields]),
    warn: (fields: Record<string, unknown>) => void logged.push(['warn', fields]),
  } as never;
  return { store, log, logged };
}

async function startedAction(store: Store, members: Partial<NewAction> = {}): Promise<NewAction> {
  const action = anAction(members);
  await store.actions.start(null, action);
  return action;
}

it('at startup, the daemon seals each token for its record', async () => {
  const { store, log, logged } = fixture();
  await store.links.put({ ...link, token: 'of-the-link' }, null);
  const session = aSession(Date.now(), {
    former_id: 'tag',
    metadata: { jwt_context: context('of-the-session') },
    credential_owner: bound,
  });
  await saveSession(store, session);
  const stream = aStream({ token: 'of-the-stream' });
  await store.streams.create(stream);

  await sealStoredTokens(store, seal, log);
  expect(await store.countTokens(SEALED)).toBe(3);
  const { stream_id } = stream;
  const stored = {
    link: await store.links.get(KEY),
    session: await store.sessions.find(session.session_id),
    stream: await store.streams.find(stream_id),
  };
  expect(seal.open(stored.link?.token ?? '', KEY)).toBe('of-the-link');
  expect(stored.session && storedToken(stored.session, seal)).toBe('of-the-session');
  expect(seal.open(stored.stream?.token ?? '', tokenRecord(stream_id))).toBe('of-the-stream');
  expect(logged).toEqual([['info', { count: 3 }]]);
});

it('at startup, the daemon seals the texts of actions, each for its action and field', async () => {
  const { store, log, logged } = fixture();
  const { action_id } = await startedAction(store);
  await store.actions.finish(action_id, 1, { state: 'done', status: 200, answer: '{"ok":true}' });
  await sealStoredTokens(store, seal, log);
  const stored = await store.actions.find(action_id);
  const open = (field: 'args' | 'summary' | 'answer', of = action_id) =>
    seal.open(stored?.[field] ?? '', actionTextRecord(of, field));
  expect([open('args'), open('summary'), open('answer')]).toEqual([
    '{"id":7}',
    'Cancel order 7',
    '{"ok":true}',
  ]);
  expect(open('args', 'another')).toBeNull();
  expect(seal.open(stored?.args ?? '', actionTextRecord(action_id, 'summary'))).toBeNull();
  expect(logged).toEqual([['info', { count: 3 }]]);

  await sealStoredTokens(store, seal, log);
  expect(await store.actions.find(action_id)).toEqual(stored);
  expect(logged).toHaveLength(1);
});

it('at startup, the daemon does not change actions that a different key has sealed', async () => {
  const { store, log, logged } = fixture();
  const args = `${SEALED}other.x`;
  const { action_id } = await startedAction(store, { args, summary: args });
  await sealStoredTokens(store, seal, log);
  expect(await store.actions.find(action_id)).toMatchObject({ args, summary: args });
  expect(logged).toEqual([]);
});

it('at startup, the daemon does not change sealed tokens, even those of a different key', async () => {
  const { store, log, logged } = fixture();
  const other = createSeal(new Secret(Buffer.alloc(32, 2).toString('base64')));
  const sealed = other.close('of-the-link', KEY);
  await store.links.put({ ...link, token: sealed }, null);
  await sealStoredTokens(store, seal, log);
  expect(await store.links.get(KEY)).toMatchObject({ token: sealed });
  expect(logged).toEqual([]);
});

it('at startup, the daemon does not overwrite a token that was stored in the meantime', async () => {
  const { store, log, logged } = fixture();
  const session = aSession(Date.now(), {
    metadata: { jwt_context: context('old') },
    credential_owner: bound,
  });
  await saveSession(store, session);
  await store.links.put({ ...link, token: 'old' }, null);
  const newer = {
    link: seal.close('newer', KEY),
    session: seal.close('newer', sealRecord(session.session_id, bound.user_id)),
  };
  const late: Pick<Store, 'storedTokens' | 'replaceToken'> = {
    storedTokens: (unlike) => store.storedTokens(unlike),
    async replaceToken(token, value) {
      const changed = { ...session, metadata: { jwt_context: context(newer.session) } };
      if (token.kind === 'link') await store.links.put({ ...link, token: newer.link }, 'old');
      else await saveSession(store, changed, 'changed');
      return store.replaceToken(token, value);
    },
  };
  await sealStoredTokens(late, seal, log);
  expect((await store.links.get(KEY))?.token).toBe(newer.link);
  expect((await store.sessions.find(session.session_id))?.metadata.jwt_context?.token).toBe(newer.session);
  expect(logged).toEqual([]);
});

it('at startup, the daemon continues with a warning if the store cannot be written', async () => {
  const { store, log, logged } = fixture();
  await store.links.put({ ...link, token: 'unsealed' }, null);
  const failing = (error: Error): Pick<Store, 'storedTokens' | 'replaceToken'> => ({
    storedTokens: (unlike) => store.storedTokens(unlike),
    replaceToken: () => Promise.reject(error),
  });
  const failure = new StoreUnavailable(new Error('full'));
  await sealStoredTokens(failing(failure), seal, log);
  expect(logged).toEqual([['warn', { err: failure }]]);
  await expect(sealStoredTokens(failing(new TypeError('a defect')), seal, log)).rejects.toThrow('a defect');
});
