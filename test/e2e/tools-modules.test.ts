import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { command } from '../support/command.ts';
import { SECRET } from '../support/daemon.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { FakeApi } from '../support/fake-api.ts';
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts';
import { token } from '../support/tokens.ts';
import { post } from '../support/webchat.ts';

// Tests agentd-agent(7), "Modules": tools of a module in a folder without node_modules. The runtime makes the calls
// that the message contains, as a model might.

const folder = temporaryFolder('tools');

const TOOLS = `
import type { ToolContext, ToolDefinition } from 'agentd/agent';

let kept: ToolContext | undefined;
const parameters = { type: 'object', properties: { userEmail: { type: 'string', format: 'email' } } };

export default [
  {
    name: 'look_up', title: 'Look somebody up', description: 'Looks somebody up.', parameters,
    effect: 'read', public: ['name'],
    call: ({ userEmail }: { userEmail?: string }, { api, person }: ToolContext) =>
      api.get('/users', { query: { userEmail: userEmail ?? person?.email } }),
  },
  {
    name: 'rename', description: 'Renames the person.', effect: 'write', confirm: 'never',
    summary: 'Rename to {name}',
    parameters: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    call: (body: object, { api, idempotency_key }: ToolContext) =>
      api.patch('/users', { body, headers: { 'Idempotency-Key': idempotency_key ?? '' } }),
  },
  {
    name: 'refund', description: 'Refunds an order.', effect: 'write',
    parameters: { type: 'object', properties: {} },
    call: (_args: object, { api }: ToolContext) => api.post('/refunds'),
  },
  {
    name: 'keep', description: 'Keeps its context, and waits for nothing.', effect: 'read',
    parameters: { type: 'object', properties: {} },
    call: (_args: object, context: ToolContext) => {
      kept = context;
      setTimeout(() => context.log.warn({}, 'later'), 1);
    },
  },
  {
    name: 'use_kept', description: 'Uses the context that keep has kept.', effect: 'read',
    parameters: { type: 'object', properties: {} },
    call: () => kept?.api.post('/refunds').catch((error: Error) => error.message),
  },
] satisfies ToolDefinition[];
`;

const RUNTIME = `
import type { AgentRuntime, AgentTurn } from 'agentd/agent';
let kept: AgentTurn['tools'] = [];
export default {
  apiVersion: 1,
  async *run({ text, tools: given }) {
    const tools = text.startsWith('kept ') ? kept : given;
    kept = tools;
    for (const line of text.split('\\n')) {
      const [name, ...json] = line.replace(/^kept /, '').split(' ');
      const tool = tools.find((one) => one.name === name);
      const answer = tool?.call(JSON.parse(json.join(' ') || '{}')).catch((error: Error) => error.message);
      yield JSON.stringify((await answer) ?? 'no such tool') + '\\n';
    }
  },
} satisfies AgentRuntime;
`;

let api: FakeApi;
let daemon: DaemonHere;
let env: Record<string, string>;

beforeAll(async () => {
  api = await FakeApi.start({
    secret: SECRET,
    find: ({ query }) => ({ email: query.userEmail, name: `Name of ${query.userEmail}`, phone: '+15550100' }),
  });
  writeFiles(folder, {
    'tools/people.ts': TOOLS,
    'runtime.ts': RUNTIME,
    'agentd.yaml': 'tools:\n  - module: ./tools/people.ts\n',
  });
  env = { ...api.env, AGENT_RUNTIME: './runtime.ts' };
  daemon = await startDaemonHere({ directory: folder, env });
});
afterEach(() => {
  api.behave();
  api.requests.length = 0;
});

/** Sends a message that calls tools, one per line. @returns the answers of the tools */
async function say(message: string, bearer?: string): Promise<unknown[]> {
  const body = { user_id: 'visitor', message };
  const answer = await post(daemon.url, body, bearer === undefined ? {} : { bearer });
  expect(answer.status).toBe(200);
  const { response } = answer.body as { response: string };
  return (
    response
      .trim()
      .split('\n')
      // The lines of the daemon about writes follow.
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as unknown)
  );
}

