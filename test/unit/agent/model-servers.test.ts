import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { reachModels } from '../../../src/daemon/agent/model-servers.ts';
import type { Settings } from '../../../src/daemon/settings/settings.ts';
import { freePort, listenOnFreePort } from '../../support/free-ports.ts';
import { collectLog } from '../../support/log-lines.ts';

function reach(settings: Partial<Settings>) {
  const { log, lines } = collectLog();
  onTestFinished(reachModels({ AGENT_MODEL: 'm', ...settings } as Settings, log));
  return lines;
}

it('a model server that accepts no connection causes a warning, and gets no request', async () => {
  const lines = reach({ AGENT_BASE_URL: `http://127.0.0.1:${await freePort()}/v1` });
  await expect.poll(() => lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({
    level: 'warn',
    setting: 'AGENT_BASE_URL',
    reason: 'ECONNREFUSED',
    msg: 'no connection to the model server; `agentd doctor` checks it',
  });
});

it('a model server that accepts a connection gets no data, and causes no warning', async () => {
  let bytes = 0;
  const server = createServer((socket) => socket.on('data', (data) => (bytes += data.length)));
  onTestFinished(() => void server.close());
  const port = await listenOnFreePort(server);
  const url = `http://127.0.0.1:${port}/v1`;
  const lines = reach({ AGENT_BASE_URL: url, AGENT_FALLBACK_MODEL: 'small' });
  const [first] = await once(server, 'connection');
  await once(first, 'close');
  expect([bytes, lines]).toEqual([0, []]);
});

it('no server is contacted if the runtime is `builtin`', async () => {
  expect(reach({ AGENT_RUNTIME: 'builtin', AGENT_BASE_URL: 'http://127.0.0.1:1/v1' })).toEqual([]);
});
