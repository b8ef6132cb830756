import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { beforeEach, expect, test } from 'vitest';
import { command } from '../support/command.ts';
import { type Agentd, BIN, baseEnv, startAgentd } from '../support/daemon.ts';
import { startDaemonHere } from '../support/daemon-here.ts';
import { isThorough } from '../support/effort.ts';
import { FakeModel } from '../support/fake-model.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { post } from '../support/webchat.ts';

/**
 * A runtime that holds its answers until SIGUSR2, because a stopping daemon accepts no request that could release them.
 */
const HELD = `
const held = new Set();
process.on('SIGUSR2', () => { for (const wait of held) wait.resolve(); });
export default {
  apiVersion: 1,
  async *run(turn) {
    if (!turn.text.startsWith('wait')) { yield turn.text; return; }
    const wait = Promise.withResolvers();
    held.add(wait);
    turn.log.info({ held: turn.text }, 'answer held');
    yield 'One moment. ';
    if (turn.text !== 'wait stubbornly') turn.signal.addEventListener('abort', () => wait.reject(turn.signal.reason));
    await wait.promise;
    yield 'Here it is.';
  },
};
`;

const folder = temporaryFolder('stopping');
const AGENT_RUNTIME = join(folder, 'held.mjs');
writeFileSync(AGENT_RUNTIME, HELD);

/** The default of SHUTDOWN_GRACE_SECONDS, in ms. A daemon that waits for the grace period takes longer to exit. */
const GRACE_MS = 25_000;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(folder, 'state-'));
});

const start = (env: Record<string, string> = {}) =>
  startAgentd({ directory, env: { AGENT_RUNTIME, ...env } });
const held = (daemon: Agentd, text: string) => daemon.logged((line) => line.held === text);
const release = (daemon: Agentd) => daemon.signal('SIGUSR2');
const stopping = (daemon: Agentd) => daemon.logged(({ msg }) => String(msg).startsWith('stopping'));

