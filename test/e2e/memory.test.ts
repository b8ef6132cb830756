import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import phonechat from '../../plugins/phonechat/index.ts';
import teamchat from '../../plugins/teamchat/index.ts';
import { command } from '../support/command.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { FakeModel } from '../support/fake-model.ts';
import { FakePlatform } from '../support/fake-platform.ts';
import { callMemoryTools, lastPrompt, lastTools } from '../support/memory-model.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { token } from '../support/tokens.ts';
import { post } from '../support/webchat.ts';

const TOOLS = ['remember', 'recall', 'forget'];
const CHANNEL = 'C0LOUNGE';
const today = new Date().toISOString().slice(0, 10);

let directory: string;
let model: FakeModel;
let phone: FakePlatform;
let team: FakePlatform;
let daemon: DaemonHere;
let sessions = 0;

beforeAll(async () => {
  directory = temporaryFolder('memory');
  model = await FakeModel.start();
  callMemoryTools(model);
  phone = await FakePlatform.start(phonechat);
  team = await FakePlatform.start(teamchat);
  const env = { ...phone.env, ...team.env, AGENT_BASE_URL: model.url, AGENT_MODEL: 'fake' };
  daemon = await startDaemonHere({ directory, env });
});

/** Sends a message in a new session. @returns the reply */
async function say(
  message: string,
  { bearer, user_id = 'visitor' }: { bearer?: string; user_id?: string } = {},
) {
  const body = { user_id, message, session_id: `s${++sessions}` };
  const answer = await post(daemon.url, body, bearer === undefined ? {} : { bearer });
  expect(answer.status).toBe(200);
  return String(answer.body.response);
}

/** Sends a message from a phone. @returns the reply */
async function phoned(user: string, text: string, bsuid?: string) {
  const before = phone.textsTo(user).length;
  const { method, path, headers, body } = phone.simulator.delivery(
    phone.event({ user, text }),
    phone.settings,
  );
  const rewritten = bsuid === undefined ? body : body.replaceAll(/US\.\d+/g, bsuid);
  const request = { method, path, headers, body: rewritten };
  await phone.post(daemon, phone.simulator.sign?.(request, phone.settings) ?? request);
  await phone.until(() => phone.textsTo(user).length > before);
  return String(phone.textsTo(user).at(-1));
}

const memory = (...args: string[]) =>
  command(['memory', ...args], {
    cwd: directory,
    env: { ...phone.env, ...team.env, STATE_DIR: join(directory, 'state') },
  });
const listed = async (...who: string[]) =>
  (JSON.parse((await memory('list', ...who, '--json')).stdout) as { text: string; memory_id: string }[]).map(
    ({ text }) => text,
  );

describe('the memories of a person', () => {
  it('are given as quoted data to later runs for that person, in any browser, and never to other people', async () => {
    const ada = await token({ sub: 'ada' });
    expect(await say('remember I like green tea', { bearer: ada })).toContain('I like green tea');
    expect(lastTools(model)).toEqual(expect.arrayContaining(TOOLS));

    await say('Which tea shall I buy?', { bearer: ada, user_id: 'another-browser' });
    expect(lastPrompt(model)).toContain(
      `<unverified-data>\n{"date":"${today}","text":"I like green tea"}\n</unverified-data>`,
    );
    await say('Which car shall I buy?', { bearer: ada });
    expect(lastPrompt(model)).not.toContain('green tea');

    for (const claims of [{ sub: 'bob' }, { sub: 'ada', iss: 'other' }, { sub: 'ada', tenant_id: 'other' }]) {
      const bearer = await token({ claims });
      expect(await say('recall tea', { bearer })).not.toContain('green');
      expect(lastPrompt(model)).not.toContain('green');
      expect(await say('forget tea', { bearer })).not.toContain('green');
    }
    expect(await listed('--sub', 'ada')).toEqual(['I like green tea']);
  });

  it('are not given to a web client that only claims to be that person, and neither are the memory tools', async () => {
    for (const user_id of ['ada', 'phonechat:+15551110001']) {
      expect(await say('recall tea', { user_id })).toBe('There is no recall.');
      expect(lastTools(model)).toEqual([]);
      expect(lastPrompt(model)).not.toContain('remembered');
    }
  });
});