const cli = (args: string[], input?: string, rest: Record<string, string> = {}) =>
  command(args, { env: { ...env, ...rest }, cwd: folder, ...(input === undefined ? {} : { input }) });

describe('in a conversation', () => {
  test('a tool acts as the person of the message', async () => {
    const bearer = await token();
    expect(await say('look_up', bearer)).toMatchObject([
      { ok: true, result: { email: 'ada@example.com', phone: '+15550100' } },
    ]);
    expect(api.seen('/users')).toMatchObject([{ bearer, sub: 'ada' }]);
  });

  test('a write is made as the person of the message', async () => {
    api.misbehave('/users', { status: 200, body: { done: true } });
    expect(await say('rename {"name": "Ada"}', await token())).toEqual([
      { ok: true, result: { done: true } },
    ]);
    const [write] = api.seen('/users');
    expect(write).toMatchObject({ method: 'PATCH', body: { name: 'Ada' }, sub: 'ada' });
    // The idempotency key is the id of the action in the journal.
    const { stdout } = await cli(['actions', 'list', '--json']);
    expect(JSON.parse(stdout)).toMatchObject([{ action_id: write?.headers['idempotency-key'] }]);
  });

  test('agentd explain shows the credential of each call, and why', async () => {
    const id = 'tools-modules-explain';
    await post(
      daemon.url,
      { user_id: 'visitor', message: 'look_up {"userEmail": "bob@example.com"}' },
      { headers: { 'X-Request-Id': id } },
    );
    const { stdout } = await cli(['explain', id]);
    expect(stdout).toMatch(/credentials +fallback.*no_jwt_context/);
    expect(stdout).toMatch(/downstream .*method=GET path=\/users/);
  });
});

