import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { execa } from 'execa';
import { beforeEach, describe, expect, it } from 'vitest';
import { Collector } from '../support/collector.ts';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { readAll, start as startStream } from '../support/event-stream.ts';
import { FakeModel } from '../support/fake-model.ts';
import { installAgentd, makeOtherBuild, upgrade } from '../support/installed-agentd.ts';
import { callMemoryTools, lastPrompt } from '../support/memory-model.ts';
import { Postgres, withoutPostgres } from '../support/postgres.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { token } from '../support/tokens.ts';
import { post } from '../support/webchat.ts';

// `npm install -g` replaces all files of agentd while the daemon runs. The daemon must go on with what it was started
// from until it is restarted. The tests replace the installation by another build, and then use everything.

/**
 * From SIGUSR2 on, logs each file of the installation that the process reads. A file with the same name in both builds
 * can be read, but is of the wrong build.
 */
const TELLS_WHAT_IT_READS = `
import fs, { writeSync } from 'node:fs';
import { registerHooks, syncBuiltinESMExports } from 'node:module';
import { fileURLToPath } from 'node:url';
const root = process.env.INSTALLED;
let isWatching = false;
const tell = (file) => {
  const path = String(file).startsWith('file:') ? fileURLToPath(String(file)) : String(file);
  if (isWatching && path.startsWith(root)) writeSync(2, JSON.stringify({ reads: path.slice(root.length) }) + '\\n');
};
registerHooks({ load(url, context, next) { tell(url); return next(url, context); } });
for (const [holder, names] of [
  [fs, ['openSync', 'readFileSync', 'readdirSync', 'createReadStream', 'readFile', 'open']],
  [fs.promises, ['readFile', 'open', 'readdir']],
])
  for (const name of names) {
    const usual = holder[name];
    holder[name] = (file, ...others) => { tell(file); return Reflect.apply(usual, holder, [file, ...others]); };
  }
syncBuiltinESMExports();
process.on('SIGUSR2', () => { isWatching = true; writeSync(2, '{"watches":true}\\n'); });
`;

let folder: string;
/** The folder of the installation. */
let installed: string;
let model: FakeModel;
beforeEach(async () => {
  folder = temporaryFolder('upgrade');
  installed = join(folder, 'agentd');
  installAgentd(installed);
  writeFileSync(join(folder, 'watch.mjs'), TELLS_WHAT_IT_READS);
  model = await FakeModel.start();
});
function start(env: Record<string, string>, args: string[] = []): Promise<Agentd> {
  return startAgentd({
    directory: folder,
    bin: join(installed, 'bin/agentd.js'),
    args,
    env: {
      AGENT_MODEL: 'scripted',
      AGENT_BASE_URL: model.url,
      INSTALLED: `${installed}/`,
      NODE_OPTIONS: `--import=${pathToFileURL(join(folder, 'watch.mjs'))}`,
      ...env,
    },
  });
}

async function replaceInstallation({ signal, logged }: Agentd): Promise<void> {
  const other = join(folder, 'other');
  installAgentd(other);
  makeOtherBuild(other, '9.9.9');
  signal('SIGUSR2');
  await logged(({ watches }) => watches === true);
  upgrade(installed, other);
}

/** Expects that the daemon has read no file since it was watched, and stops it. */
async function expectNothingRead(running: Agentd): Promise<void> {
  expect(await running.stop()).toBe(0);
  const read = running.log().flatMap(({ reads }) => (reads === undefined ? [] : [reads]));
  expect([...new Set(read)]).toEqual([]);
  expect(running.log().filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([]);
}

/** Runs a command of the installation, which is now the other build. */
async function run(...args: string[]): Promise<string> {
  const { stdout } = await execa(process.execPath, [join(installed, 'bin/agentd.js'), ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder },
    extendEnv: false,
    stdin: 'ignore',
  });
  return stdout;
}