describe("the memories of a platform's user", () => {
  const USER = '16505553001';

  it('belong to the user whom the platform has verified', async () => {
    await phoned(USER, 'remember I live in Berlin');
    await phoned(USER, 'Do I live in Berlin or Bern?');
    expect(lastPrompt(model)).toContain('"text":"I live in Berlin"');
    await phoned('16505553002', 'Do I live in Berlin?');
    expect(lastPrompt(model)).not.toContain('I live in Berlin');
    expect(await listed(`phonechat:+${USER}`)).toEqual(['I live in Berlin']);
    // A `sub` that looks like the id of a platform's user gives no access to the memories of that user.
    const bearer = await token({ sub: `phonechat:+${USER}` });
    expect(await say('recall Berlin', { bearer })).not.toContain('I live in');
  });

  it('are not given in a shared thread, and neither are the memory tools, even if the person is linked', async () => {
    const wroteIn = async (place: 'direct' | 'group', text: string) => {
      const to = place === 'direct' ? 'D0ADA' : CHANNEL;
      const count = () => team.shown.filter(({ what }) => what === 'message').length;
      const before = count();
      await team.deliver(daemon, { user: 'U0ADA', place, text });
      await team.until(() => count() > before);
      return String(team.shown.filter(({ what }) => what === 'message').at(-1)?.text ?? to);
    };
    expect(await wroteIn('direct', 'remember I like coffee')).toContain('coffee');
    await wroteIn('direct', 'Do I like coffee?');
    expect(lastPrompt(model)).toContain('"text":"I like coffee"');
    expect(await wroteIn('group', 'recall coffee')).toContain('There is no recall.');
    expect(lastTools(model)).toEqual([]);
    expect(lastPrompt(model)).not.toContain('I like coffee');

    const linked = await command(['link', 'teamchat', 'U0ADA', await token({ sub: 'fay' })], {
      cwd: directory,
      env: { ...team.env, STATE_DIR: join(directory, 'state') },
    });
    expect(linked.code).toBe(0);
    // The linked person and the platform's user have separate memories.
    expect(await wroteIn('direct', 'recall coffee')).not.toContain('I like');
    expect(await wroteIn('direct', 'remember I drink water')).toContain('water');
    expect(await wroteIn('group', 'recall water')).toContain('There is no recall.');
    expect(lastPrompt(model)).not.toContain('I drink water');
    expect(await listed('--sub', 'fay')).toEqual(['I drink water']);
    expect(await listed('teamchat:U0ADA')).toEqual(['I like coffee']);
  });
});

describe('agentd memory', () => {
  it('lists, searches and deletes memories while the daemon runs', async () => {
    const bearer = await token({ sub: 'gus', claims: { iss: 'shop', tenant_id: 'north' } });
    for (const text of ['I like green tea', 'I like milk', 'My dog is Rex'])
      await say(`remember ${text}`, { bearer });
    const gus = ['--sub', 'gus', '--iss', 'shop', '--tenant', 'north'];
    expect(await listed(...gus)).toEqual(['My dog is Rex', 'I like milk', 'I like green tea']);
    const table = await memory('list', ...gus);
    expect(table).toMatchObject({ code: 0, stderr: '' });
    expect(table.stdout).toMatch(/^ID +STORED +FROM +TEXT/);

    const found = JSON.parse((await memory('search', ...gus, 'TEA', '--json')).stdout);
    expect(found).toEqual([
      {
        memory_id: expect.any(String),
        created_at: expect.stringMatching(/^20.*Z$/),
        used_at: expect.stringMatching(/^20.*Z$/),
        tainted: false,
        text: 'I like green tea',
        turn_id: expect.any(String),
      },
    ]);

    expect(await memory('forget', ...gus, found[0].memory_id)).toMatchObject({ code: 0 });
    const again = await memory('forget', ...gus, found[0].memory_id);
    expect(again).toMatchObject({ code: 1, stdout: '' });
    expect(again.stderr).toContain('there is no memory');
    expect(await listed(...gus)).toEqual(['My dog is Rex', 'I like milk']);

    const asked = await memory('forget', ...gus);
    expect(asked).toMatchObject({ code: 2, stdout: '' });
    expect(asked.stderr).toContain('--yes');
    expect(await memory('forget', ...gus, '--yes', '--json')).toMatchObject({
      code: 0,
      stdout: '{\n  "forgotten": 2\n}\n',
    });
    expect(await listed(...gus)).toEqual([]);
    expect((await memory('forget', ...gus, '--yes')).code).toBe(1);
    const audit = await command(['audit', '--json'], {
      cwd: directory,
      env: { STATE_DIR: join(directory, 'state') },
    });
    const lines = (JSON.parse(audit.stdout) as { command: string; about: string; person: string }[]).filter(
      (line) => line.command === 'memory forget',
    );
    expect(lines.map(({ about }) => about).toSorted()).toEqual([found[0].memory_id, 'all']);
    expect(audit.stdout).not.toContain('gus');
    await say('Do I like milk?', { bearer });
    expect(lastPrompt(model)).not.toContain('I like milk');
  });

  it('reports an error if memory is off', async () => {
    const { code, stderr } = await command(['memory', 'list', '--sub', 'ada'], {
      cwd: directory,
      env: { STATE_DIR: join(directory, 'state'), MEMORY_BACKEND: 'none' },
    });
    expect(code).toBe(78);
    expect(stderr).toContain('MEMORY_BACKEND');
  });
});

describe('a daemon', () => {
  it('shows where memories are stored', () => {
    expect(daemon.stdout()).toMatch(/ {2}memory {4}sqlite .*agentd\.db\n/);
  });
});
