import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { createLog } from '../../../src/daemon/process/log.ts';
import { type Daemon, startDaemon } from '../../../src/daemon/serve.ts';
import { configure } from '../../../src/daemon/settings/configure/configure.ts';
import type { ReloadReport } from '../../../src/daemon/store/reloads.ts';
import { capture } from '../cli/captured-output.ts';
import { hs256 } from '../identity/make-token.ts';

const [OLD, NEW] = ['old-secret-of-at-least-256-bits-of-text', 'new-secret-of-at-least-256-bits-of-text'];
const claims = { sub: 'u-1', email: 'u@example.com', exp: 4_000_000_000 };
const tokenOf = (secret: string) => hs256(claims, { alg: 'HS256' }, secret);

/** A runtime that calls its tool before and after a pause, and answers with what it has seen of the configuration. */
const RUNTIME = `export default {
  apiVersion: 1,
  async *run(turn) {
    const tool = () => turn.tools.find(({ name }) => name === 'mark');
    const first = (await tool().call({})).result.mark;
    await new Promise((resolve) => setTimeout(resolve, 5));
    await globalThis.pauseOfReloadTest?.(turn.text);
    yield [turn.app_name, first, (await tool().call({})).result.mark].join(' ');
  },
};`;

const moduleOf = (mark: string) => `export default {
  name: 'mark', description: 'Says ${mark}.', effect: 'read', credentials: 'none', public: 'all',
  parameters: { type: 'object', properties: {} },
  call: async () => ({ mark: '${mark}' }),
};`;

let directory: string;
let daemon: Daemon;

function write(changes: Record<string, unknown> = {}, mark = 'A'): void {
  const settings = {
    ...{ JWT_ALGORITHM: 'HS256', JWT_SECRET_KEY: OLD, PORT: 0, STATE_DIR: join(directory, 'state') },
    ...{ WEBCHAT_ENABLED: true, AGENT_RUNTIME: join(directory, 'runtime.mjs'), APP_NAME: mark },
    ...{ LOG_LEVEL: 'FATAL', LOOP_GUARD_ENABLED: false, RATE_LIMIT_ANONYMOUS_MAX: 100_000 },
    tools: [{ module: './mark.mjs' }],
    ...changes,
  };
  writeFileSync(join(directory, 'agentd.yaml'), dump(settings), { mode: 0o600 });
  writeFileSync(join(directory, 'mark.mjs'), moduleOf(mark));
}

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'agentd-reload-'));
  writeFileSync(join(directory, 'runtime.mjs'), RUNTIME);
  write();
  const place = { cwd: directory, env: { HOME: directory } };
  const log = createLog({ level: 'FATAL', format: 'JSON', writeError: ({ length }) => length });
  daemon = await startDaemon(await configure(place), log, { location: place });
  return async () => {
    await daemon.stop();
    rmSync(directory, { recursive: true });
  };
});

async function reload(): Promise<ReloadReport> {
  if (daemon.reloader === null) throw new Error('there is no reload');
  return daemon.reloader.reload('test');
}

interface Answer {
  status: number;
  response?: string;
  session_id?: string;
}

