import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import { beforeEach, expect, it } from 'vitest';
import { createLog } from '../../../src/daemon/process/log.ts';
import { type Daemon, startDaemon } from '../../../src/daemon/serve.ts';
import { configure } from '../../../src/daemon/settings/configure/configure.ts';
import { hs256 } from '../identity/make-token.ts';

const SECRET = 'a-secret-of-at-least-256-bits-of-text-here';

/** A runtime that says which agent it is, which tools it has, and how much it remembers of the conversation. */
const RUNTIME = `export default {
  apiVersion: 1,
  async *run(turn) {
    const tools = turn.tools.map(({ name }) => name).sort().join(',');
    if (turn.text === 'write') await turn.tools.find(({ name }) => name === 'pay')?.call({});
    const [confirmed] = turn.confirmed_actions;
    const done = confirmed ? confirmed.answer.ok : '-';
    yield [turn.agent, tools, turn.history.length, done].join(' ');
  },
};`;
const TOOLS = `const tool = (name, effect) => ({
  name, effect, description: 'Does it.', credentials: 'none', public: 'all',
  parameters: { type: 'object', properties: {} }, call: async () => ({}),
});
export default [tool('look', 'read'), tool('pay', 'write')];`;

let directory: string;
let daemon: Daemon;

const place = () => ({ cwd: directory, env: { HOME: directory } });
function write(agents: unknown): void {
  const settings = {
    ...{ JWT_ALGORITHM: 'HS256', JWT_SECRET_KEY: SECRET, PORT: 0, STATE_DIR: join(directory, 'state') },
    ...{ WEBCHAT_ENABLED: true, AGENT_RUNTIME: join(directory, 'runtime.mjs'), LOG_LEVEL: 'FATAL' },
    ...{ tools: [{ module: './tools.mjs' }], agents },
  };
  writeFileSync(join(directory, 'agentd.yaml'), dump(settings), { mode: 0o600 });
}

const GERMAN = { name: 'german', when: { locale: 'de', tenant_id: 'acme' }, tools: ['look'], memory: false };

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'agentd-agents-'));
  writeFileSync(join(directory, 'runtime.mjs'), RUNTIME);
  writeFileSync(join(directory, 'tools.mjs'), TOOLS);
  write([GERMAN, { name: 'rest', tools: ['look', 'pay', 'recall'] }]);
  const log = createLog({ level: 'FATAL', format: 'JSON', writeError: ({ length }) => length });
  daemon = await startDaemon(await configure(place()), log, { location: place() });
  return async () => {
    await daemon.stop();
    rmSync(directory, { recursive: true });
  };
});

const tokenOf = (claims: object) =>
  hs256({ sub: 'u-1', email: 'u@example.com', exp: 4_000_000_000, ...claims }, { alg: 'HS256' }, SECRET);
const AUSTRIAN = tokenOf({ tenant_id: 'acme', locale: 'de-AT' });
const ENGLISH = tokenOf({ tenant_id: 'acme', locale: 'en' });

interface Answer {
  response: string;
  session_id: string;
  metadata?: { confirmation?: { id: string } };
}

async function ask(token: string | null, message = 'Hello', more: object = {}): Promise<Answer> {
  const metadata = { ...(token === null ? {} : { jwt_token: token }), ...more };
  const body = JSON.stringify({ message, user_id: 'visitor', ...more, metadata });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${daemon.url}/webchat/message`, { method: 'POST', headers, body });
  expect(answer.status).toBe(200);
  return (await answer.json()) as Answer;
}

it('each message is answered by the agent that fits it, with the tools and the memory of that agent', async () => {
  const { response, session_id } = await ask(AUSTRIAN);
  expect(response).toBe('german look 0 -');
  // The conversation is the person's, whichever agent answers.
  expect((await ask(ENGLISH, 'Hello', { session_id })).response).toBe('rest look,pay,recall 1 -');
  expect((await ask(null)).response).toBe('rest look,pay 0 -');
  const traces = await daemon.services.store.traces.find(session_id);
  const header = (await fetch(daemon.url)).headers.get('x-agent-digest') ?? '';
  const [german, rest] = ['german', 'rest'].map((name) => header.match(`${name}=(\\w+)`)?.[1]);
  expect(german).not.toBe(rest);
  expect(traces.map(({ agent, agent_digest }) => [agent, agent_digest])).toEqual([
    ['german', german],
    ['rest', rest],
  ]);
});

it('an agent has memory although the last one has none', async () => {
  write([
    { name: 'german', when: { locale: 'de' }, tools: ['look', 'recall'] },
    { name: 'rest', tools: ['look'], memory: false },
  ]);
  expect(await daemon.reloader?.reload('test')).toMatchObject({ outcome: 'changed' });
  expect((await ask(AUSTRIAN)).response).toBe('german look,recall 0 -');
  expect((await ask(ENGLISH)).response).toBe('rest look 0 -');
});

it('a confirmed call is not made by an agent for which its tool does not exist', async () => {
  const asked = await ask(ENGLISH, 'write');
  expect(asked.metadata?.confirmation).toBeDefined();
  const { session_id } = asked;
  const confirmed = await ask(AUSTRIAN, 'yes', { session_id });
  expect(confirmed.response).toMatch(/^german look 1 false/);
  const again = await ask(ENGLISH, 'write', { session_id });
  expect((await ask(ENGLISH, 'yes', { session_id: again.session_id })).response).toMatch(/^rest \S+ \d true/);
});

it('a listed tool that does not exist, or a file of instructions that is missing, is a problem at its place', async () => {
  write([{ ...GERMAN, tools: ['lok'], instructions: './missing.md' }, { name: 'rest' }]);
  const refused = await daemon.reloader?.reload('test');
  expect(refused).toMatchObject({ outcome: 'refused', problems: [{ setting: 'agents[0].instructions' }] });
  write([{ ...GERMAN, tools: ['lok'] }, { name: 'rest' }]);
  expect(await daemon.reloader?.reload('test')).toMatchObject({
    outcome: 'refused',
    problems: [{ setting: 'agents[0].tools[0]', value: 'lok', right: expect.stringMatching(/^look\?/) }],
  });
  write([{ name: 'rest', memory: false }]);
  expect(await daemon.reloader?.reload('test')).toMatchObject({
    outcome: 'changed',
    changes: { settings: ['agents'] },
  });
  expect((await ask(ENGLISH)).response).toBe('rest look,my_actions,pay 0 -');
});

it('a pending action is withdrawn if the record of its tool has changed since the question', async () => {
  const asked = await ask(ENGLISH, 'write');
  const { session_id } = asked;
  const id = asked.metadata?.confirmation?.id ?? '';
  writeFileSync(join(directory, 'tools.mjs'), TOOLS.replace('Does it.', 'Does something else.'));
  expect(await daemon.reloader?.reload('test')).toMatchObject({
    changes: { tools: { changed: ['look', 'pay'] } },
  });
  expect((await ask(ENGLISH, 'yes', { session_id })).response).toMatch(/^rest \S+ 1 -/);
  expect(await daemon.services.store.actions.find(id)).toMatchObject({ state: 'withdrawn' });
});