describe('agentd tools', () => {
  test('list shows name, source, effect, credentials, confirmation, tokens and state', async () => {
    const { code, stdout } = await cli(['tools', 'list', '--json']);
    expect(code).toBe(0);
    const tool = (name: string, effect: string, credentials: string, confirm: string) => {
      const source = ['look_up', 'rename', 'refund', 'keep', 'use_kept'].includes(name)
        ? './tools/people.ts'
        : 'built-in';
      const tokens = expect.any(Number) as number;
      return { name, source, effect, credentials, confirm, tokens, state: 'ok', detail: null };
    };
    expect(JSON.parse(stdout)).toEqual([
      tool('get_user', 'read', 'user-or-default', 'never'),
      tool('my_actions', 'read', 'none', 'never'),
      tool('remember', 'write', 'none', 'never'),
      tool('recall', 'read', 'none', 'never'),
      tool('forget', 'write', 'none', 'never'),
      tool('look_up', 'read', 'user-or-default', 'never'),
      tool('rename', 'write', 'user', 'never'),
      tool('refund', 'write', 'user', 'always'),
      tool('keep', 'read', 'user-or-default', 'never'),
      tool('use_kept', 'read', 'user-or-default', 'never'),
    ]);
    expect((await cli(['tools', 'list'])).stdout).toMatch(
      /^NAME +SOURCE +EFFECT +CREDENTIALS +CONFIRM +TOKENS +STATE/,
    );
  });

  test('call acts as the person of the token, and does not print the token', async () => {
    const bearer = await token();
    const { code, stdout, stderr } = await cli(['tools', 'call', 'look_up', '--token', '-'], bearer);
    expect(code).toBe(0);
    expect(stdout).toContain(`request: GET ${api.url}/users?userEmail=ada%40example.com (credentials: user)`);
    expect(stdout).toContain('status: 200');
    expect(stdout).toContain('"phone": "+15550100"');
    expect(stdout + stderr).not.toContain(bearer);
    expect(api.seen('/users')).toMatchObject([{ bearer }]);
    const [line] = JSON.parse((await cli(['audit', '--json'])).stdout);
    expect(line).toMatchObject({ command: 'tools call', about: 'look_up', person: expect.any(String) });
  });

  test('call of a tool that writes needs --yes if there is no terminal', async () => {
    for (const words of ['{"name"', '["ada"]', 'null'])
      expect(await cli(['tools', 'call', 'look_up', words])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('the arguments are not a JSON object'),
      });
    const refused = await cli(['tools', 'call', 'refund', '--token', '-'], await token());
    expect([refused.code, api.requests]).toEqual([2, []]);
    expect(refused.stderr).toContain('Pass --yes.');
    const renamed = await cli(
      ['tools', 'call', 'rename', '{"name":"Ada *L*"}', '--token', '-'],
      await token(),
    );
    // The output has the question that a person would be asked.
    expect(renamed.stderr).toContain('Rename to "Ada *L*"');
    api.misbehave('/refunds', { status: 201, body: { id: 7 } });
    const made = await cli(['tools', 'call', 'refund', '--yes', '--token', '-'], await token());
    expect([made.code, made.stdout]).toEqual([0, expect.stringContaining('status: 201')]);
    const { stdout } = await cli(['actions', 'list', '--json']);
    expect(JSON.parse(stdout)[0]).toMatchObject({
      tool: 'refund',
      outcome: 'done',
      status: 201,
      operator: expect.stringMatching(/./),
    });
    expect((await cli(['audit', '--json'])).stdout).toContain('tools call');
  });

  test('new writes a tool and a test that passes, and overwrites nothing', async () => {
    const { code, stdout } = await cli(['tools', 'new', 'list_orders']);
    expect(code).toBe(0);
    expect(stdout).toContain('- module: ./tools/list_orders.ts');
    const run = promisify(execFile);
    await run(process.execPath, ['--test', 'tools/list_orders.test.ts'], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? '' },
    });
    const again = await cli(['tools', 'new', 'list_orders']);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('nothing was written')]);
    expect((await cli(['tools', 'new', 'a b'])).code).toBe(2);

    const config = join(folder, 'new.yaml');
    writeFileSync(config, 'tools:\n  - module: ./tools/list_orders.ts\n');
    api.misbehave('/orders', { status: 200, body: [{ id: '1001' }] });
    const args = ['tools', 'call', 'list_orders', '{"status":"open"}', '--token', '-', '--config', config];
    const called = await cli(args, await token());
    expect([called.code, called.stdout]).toEqual([0, expect.stringContaining('1001')]);
    expect(api.seen('/orders')).toMatchObject([{ sub: 'ada', query: { customer: 'ada', status: 'open' } }]);
  });
});

describe('a problem with a module', () => {
  test('is a configuration error of serve and of config check, with the entry and its line', async () => {
    const config = join(folder, 'broken.yaml');
    writeFileSync(join(folder, 'tools', 'broken.ts'), "export default { name: 'x', effect: 'maybe' };");
    writeFileSync(config, 'tools:\n  - module: ./tools/people.ts\n  - module: ./tools/broken.ts\n');
    for (const words of [['config', 'check'], ['serve']]) {
      const other = { STATE_DIR: join(folder, 'other') };
      const { code, stderr } = await cli([...words, '--config', config], undefined, other);
      expect([words, code]).toEqual([words, 78]);
      expect(stderr).toMatch(/tools\[1\].*line 3/);
      expect(stderr).toContain('`effect` is "maybe"');
    }
  });
});

test('config check says that the module may see a token of a person, and doctor names its tools', async () => {
  const checked = await cli(['config', 'check']);
  expect(checked.code).toBe(0);
  expect(checked.stdout).toContain(`tools of ./tools/people.ts (${api.url}): may see a person's token`);
  const { stdout } = await cli(['doctor', '--json']);
  expect(JSON.parse(stdout)).toContainEqual({
    check: 'tools of ./tools/people.ts',
    outcome: 'ok',
    detail: 'look_up, rename, refund, keep, use_kept',
  });
});