async function ask(message = 'Hello', session_id?: string): Promise<Answer> {
  const body = JSON.stringify({ message, user_id: 'visitor', session_id });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${daemon.url}/webchat/message`, { method: 'POST', headers, body });
  return { status: answer.status, ...((await answer.json()) as object) };
}

it('takes over settings, keys, texts and tools together, and names them', async () => {
  expect(await ask()).toMatchObject({ status: 200, response: 'A A A' });
  const { services } = daemon;
  const digest = services.agents.digest();
  const channelLog = services.log.child({ channel: 'webchat' });
  const texts = { en: { confirm_gone: 'Too late.' } };
  write({ JWT_SECRET_KEY: [NEW, OLD], RATE_LIMIT_ANONYMOUS_MAX: 7, LOG_LEVEL: 'error', texts }, 'B');
  const outcome = await reload();
  expect(outcome).toMatchObject({
    outcome: 'changed',
    changes: {
      settings: expect.arrayContaining([
        ...['JWT_SECRET_KEY', 'RATE_LIMIT_ANONYMOUS_MAX', 'LOG_LEVEL', 'APP_NAME', 'texts'],
      ]),
      files: [join(directory, 'mark.mjs')],
      tools: { added: [], removed: [], changed: ['mark'] },
    },
    restart: [],
  });
  expect(JSON.stringify(outcome)).not.toContain('secret-of');
  expect(outcome.agent_digest).toBe(services.agents.digest());
  expect(outcome.agent_digest).not.toBe(digest);
  expect((await ask()).response).toBe('B B B');
  expect(await services.tokens.validate(tokenOf(NEW))).toMatchObject({ valid: true, key: 1 });
  expect(await services.tokens.validate(tokenOf(OLD))).toMatchObject({ valid: true, key: 2 });
  expect(services.texts.in('en').say('confirm_gone')).toBe('Too late.');
  expect([services.log.level, channelLog.level]).toEqual(['error', 'error']);
  expect(services.settings.RATE_LIMIT_ANONYMOUS_MAX).toBe(7);
  const policies = (await fetch(`${daemon.url}/webchat/message`, { method: 'POST' })).headers;
  expect(policies.get('ratelimit-policy')).toContain('q=7');

  write({ JWT_SECRET_KEY: NEW }, 'B');
  await reload();
  expect(await services.tokens.validate(tokenOf(OLD))).toMatchObject({ valid: false });
});

it.each<[string, Record<string, unknown>, string?]>([
  ['a wrong value', { LOG_LEVEL: 'error', RATE_LIMIT_ANONYMOUS_MAX: 'many' }],
  ['a missing file of instructions', { AGENT_INSTRUCTIONS: '/no/such/prompt.md' }],
  ['an unknown name', { LOG_LEVL: 'error' }],
  ['a wrong text', { texts: { en: { no_such_text: 'x' } } }],
  ['a module that cannot be loaded', { LOG_LEVEL: 'error' }, "'; throw new Error('broken'); '"],
  ['a module that is missing', { tools: [{ module: './mark.mjs' }, { module: './other.mjs' }] }],
  ['two tools of one name', { tools: [{ module: './mark.mjs' }, { module: './mark.mjs' }] }],
  ['a wrong value of a setting that needs a restart', { PORT: 'none', LOG_LEVEL: 'error' }],
])('changes nothing because of %s', async (_what, changes, mark) => {
  const before = { ...daemon.services };
  const digest = daemon.services.agents.digest();
  write(changes, mark);
  expect(await reload()).toMatchObject({ outcome: 'refused', agent_digest: digest });
  expect(daemon.services).toEqual(before);
  expect(daemon.services.log.level).toBe('fatal');
  expect((await ask()).response).toBe('A A A');
  write({ LOG_LEVEL: 'error' });
  expect(await reload()).toMatchObject({ outcome: 'changed' });
});

it('names the settings that need a restart, and keeps their values', async () => {
  const { settings } = daemon.services;
  write({ PORT: 1, TELEX_X: undefined, TRUST_PROXY: 3 });
  expect(await reload()).toMatchObject({ outcome: 'unchanged', restart: ['PORT', 'TRUST_PROXY'] });
  write({ PORT: 1, LOG_LEVEL: 'error' });
  expect(await reload()).toMatchObject({ outcome: 'changed', restart: ['PORT'] });
  expect(daemon.services.settings).toMatchObject({ PORT: settings.PORT, LOG_LEVEL: 'ERROR' });
});

it('names the channels that need a restart until they are again those that run', async () => {
  write({ SSE_ENABLED: true, LOG_LEVEL: 'error' });
  const added = ['SSE_ENABLED', 'MESSAGING_PLATFORMS'];
  expect(await reload()).toMatchObject({ outcome: 'changed', restart: added });
  expect(await reload()).toMatchObject({ outcome: 'unchanged', restart: added });
  write({ LOG_LEVEL: 'fatal' });
  expect(await reload()).toMatchObject({ outcome: 'changed', restart: [] });
});

it('changes nothing if nothing has changed', async () => {
  const before = { ...daemon.services };
  expect(await reload()).toMatchObject({ outcome: 'unchanged', restart: [] });
  expect(daemon.services).toEqual(before);
});

it('a turn that has begun before ends with what it began with, and its trace names that', async () => {
  const { session_id } = await ask();
  const held = Promise.withResolvers<void>();
  const holding = Promise.withResolvers<void>();
  const pause = async (text: string) => {
    if (text !== 'Hold') return;
    holding.resolve();
    await held.promise;
  };
  Object.assign(globalThis, { pauseOfReloadTest: pause });
  onTestFinished(() => void Object.assign(globalThis, { pauseOfReloadTest: undefined }));
  const first = ask('Hold', session_id);
  await holding.promise;
  // It waits for its session.
  const second = ask('Hello', session_id);
  await expect.poll(() => daemon.services.running.size).toBe(2);
  const before = daemon.services.agents.digest();
  write({}, 'B');
  expect(await reload()).toMatchObject({ outcome: 'changed' });
  held.resolve();
  expect((await Promise.all([first, second])).map(({ response }) => response)).toEqual(['A A A', 'A A A']);
  const third = await ask('Hello', session_id);
  expect(third.response).toBe('B B B');
  const traces = await daemon.services.store.traces.find(session_id ?? '');
  const after = daemon.services.agents.digest();
  expect(traces.map(({ agent_digest }) => agent_digest)).toEqual([before, before, before, after]);
});

it('under load, loses no message, and each turn has one configuration from its beginning to its end', async () => {
  let isOver = false;
  const answers: Awaited<ReturnType<typeof ask>>[] = [];
  const client = async () => {
    while (!isOver) answers.push(await ask());
  };
  const clients = Promise.all(Array.from({ length: 8 }, client));
  const marks = ['B', 'A', 'B', 'A', 'B'];
  for (const mark of marks) {
    write({}, mark);
    expect(await reload()).toMatchObject({ outcome: 'changed' });
    const seen = answers.length;
    await expect.poll(() => answers.length, { timeout: 20_000 }).toBeGreaterThan(seen + 16);
  }
  isOver = true;
  await clients;
  const responses = new Set(answers.map(({ status, response }) => `${status} ${response}`));
  expect([...responses].sort()).toEqual(['200 A A A', '200 B B B']);
});

it('`agentd reload` prints what each daemon has taken over, or why it has not, and its exit code says which', async () => {
  const agentd = async (...args: string[]) => {
    const [stdout, stderr] = [capture(), capture()];
    const configFile = join(directory, 'agentd.yaml');
    const code = await runProgram([...args, '--config', configFile], { stdout, stderr });
    return { code, stdout: stdout.text, stderr: stderr.text };
  };
  write({ LOG_LEVEL: 'error' }, 'B');
  const changed = await agentd('reload');
  expect(changed).toMatchObject({ code: 0, stderr: '' });
  expect(changed.stdout).toContain(`agent ${daemon.services.agents.digest()}`);
  for (const line of ['changed: LOG_LEVEL', 'changed: APP_NAME', 'tool changed: mark'])
    expect(changed.stdout).toContain(line);

  write({ LOG_LEVEL: 'error', RATE_LIMIT_TOKEN_MAX: 0 }, 'B');
  const refused = await agentd('reload', '--json');
  expect(refused.code).toBe(78);
  const [report] = (JSON.parse(refused.stdout) as { daemons: object[] }).daemons;
  expect(report).toMatchObject({ outcome: 'refused', problems: [{ setting: 'RATE_LIMIT_TOKEN_MAX' }] });

  write({ LOG_LEVEL: 'error', TRUST_PROXY: 2 }, 'B');
  const restart = await agentd('reload');
  expect(restart).toMatchObject({ code: 1 });
  expect(restart.stdout).toContain('needs a restart: TRUST_PROXY');

  write({ LOG_LEVEL: 'error' }, 'B');
  expect(await agentd('reload')).toMatchObject({ code: 0 });
  await daemon.stop();
  expect(await agentd('reload')).toMatchObject({ code: 69, stdout: '' });
});