async function session(id: string): Promise<{ turns: { text: string; reply: string; outcome: string }[] }> {
  const { stdout, stderr, code } = await command(['sessions', 'show', id, '--json'], { cwd: directory });
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

test('on SIGTERM the running answer is finished, new requests get 503 with Retry-After, and the exit code is 0', async () => {
  const daemon = await start();
  const running = post(daemon.url, { user_id: 'u', message: 'wait', session_id: 's' });
  await held(daemon, 'wait');
  daemon.signal('SIGTERM');
  await stopping(daemon);
  const refused = await post(daemon.url, { user_id: 'v', message: 'hello' });
  expect([refused.status, refused.body.code, refused.body.detail]).toEqual([
    503,
    'unavailable',
    'The daemon is stopping.',
  ]);
  expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  expect(refused.headers.get('x-request-id')).toBe(refused.body.request_id);
  const status = await command(['status', '--url', daemon.url], { cwd: directory });
  expect(status.code).toBe(69);
  expect(status.stderr).toContain('It is stopping');
  release(daemon);
  const { status: answered, body } = await running;
  expect([answered, body.response]).toEqual([200, 'One moment. Here it is.']);
  expect(await daemon.exited).toBe(0);
  expect((await session('s')).turns).toMatchObject([{ text: 'wait', outcome: 'answered' }]);
});

test('on SIGINT, too; when the grace period ends before a request is answered, the request gets 503 and the exit code is 1', async () => {
  const daemon = await start({ SHUTDOWN_GRACE_SECONDS: '1' });
  const running = post(daemon.url, { user_id: 'u', message: 'wait', session_id: 's' });
  await held(daemon, 'wait');
  daemon.signal('SIGINT');
  const { status, body, headers } = await running;
  expect([status, body.code]).toEqual([503, 'unavailable']);
  expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  expect(await daemon.exited).toBe(1);
  expect((await session('s')).turns).toMatchObject([{ text: 'wait', reply: null, outcome: 'failed' }]);
  const { stdout } = await command(['explain', body.request_id], { cwd: directory });
  expect(stdout).toContain('The daemon was stopping; the client got 503.');
});

/** Makes bin/agentd.js see an old version of Node.js, so that it starts the pinned Node.js and passes signals on. */
const WITH_LAUNCHER = {
  NODE_OPTIONS: `--import=data:text/javascript,if(!process.env.AGENTD_HANDED_OVER)Object.defineProperty(process.versions,'node',{value:'20.11.1'})`,
};

test.each([
  ['the daemon', {}],
  ['the launcher', WITH_LAUNCHER],
])('a second signal to %s makes the daemon exit at once with 1', async (_who, env) => {
  const daemon = await start(env);
  const running = post(daemon.url, { user_id: 'u', message: 'wait' });
  const cut = expect(running).rejects.toThrow('fetch failed');
  await held(daemon, 'wait');
  daemon.signal('SIGTERM');
  await stopping(daemon);
  const began = Date.now();
  daemon.signal('SIGTERM');
  expect(await daemon.exited).toBe(1);
  expect(Date.now() - began).toBeLessThan(GRACE_MS);
  await cut;
});

test.each([
  ['the launcher', { AGENTD_HANDED_OVER: '1' }, 'ipc'],
  ['npm', { npm_lifecycle_event: 'start' }, 'ignore'],
] as const)(
  'a signal to the whole process group counts once, although %s passes it on',
  async (_who, env, ipc) => {
    const launched = spawn(process.execPath, [BIN, 'serve'], {
      cwd: directory,
      env: { ...baseEnv(directory), ...env },
      stdio: ['ignore', 'pipe', 'ignore', ipc],
    });
    let shown = '';
    for await (const text of launched.stdout as Readable) {
      shown += text;
      if (shown.includes('ready on')) break;
    }
    const exited = once(launched, 'exit');
    launched.kill('SIGTERM');
    launched.kill('SIGINT');
    expect(await exited).toEqual([0, null]);
  },
);

test('a pending request to the model is aborted when the grace period has ended', async () => {
  const model = await FakeModel.start();
  model.script(['hang']);
  const daemon = await startDaemonHere({
    directory,
    env: { AGENT_MODEL: 'test', AGENT_BASE_URL: model.url, SHUTDOWN_GRACE_SECONDS: '0' },
  });
  const running = post(daemon.url, { user_id: 'u', message: 'hello' });
  await model.hanging;
  const stopped = daemon.stop();
  expect((await running).status).toBe(503);
  expect(await stopped).toBe(1);
  await model.close();
});

/** Sends a request on its own connection. */
async function statusOf(url: string, options: RequestOptions, body: string): Promise<number | undefined> {
  const sent = request(url, { ...options, agent: false });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'close');
  return response.statusCode;
}

/** Says what still keeps the process alive when it exits. A process that ends by itself emits `beforeExit`. */
const TELLS_HOW_IT_ENDS = `
process.on('beforeExit', () => console.error(JSON.stringify({ end: 'by itself' })));
process.on('exit', () => console.error(JSON.stringify({ kept_alive_by: process.getActiveResourcesInfo() })));
`;

const DELAYED = { ADMIN_LISTEN: '127.0.0.1:0', SHUTDOWN_DELAY_SECONDS: '1' };

test.each<[title: string, env: Record<string, string>]>([
  ['after a delay in which it is not ready', DELAYED],
  ...(isThorough ? [['without a delay', {}] as [string, Record<string, string>]] : []),
])('nothing keeps the process alive when everything has stopped, %s', async (_title, env) => {
  const daemon = await start({
    ...env,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(TELLS_HOW_IT_ENDS)}`,
  });
  // A connection that stays open would itself delay the end.
  const headers = { 'Content-Type': 'application/json', Connection: 'close' };
  const body = JSON.stringify({ user_id: 'u', message: 'hello' });
  expect(await statusOf(`${daemon.url}/webchat/message`, { method: 'POST', headers }, body)).toBe(200);
  expect(await daemon.stop()).toBe(0);
  const ends = daemon.log().filter((line) => 'end' in line || 'kept_alive_by' in line);
  expect(ends).toEqual([{ end: 'by itself' }, { kept_alive_by: expect.not.arrayContaining(['Timeout']) }]);
});