describe('after an upgrade, a daemon that was not restarted', () => {
  it('answers on every channel, calls tools, streams, serves its pages, and stops', async () => {
    const collector = await Collector.start();
    const log = join(folder, 'agentd.log');
    const running = await start(
      {
        ...{ STATE_DIR: '', JWT_SECRET_KEY: '', JWT_ALGORITHM: '' },
        ADMIN_LISTEN: '127.0.0.1:0',
        SHUTDOWN_DELAY_SECONDS: '0',
        LOG_FILE: log,
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_BSP_SCHEDULE_DELAY: '20',
      },
      ['--dev'],
    );
    const { url } = running;
    const { address: admin } = await running.logged(({ msg }) => /^the admin listener/.test(String(msg)));
    const bearer = await run('token', 'issue', '--sub', 'ada', '--email', 'ada@example.com');
    const ask = (message: string, more: object = {}) =>
      post(url, { user_id: 'ada', message, ...more }, { bearer });
    const get = async (path: string) => {
      const response = await fetch(`${url}${path}`);
      return { status: response.status, text: await response.text() };
    };

    await replaceInstallation(running);
    expect(await run('--version')).toBe('9.9.9');

    // The model calls the tool that the message names, and then says what the tool has returned.
    model.script(({ messages }) => {
      const last = messages.at(-1);
      const [, name, args = '{}'] = /^call (\w+)(?: (.*))?$/.exec(String(last?.content)) ?? [];
      if (name !== undefined) return { tools: [{ name, args: JSON.parse(args) }] };
      return { text: [`**Heard**: ${last?.role === 'tool' ? JSON.stringify(last.content) : last?.content}`] };
    });
    expect((await ask('hello')).body.response).toBe('**Heard**: hello');
    expect((await ask('call shop_listOrders')).body.response).toContain('Analytical engine');
    expect((await ask('call my_actions')).body.response).toContain('**Heard**');
    expect((await ask('call get_user {"wrong": [1]}')).body.response).toContain('wrong');
    const question = await ask('call shop_cancelOrder {"number": 1004}');
    expect(question.body.metadata.confirmation).toBeDefined();
    const { session_id } = question.body;
    expect((await ask('yes', { session_id })).status).toBe(200);
    expect((await post(url, '{')).status).toBe(400);

    const stream = await startStream(url, { user_id: 'ada', message: 'hello', jwt_token: bearer });
    expect((await readAll(url, stream)).events.at(-1)?.event).toBe('stream_complete');

    for (const [channel, shown] of [
      ['teamchat', '*Heard*'],
      ['phonechat', '*Heard*'],
      ['msgbot', 'Heard: hello'],
    ] as const)
      expect(await run('simulate', channel, 'hello')).toContain(shown);

    expect((await get('/webchat/widget.js')).text).toContain('function');
    expect((await get('/demo')).text).toContain('widget.js');
    for (const path of ['/', '/demo/shop.css', '/demo/shop.js', '/demo/people', '/demo/token/ada'])
      expect([path, (await get(path)).status]).toEqual([path, 200]);
    for (const path of ['/live', '/ready', '/metrics'])
      expect([path, (await fetch(`${admin}${path}`)).status]).toEqual([path, 200]);
    expect(await (await fetch(`${admin}/metrics`)).text()).not.toContain('9.9.9');

    expect(await run('explain', session_id)).toContain('shop_cancelOrder');
    rmSync(log);
    running.signal('SIGHUP');
    await running.logged(({ msg }) => msg === 'log file reopened');
    expect(readFileSync(log, 'utf8')).toContain('log file reopened');

    await collector.span(({ name }) => name.startsWith('message '));
    await expectNothingRead(running);
    await collector.close();
  });

  it.skipIf(withoutPostgres)(
    'creates the schema of its own version when Postgres can be reached again',
    async () => {
      callMemoryTools(model);
      const server = await Postgres.start();
      const DATABASE_URL = await server.createDatabase();
      await server.pause();
      const running = await start({
        MEMORY_BACKEND: 'postgres',
        DATABASE_URL,
        MESSAGING_PLATFORMS: 'webchat',
      });
      await replaceInstallation(running);
      await server.resume();
      const bearer = await token({ sub: 'ada' });
      const say = (message: string) => post(running.url, { user_id: 'ada', message }, { bearer });
      await expect
        .poll(async () => (await say('remember I like green tea')).body.response)
        .toContain('I like green tea');
      await say('Which tea?');
      expect(lastPrompt(model)).toContain('"text":"I like green tea"');
      await expectNothingRead(running);
      await server.stop();
    },
  );
});
