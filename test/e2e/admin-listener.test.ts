import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, expect, it } from 'vitest';
import { explainError } from '../../src/cli/report-error.ts';
import { command } from '../support/command.ts';
import { startAgentd } from '../support/daemon.ts';
import { startDaemonHere } from '../support/daemon-here.ts';
import { freePort } from '../support/free-ports.ts';
import { Gate } from '../support/gate.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { post } from '../support/webchat.ts';

/** A runtime that waits for the gate while it is loaded, and again before it answers "wait". */
const RUNTIME = `
const pass = () => fetch(process.env.GATE_URL);
await pass();
export default {
  apiVersion: 1,
  async *run(turn) {
    if (turn.text === 'wait') await pass();
    yield turn.text;
  },
};
`;

const folder = temporaryFolder('admin');
const AGENT_RUNTIME = join(folder, 'gated.mjs');
let gate: Gate;
beforeAll(async () => {
  writeFileSync(AGENT_RUNTIME, RUNTIME);
  gate = await Gate.open();
});

interface Ready {
  status: number;
  body: { status: unknown; code?: string; detail?: string; checks: Record<string, unknown> };
}

async function ask(url: string): Promise<Ready> {
  const response = await fetch(url);
  return { status: response.status, body: (await response.json()) as Ready['body'] };
}

/** Sends the request again and again, as a probe does, until the response has this status. */
async function askUntil(url: string, status: number): Promise<Ready> {
  for (;;) {
    const answer = await ask(url).catch(() => null);
    if (answer?.status === status) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

it('the admin listener reports whether the daemon is starting, serving or draining, and is the last to stop', async () => {
  const port = await freePort();
  const admin = `http://127.0.0.1:${port}`;
  const starting = startAgentd({
    directory: temporaryFolder('admin-daemon'),
    env: {
      AGENT_RUNTIME,
      GATE_URL: gate.url,
      ADMIN_LISTEN: `127.0.0.1:${port}`,
      // Long enough for all requests below, even on a busy machine.
      SHUTDOWN_DELAY_SECONDS: '5',
    },
  });
  await gate.waiting(1);
  const detail = 'The daemon is starting: loading the agent runtime.';
  expect(await ask(`${admin}/ready`)).toMatchObject({
    status: 503,
    body: {
      type: 'about:blank',
      status: 503,
      code: 'unavailable',
      detail,
      checks: { daemon: { status: 'failed', detail }, store: { status: 'ok' } },
    },
  });
  expect(await ask(`${admin}/live`)).toEqual({ status: 200, body: { status: 'ok' } });

  gate.release();
  const daemon = await starting;
  expect(daemon.stdout()).toContain(`${admin}/ready`);
  expect(await ask(`${admin}/ready`)).toEqual({
    status: 200,
    body: {
      status: 'ok',
      checks: { daemon: { status: 'ok' }, store: { status: 'ok' }, memory: { status: 'ok' } },
    },
  });

  // `/ready` changes first, so that a load balancer stops sending requests before any request is refused.
  const running = post(daemon.url, { user_id: 'ada', message: 'wait' });
  await gate.waiting(1);
  daemon.signal('SIGTERM');
  await daemon.logged(({ msg }) => msg === 'stopping: /ready answers 503, requests are still accepted');
  expect(await ask(`${admin}/ready`)).toMatchObject({
    status: 503,
    body: { code: 'unavailable', detail: 'The daemon is stopping.' },
  });
  const late = await post(daemon.url, { user_id: 'bob', message: 'late' });
  expect([late.status, late.headers.get('connection')]).toEqual([200, 'keep-alive']);
  const env = { PORT: new URL(daemon.url).port, ADMIN_LISTEN: `:${port}` };
  expect(await command(['status'], { env })).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(' is not ready: The daemon is stopping.\n'),
  });
  // The health check of a container must not replace a daemon that stops or is degraded.
  const isLive = () => command(['status', '--live'], { env });
  expect(await isLive()).toMatchObject({ code: 0, stdout: `agentd at http://127.0.0.1:${port} is live\n` });

  // Then the daemon drains. It refuses new connections, so that a proxy tries another daemon, but still answers probes.
  await daemon.logged(({ msg }) => msg === 'stopping: running requests finish, new connections are refused');
  await expect
    .poll(() => post(daemon.url, { user_id: 'bob', message: 'too late' }).catch(({ cause }) => cause))
    .toMatchObject({ code: 'ECONNREFUSED' });
  expect((await ask(`${admin}/ready`)).status).toBe(503);
  expect((await ask(`${admin}/live`)).status).toBe(200);
  gate.release();
  const finished = await running;
  expect([finished.status, finished.headers.get('connection')]).toEqual([200, 'close']);
  expect(await daemon.exited).toBe(0);
  await expect(fetch(`${admin}/live`)).rejects.toThrow('fetch failed');
  expect(await isLive()).toMatchObject({ code: 69, stderr: expect.stringContaining(`127.0.0.1:${port}`) });
  const unset = await command(['status', '--live']);
  expect(unset).toMatchObject({ code: 2, stderr: expect.stringContaining('needs ADMIN_LISTEN') });
});

it('the admin listener uses only its own port, and `/ready` gets 503 while the store cannot be written', async () => {
  const here = await startDaemonHere({ env: { ADMIN_LISTEN: '127.0.0.1:0' } });
  const admin = /(http:\S+)\/live/.exec(here.stdout())?.[1] ?? '';
  const ready = await fetch(`${admin}/ready`, { headers: { 'X-Request-Id': 'probe-1' } });
  expect(ready.headers.get('x-request-id')).toBe('probe-1');
  expect(ready.headers.get('x-content-type-options')).toBe('nosniff');
  expect(ready.headers.get('cache-control')).toBe('no-store');
  expect((await fetch(`${admin}/ready`, { method: 'HEAD' })).status).toBe(200);
  expect(await ask(`${admin}/other`)).toMatchObject({ status: 404, body: { code: 'not_found' } });
  expect(await ask(`${admin}/`)).toMatchObject({ status: 404 });
  const wrong = await fetch(`${admin}/ready`, { method: 'POST', body: '{}' });
  expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  for (const path of ['/live', '/ready']) expect((await fetch(`${here.url}${path}`)).status).toBe(404);

  // While the store cannot be written, the daemon should get no requests, but its own health page still works.
  expect((await ask(`${admin}/ready`)).status).toBe(200);
  const other = new Database(join(here.directory, 'state/agentd.db'));
  other.exec('BEGIN IMMEDIATE');
  const { body } = await askUntil(`${admin}/ready`, 503);
  expect(body).toMatchObject({
    detail: 'Another process holds the lock of the database.',
    checks: { daemon: { status: 'ok' }, store: { status: 'failed' } },
  });
  expect((await fetch(`${here.url}/`)).status).toBe(200);
  expect((await ask(`${admin}/live`)).status).toBe(200);
  other.exec('ROLLBACK');
  other.close();
  await askUntil(`${admin}/ready`, 200);

  // A second daemon cannot use the same address.
  const second: unknown = await startDaemonHere({ env: { ADMIN_LISTEN: new URL(admin).host } }).catch(
    (reason: unknown) => reason,
  );
  expect(explainError(second)).toMatchObject({
    exitCode: 69,
    message: expect.stringContaining(`the address is in use (${new URL(admin).host})`),
    advice: expect.stringContaining('set ADMIN_LISTEN to'),
  });
});
