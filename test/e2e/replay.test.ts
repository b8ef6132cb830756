import { spawnSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import msgbot from '../../plugins/msgbot/index.ts';
import { BIN, baseEnv } from '../support/daemon.ts';
import { FakeModel, type ModelAnswer } from '../support/fake-model.ts';
import { FakePlatform } from '../support/fake-platform.ts';
import { type Shop, startShop } from '../support/shop.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

// Tests agentd-replay(1) and `agentd eval add` with a platform, an API and a model that count their calls.

const TOOLS = `
export default {
  name: 'cancel', description: 'Cancels an order.', effect: 'write', confirm: 'never', credentials: 'user-or-default',
  parameters: { type: 'object', properties: { id: { type: 'string' } } },
  call: ({ id }, { api }) => api.post('/cancel/' + id),
};
`;

const call = (name: string, args: object): ModelAnswer => ({ tools: [{ name, args }] });
const lookUp = (email: string) => call('get_user', { email });
/** What the model said when the message was recorded. */
const RECORDED: readonly ModelAnswer[] = [
  lookUp('ada@example.com'),
  call('cancel', { id: '7' }),
  { text: ['It was not cancelled.'] },
];

/** Whether this user may run a program without any network. */
const canIsolate = () => spawnSync('unshare', ['-n', 'true']).status === 0;

let folder: string;
let model: FakeModel;
let platform: FakePlatform;
let shop: Shop;
let recordedPrompts: unknown[];

beforeAll(async () => {
  folder = temporaryFolder('replay', {
    'cancel.ts': TOOLS,
    'agentd.yaml': 'tools:\n  - module: ./cancel.ts\n',
    'new.md': 'Be short.',
  });
  model = await FakeModel.start();
  platform = await FakePlatform.start(msgbot);
  const env = { ...platform.env, AGENT_BASE_URL: model.url, AGENT_MODEL: 'large', RECORD_RUNS: 'all' };
  shop = await startShop({ env: { ...env, AGENT_DAILY_TOKENS: '1000000' }, directory: folder });
  model.script(RECORDED);
  await platform.deliver(shop.daemon, { text: 'Cancel order 7 of ada@example.com', user: '5551' });
  await platform.until(() => platform.shown.some(({ text }) => text.startsWith('It was not cancelled.')));
  recordedPrompts = model.requests.map(({ messages }) => messages);
});
beforeEach(() => {
  shop.api.requests.length = 0;
  platform.forget();
});

/** Any id by which the message is found. */
async function turnId(): Promise<string> {
  const [session] = JSON.parse((await shop.run('sessions', 'list', '--json')).stdout);
  const { turns } = await shop.session(session.session_id);
  return turns[0].turn_id;
}

async function replay(...options: string[]) {
  const { code, stdout, stderr } = await shop.run('replay', await turnId(), '--json', ...options);
  return { code, stderr, view: stdout === '' ? null : JSON.parse(stdout) };
}

describe('agentd eval add', () => {
  it('adds a case without the data of the person, which only the owner can read and which passes', async () => {
    const file = join(folder, 'cases.yaml');
    writeFileSync(file, '- { name: by hand, turns: [{ say: Hello }] }', { mode: 0o644 });
    const added = await shop.run('eval', 'add', await turnId(), file);
    expect(added.code).toBe(0);
    expect(added.stdout).toMatch(/^email +ada@example\.com +email-a@example\.com$/m);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const content = readFileSync(file, 'utf8');
    expect(content).toContain('by hand');
    for (const text of ['ada@example.com', 'order 7', '5551', 'user-ada'])
      expect(content).not.toContain(text);
    const id = /id: '(\d)'/.exec(content)?.[1] ?? '';
    model.script(({ messages }) => {
      const results = messages.filter(({ role }) => role === 'tool').length;
      return [lookUp('email-a@example.com'), call('cancel', { id })][results] ?? { text: ['Not cancelled.'] };
    });
    const { code, stdout } = await shop.run('eval', file, '--only', 'recorded', '--json');
    expect(JSON.parse(stdout).cases).toMatchObject([{ failures: [], calls: 2 }]);
    expect(code).toBe(0);
    expect(shop.api.requests).toEqual([]);
    const audit = JSON.parse((await shop.run('audit', 'msgbot:5551', '--json')).stdout);
    expect(audit[0]).toMatchObject({ command: 'eval add', about: await turnId() });
  });

  it('prints the case without a file, and refuses a file that is none', async () => {
    const { stdout, stderr, code } = await shop.run('eval', 'add', await turnId());
    expect(code).toBe(0);
    expect(stdout).toMatch(/^- name: /);
    expect(stdout).not.toContain('ada@example.com');
    expect(stderr).toContain('ada@example.com');
    writeFileSync(join(folder, 'none.yaml'), 'x: 1');
    expect((await shop.run('eval', 'add', await turnId(), join(folder, 'none.yaml'))).code).toBe(2);
    expect((await shop.run('eval', 'add', 'no-such-id')).code).toBe(1);
  });
});

describe('agentd replay', () => {
  it('gives recorded results to recorded calls; nothing is sent, stored or counted, and the audit log has a line', async () => {
    const before = (await shop.run('person', 'show', 'msgbot:5551', '--json')).stdout;
    model.script(RECORDED);
    const { code, view } = await replay();
    expect(view).toMatchObject({
      differs: false,
      agent_changed: false,
      channel: 'msgbot',
      recorded: { models: ['large'] },
    });
    expect(view.runs).toMatchObject([
      {
        answer: 'It was not cancelled.',
        calls: [
          { tool: 'get_user', from: 'recording' },
          { tool: 'cancel', from: 'recording', effect: 'write' },
        ],
      },
    ]);
    expect(code).toBe(0);
    // The model gets the same prompts, with the time of the recording.
    expect(model.requests.map(({ messages }) => messages)).toEqual(recordedPrompts);
    expect(shop.api.requests).toEqual([]);
    expect(platform.calls).toEqual([]);
    expect((await shop.run('person', 'show', 'msgbot:5551', '--json')).stdout).toBe(before);
    const [line] = JSON.parse((await shop.run('audit', 'msgbot:5551', '--json')).stdout).filter(
      (one: { command: string }) => one.command === 'replay',
    );
    expect(line).toMatchObject({ about: await turnId() });
  });

  it('answers other reads with `not recorded`, holds other writes, and shows both runs; exit code 1', async () => {
    model.script([lookUp('grace@example.com'), call('cancel', { id: '8' }), { text: ['Done.'] }]);
    const { code, view } = await replay();
    expect(view.runs[0]).toMatchObject({
      in: { answer: true, calls: true },
      calls: [
        { from: 'not_recorded', answer: { ok: false, message: 'not recorded' } },
        { from: 'held', answer: { ok: false } },
      ],
    });
    expect(code).toBe(1);
    expect(shop.api.requests).toEqual([]);
    model.script([lookUp('ada@example.com'), { text: ['Done.'] }]);
    const { stdout, code: second } = await shop.run('replay', await turnId(), '--times', '2');
    expect(second).toBe(1);
    expect(stdout).toMatch(/It was not cancelled\. +\| Done\./);
    expect(stdout).toMatch(/2\. cancel \{"id":"7"\}/);
    expect(stdout).toContain('replayed, run 2 of 2');
    expect(stdout).toContain('Different: the answer and the calls.');
    // A call that was not recorded has an answer only in a case.
    expect(stdout).not.toContain('`stubs`');
    model.script([lookUp('grace@example.com'), { text: ['Done.'] }]);
    expect((await shop.run('replay', await turnId())).stdout).toMatch(/agentd eval add.*`stubs`/);
  });

  it('makes reads with --live-reads, with default credentials', async () => {
    model.script([lookUp('grace@example.com'), call('cancel', { id: '8' }), { text: ['Done.'] }]);
    const { view } = await replay('--live-reads');
    expect(view.runs[0].calls).toMatchObject([{ from: 'live' }, { from: 'held' }]);
    expect(shop.lookedUpAs()).toEqual(['service']);
    expect(JSON.stringify(view)).not.toContain('G-2002');
    expect(shop.api.requests.filter(({ path }) => path.startsWith('/cancel'))).toEqual([]);
  });

  it('takes other instructions and another model, and asks before another provider gets the conversation', async () => {
    model.script(RECORDED);
    const tried = await replay('--instructions', 'new.md', '--model', 'small');
    expect(tried).toMatchObject({ code: 0, view: { agent_changed: true } });
    expect(model.requests[0]).toMatchObject({ model: 'small' });
    expect(String(model.requests[0]?.messages[0]?.content)).toMatch(/^Be short\./);
    model.script(RECORDED);
    const { code, stderr } = await replay('--model', 'anthropic:claude');
    expect(code).toBe(2);
    expect(stderr).toContain('would be sent to anthropic');
    expect(model.requests).toEqual([]);
    expect((await replay('--instructions', 'none.md')).code).toBe(2);
  });

  it('runs the agent that answered, or the one that is named, with its instructions, tools and model', async () => {
    const agents = [
      { name: 'brief', canary: { percent: 0 }, instructions: './new.md', model: 'small', tools: ['cancel'] },
      { name: 'default' },
    ];
    const tools = [{ module: './cancel.ts' }];
    writeFileSync(join(folder, 'several.yaml'), JSON.stringify({ tools, agents }));
    model.script(RECORDED);
    const same = await replay('--config', join(folder, 'several.yaml'));
    expect(same).toMatchObject({ code: 0, view: { agent_changed: false } });
    expect(model.requests[0]).toMatchObject({ model: 'large' });
    model.script(RECORDED);
    const other = await replay('--config', join(folder, 'several.yaml'), '--agent', 'brief');
    expect(other.view).toMatchObject({ agent_changed: true });
    expect(model.requests[0]).toMatchObject({ model: 'small', tools: [{ function: { name: 'cancel' } }] });
    expect(String(model.requests[0]?.messages[0]?.content)).toMatch(/^Be short\./);
    expect(await replay('--agent', 'brief')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Pass --agent with one of these: default.'),
    });
  });

  it.skipIf(!canIsolate())(
    'needs no network: it runs without any, with the builtin agent (skipped if the machine has no `unshare -n`)',
    async () => {
      const args = ['-n', process.execPath, BIN, 'replay', await turnId(), '--json'];
      const env = {
        ...baseEnv(folder),
        ...platform.env,
        AGENT_RUNTIME: 'builtin',
        API_BASE_URL: shop.api.url,
      };
      const { exitCode, stdout } = await execa('unshare', args, {
        cwd: folder,
        env,
        extendEnv: false,
        reject: false,
      });
      expect(exitCode).toBe(1);
      expect(JSON.parse(stdout).runs).toMatchObject([
        { failure: null, calls: [{ tool: 'get_user', from: 'recording' }] },
      ]);
    },
  );

  it('says what is missing if there is no recording', async () => {
    const unknown = await shop.run('replay', 'no-such-id');
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('no trace and no recording') });
    // The repeated request was answered without a run.
    model.script([{ text: ['Hi.'] }]);
    for (const id of ['first-request', 'second-request'])
      await shop.say(
        { user_id: 'web', message: 'Hello' },
        { headers: { 'Idempotency-Key': 'k', 'X-Request-Id': id } },
      );
    // Its trace is stored after the response.
    await expect
      .poll(() => shop.run('replay', 'second-request'))
      .toMatchObject({ code: 1, stderr: expect.stringContaining('there is a trace') });
  });
});
