import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createDownstream } from '../../../../src/daemon/tools/downstream/client.ts';
import { FakeApi, type Misbehaviour } from '../../../support/fake-api.ts';

// agentd-metrics(7), `agentd_downstream_requests_total`.

const look = { method: 'GET', path: '/users', token: null } as const;

let api: FakeApi;
beforeAll(async () => {
  api = await FakeApi.start({ secret: 'a secret of the tests that is long enough' });
});
afterEach(() => api.behave());
afterAll(() => api.close());

/** Sends a request. @returns what was counted: the status */
async function counted(
  request: Parameters<ReturnType<typeof createDownstream>['send']>[0],
  { url = api.url, timeoutMs = 60_000 } = {},
) {
  const ends: unknown[] = [];
  const client = createDownstream({
    baseUrl: url,
    timeoutMs,
    ended: (status) => void ends.push(status),
  });
  await client.send(request).catch(() => undefined);
  return ends;
}

test.each<[string, Misbehaviour, number | string]>([
  ['its status', { status: 500, body: {} }, 500],
  ['its status, if the answer is not JSON', { status: 200, body: 'no JSON' }, 200],
  ['its status, if the answer is too long', 'huge', 200],
  ['its status, if the answer redirects elsewhere', { redirect: 'http://127.0.0.1:1/', status: 302 }, 302],
  ['timeout, if the answer takes too long', 'hang', 'timeout'],
])('an answer is counted under %s', async (_what, how, status) => {
  api.misbehave('/users', how);
  const timeoutMs = how === 'hang' ? 200 : undefined;
  expect(await counted(look, { timeoutMs })).toEqual([status]);
});

test('a system that cannot be reached is counted as unreachable', async () => {
  expect(await counted(look, { url: 'http://127.0.0.1:1' })).toEqual(['unreachable']);
});

test('a request that was never sent is not counted', async () => {
  expect(await counted({ ...look, path: '/users/../admin' })).toEqual([]);
});

test('a request that its caller aborted is not counted', async () => {
  const signal = AbortSignal.abort(new Error('given up'));
  expect(await counted({ ...look, signal })).toEqual([]);
});
