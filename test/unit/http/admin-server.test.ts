import { expect, onTestFinished, test } from 'vitest';
import type { ChannelHealth } from '../../../src/channel/index.ts';
import {
  createAdminServer,
  metricsRoute,
  Readiness,
  renewalCheck,
} from '../../../src/daemon/http/admin-server.ts';
import { health } from '../../../src/daemon/http/routes.ts';
import type { Log } from '../../../src/daemon/process/log.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import type { ClientRefusal } from '../../../src/daemon/store/links/link-renewals.ts';
import type { ReplicaStore } from '../../../src/daemon/store/replicas.ts';
import type { StoreCondition } from '../../../src/daemon/store/store.ts';
import { collectLog } from '../../support/log-lines.ts';

test('a daemon is ready only while it serves and while its store can be written', () => {
  const readiness = new Readiness();
  let condition: StoreCondition = { writable: true, detail: null };
  readiness.starting('opening the store');
  expect(readiness.report()).toEqual({
    status: 'failed',
    reason: 'The daemon is starting: opening the store.',
    checks: { daemon: { status: 'failed', detail: 'The daemon is starting: opening the store.' } },
  });

  let checks = 0;
  const check = async () => {
    checks++;
    if (!condition.writable) throw new Error('a failed write is visible in the condition');
  };
  readiness.watch({ store: { condition: () => condition, check, replicas: null } });
  readiness.starting('loading the agent runtime');
  expect(readiness.report()).toMatchObject({
    reason: 'The daemon is starting: loading the agent runtime.',
    checks: { store: { status: 'ok' } },
  });

  readiness.serving();
  const ready = { status: 'ok', reason: null, checks: { daemon: { status: 'ok' }, store: { status: 'ok' } } };
  expect(readiness.report()).toEqual(ready);

  // Probes cause at most one test write to the store per second.
  expect(checks).toBe(1);

  const detail = 'The volume of STATE_DIR is full.';
  condition = { writable: false, detail };
  expect(readiness.report()).toEqual({
    status: 'failed',
    reason: detail,
    checks: { daemon: { status: 'ok' }, store: { status: 'failed', detail } },
  });

  condition = { writable: true, detail: null };
  expect(readiness.report()).toEqual(ready);

  readiness.stopping();
  expect(readiness.report()).toMatchObject({ status: 'failed', reason: 'The daemon is stopping.' });
});

test('the admin listener answers OPTIONS, as the Allow of other methods says', async () => {
  const { log } = collectLog();
  const metrics = metricsRoute({ contentType: 'text/plain', text: async () => '' }, undefined);
  const server = createAdminServer(new Readiness(), metrics, { log, keepAliveSeconds: 5 });
  onTestFinished(() => server.close());
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 });
  const ask = async (method: string, path: string) => {
    const { status, headers } = await fetch(url + path, { method });
    return [status, headers.get('allow')];
  };
  expect(await ask('POST', '/live')).toEqual([405, 'GET, HEAD, OPTIONS']);
  expect(await ask('OPTIONS', '/live')).toEqual([204, 'GET, HEAD, OPTIONS']);
  expect(await ask('OPTIONS', '/nowhere')).toEqual([404, null]);
});

test('the metrics need ADMIN_TOKEN if it is set, and have the headers of every response', async () => {
  const { log } = collectLog();
  const metrics = metricsRoute(
    { contentType: 'text/plain', text: async () => 'up 1' },
    new Secret('scraper'),
  );
  const server = createAdminServer(new Readiness(), metrics, { log, keepAliveSeconds: 5 });
  onTestFinished(() => server.close());
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 });
  const ask = async (headers: Record<string, string>) => fetch(`${url}/metrics`, { headers });
  for (const Authorization of ['', 'scraper', 'Basic scraper', 'Bearer scrape', 'Bearer scraper2'])
    expect((await ask({ Authorization })).status).toBe(401);
  const answers = [
    await ask({ Authorization: 'Bearer scraper' }),
    await ask({ Authorization: 'bearer scraper' }),
  ];
  for (const answer of answers) expect([answer.status, await answer.text()]).toEqual([200, 'up 1']);
  expect(answers[0]?.headers.get('x-content-type-options')).toBe('nosniff');
});

test('a daemon without its long-term memory is degraded, and asks again whether it is back', () => {
  const readiness = new Readiness();
  let checks = 0;
  const memory = { isAvailable: false, check: async () => void checks++ };
  const condition = () => ({ writable: true, detail: null });
  readiness.watch({ store: { condition, check: async () => undefined, replicas: null }, memory });
  readiness.serving();
  const detail = 'Long-term memory cannot be reached; messages are answered without it.';
  expect(readiness.report()).toEqual({
    status: 'degraded',
    reason: null,
    checks: {
      daemon: { status: 'ok' },
      store: { status: 'ok' },
      memory: { status: 'degraded', detail },
    },
  });
  memory.isAvailable = true;
  expect(readiness.report()).toMatchObject({ status: 'ok', checks: { memory: { status: 'ok' } } });
  expect(checks).toBe(1);
});

test('a daemon whose shared store is unreachable is degraded, but still ready', () => {
  const readiness = new Readiness();
  const detail = 'Redis cannot be reached.';
  const away = { condition: () => ({ writable: false, detail }), check: async () => undefined };
  readiness.watch({ store: { ...away, replicas: {} as ReplicaStore } });
  expect(readiness.report().status).toBe('failed');
  readiness.serving();
  expect(readiness.report()).toEqual({
    status: 'degraded',
    reason: null,
    checks: { daemon: { status: 'ok' }, store: { status: 'degraded', detail } },
  });
});

test('a daemon whose renewals of tokens are refused is degraded, and says so', () => {
  const readiness = new Readiness();
  const renewer: { refusal: ClientRefusal | null } = { refusal: null };
  readiness.watch({ renewer });
  readiness.serving();
  expect(readiness.report()).toMatchObject({ status: 'ok', checks: { renewal: { status: 'ok' } } });
  renewer.refusal = { reason: 'invalid_client', since: 1, count: 1, again_at: 2, wait_ms: 1 };
  const detail =
    'TOKEN_RENEWAL_URL refuses this service as a client (invalid_client); links last only as long as their tokens.';
  const degraded = { status: 'degraded', detail };
  expect(readiness.report()).toMatchObject({
    status: 'degraded',
    reason: null,
    checks: { renewal: degraded },
  });
  const log = {} as Log;
  const shown = (renewal?: () => ChannelHealth) =>
    health(
      {
        channels: [],
        services: { agents: { all: [{ name: 'agent', digest: () => 'd' }], digest: () => 'd' } },
        ...(renewal ? { renewal } : {}),
      },
      log,
    )({} as never);
  expect(shown(() => renewalCheck(renewer))).toMatchObject({ body: { status: 'ok', renewal: degraded } });
  renewer.refusal = null;
  for (const answer of [shown(() => renewalCheck(renewer)), shown()])
    expect(answer).toEqual({
      headers: { 'X-Agent-Digest': 'd' },
      body: { status: 'ok', platforms: [], adapters: {} },
    });
});

test.each([
  [2, 'all, agent-0=d0, agent-1=d1'],
  [500, 'all'],
])('GET / names the digests of %d agents in its header, unless that is too long', (count, expected) => {
  const all = Array.from({ length: count }, (_, n) => ({ name: `agent-${n}`, digest: () => `d${n}` }));
  const { headers } = health(
    { channels: [], services: { agents: { all, digest: () => 'all' } } },
    {} as Log,
  )({} as never) as {
    headers: object;
  };
  expect(headers).toEqual({ 'X-Agent-Digest': expected });
});
