import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, expect, it } from 'vitest';
import { command } from '../support/command.ts';
import { SECRET } from '../support/daemon.ts';
import { startDaemonHere } from '../support/daemon-here.ts';
import { FakeApi } from '../support/fake-api.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { token } from '../support/tokens.ts';
import { post } from '../support/webchat.ts';

const text = (file: string) => readFileSync(resolve(import.meta.dirname, '../..', file), 'utf8');

/** Finds the program that begins with this text in a manual page. */
function program(page: string, begin: string): string {
  const found = [...text(page).matchAll(/^```\w+\n(.*?)^```$/gms)].find(([, body]) =>
    body?.startsWith(begin),
  );
  if (!found?.[1]) throw new Error(`${page} shows no program that begins with ${begin}`);
  return found[1];
}

let directory: string;
beforeEach(async () => {
  directory = temporaryFolder('manual');
});

it('the channel of agentd-channel(7) runs as printed', async () => {
  await writeFile(join(directory, 'telex.ts'), program('man/agentd-channel.7.md', '// telex.ts'));
  const daemon = await startDaemonHere({
    directory,
    env: { TELEX_ENABLED: 'true', MESSAGING_PLATFORMS: 'webchat,./telex.ts' },
  });
  const response = await fetch(`${daemon.url}/telex`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ from: 'ada', text: 'help' }),
  });
  expect(response.status).toBe(200);
  expect(await response.text()).toContain('Who am I?');
  expect(daemon.stdout()).toContain('webchat, telex');
});

it('the channel of agentd-channel(7) passes the conformance suite, run as described', async () => {
  await mkdir(join(directory, 'node_modules'));
  await symlink(resolve(import.meta.dirname, '../..'), join(directory, 'node_modules/agentd'), 'dir');
  await writeFile(join(directory, 'telex.ts'), program('man/agentd-channel.7.md', '// telex.ts'));
  await writeFile(join(directory, 'telex.test.ts'), program('man/agentd-channel.7.md', '// telex.test.ts'));
  // With NODE_TEST_CONTEXT set, the inner test runner would report to an outer runner instead of printing its results.
  const { NODE_TEST_CONTEXT: _ours, ...env } = process.env;
  const { stdout } = await promisify(execFile)(process.execPath, ['telex.test.ts'], { cwd: directory, env });
  expect(stdout).toContain('telex: passes on the problems of the daemon');
  expect(stdout).toMatch(/^(?:#|ℹ) fail 0$/m);
});

it('the channel of agentd-channel(7) with delayed answers runs as printed, and answers messages', async () => {
  await mkdir(join(directory, 'node_modules'));
  await symlink(resolve(import.meta.dirname, '../..'), join(directory, 'node_modules/agentd'), 'dir');
  for (const file of ['wire.ts', 'wire.test.ts'])
    await writeFile(join(directory, file), program('man/agentd-channel.7.md', `// ${file}`));
  const proof = await promisify(execFile)(process.execPath, ['--test', 'wire.test.ts'], { cwd: directory });
  expect(proof.stdout).toMatch(/pass [1-9][0-9]/);
  expect(proof.stdout).toMatch(/fail 0/);

  await startDaemonHere({
    directory,
    dev: true,
    env: { STATE_DIR: '', JWT_SECRET_KEY: '', JWT_ALGORITHM: '', MESSAGING_PLATFORMS: 'webchat,./wire.ts' },
  });
  const run = (args: string[], input = '') => command(args, { cwd: directory, base: false, input });
  const settings = ['--env-file', '.agentd/env'];
  expect((await run(['simulate', 'wire', 'Who am I?'])).stdout).toContain('you’re not signed in');
  const ada = ['--sub', 'ada', '--email', 'ada@example.com'];
  const { stdout: signed } = await run(['token', 'issue', ...ada, ...settings]);
  expect(await run(['link', 'wire', 'ada', '-', ...settings], signed)).toMatchObject({ code: 0 });
  expect((await run(['simulate', 'wire', 'Who am I?'])).stdout).toContain('You are Ada Lovelace');
  const signIn = await run(['simulate', 'wire', '--user', 'grace', '--command', '-'], `/sign-in ${signed}`);
  expect(signIn.stdout).toContain('You are ada@example.com.');
});

it('the renderer of agentd-channel(7) runs as printed, from the installed package', async () => {
  await mkdir(join(directory, 'node_modules'));
  await symlink(resolve(import.meta.dirname, '../..'), join(directory, 'node_modules/agentd'), 'dir');
  await writeFile(join(directory, 'pager.ts'), program('man/agentd-channel.7.md', '// pager.ts'));
  const markdown = '# Order & co\n\nIt **is on its way** to [you](https://x.example/1).\n\n> \\*late\\*';
  const { stdout } = await promisify(execFile)(process.execPath, ['pager.ts', markdown], { cwd: directory });
  expect(stdout).toBe(
    ['*Order &amp; co*', '', 'It *is on its way* to', 'you (https://x.example/1).', '', '> +late+', ''].join(
      '\n',
    ),
  );
});

it('the site of agentd-webchat(7) signs tokens that the daemon accepts', async () => {
  await symlink(resolve(import.meta.dirname, '../../node_modules'), join(directory, 'node_modules'), 'dir');
  await writeFile(join(directory, 'sign-token.mjs'), program('man/agentd-webchat.7.md', '// sign-token.mjs'));
  const site = `import { signToken } from './sign-token.mjs';
    console.log(await signToken({ id: 'ada', email: 'ada@example.com', name: 'Ada' }));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', site], {
    cwd: directory,
    env: { ...process.env, JWT_SECRET_KEY: SECRET },
  });
  const verified = await command(['token', 'verify', '-'], { cwd: directory, input: stdout });
  expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining('The token is valid.')]);
});

it('the tools of the README work as printed', async () => {
  const [, example = ''] = /^```yaml\n(.*?tools:.*?)^```/ms.exec(text('README.md')) ?? [];
  await writeFile(join(directory, 'agentd.yaml'), example);
  const env = { PORT: '0', WEBCHAT_ENABLED: '', JWT_SECRET_KEY: '', JWT_ALGORITHM: '', STATE_DIR: '' };
  await startDaemonHere({ directory, dev: true, env });
  const called = await command(['tools', 'call', 'shop_listProducts'], { cwd: directory, base: false });
  expect([called.code, called.stdout]).toEqual([0, expect.stringContaining('price')]);
});

it('the agent runtime of the README runs as printed', async () => {
  const source = /^```ts\n(import type \{ AgentRuntime \}.*?)^```$/ms.exec(text('README.md'))?.[1];
  if (!source) throw new Error('the README shows no agent runtime');
  await writeFile(join(directory, 'runtime.ts'), source);
  const daemon = await startDaemonHere({ directory, env: { AGENT_RUNTIME: './runtime.ts' } });
  const { body } = await post(daemon.url, { user_id: 'ada', message: 'Hi.' });
  expect(body.response).toBe('You said: Hi.');
});

it('the tool and the runtime of agentd-agent(7) run as printed', async () => {
  await mkdir(join(directory, 'tools'));
  await writeFile(join(directory, 'tools/refund.ts'), program('man/agentd-agent.7.md', '// refund.ts'));
  await writeFile(join(directory, 'runtime.ts'), program('man/agentd-agent.7.md', '// runtime.ts'));
  await writeFile(join(directory, 'agentd.yaml'), 'tools:\n  - module: ./tools/refund.ts\n');
  const api = await FakeApi.start({ secret: SECRET });
  api.misbehave('/orders/17', { status: 200, body: { status: 'open' } });
  api.misbehave('/orders/17/refund', { status: 200, body: { refunded: true } });
  const env = { API_BASE_URL: api.url, AGENT_RUNTIME: './runtime.ts' };
  const daemon = await startDaemonHere({ directory, env });
  const bearer = await token({ sub: 'ada', email: 'alice@example.com' });
  const { body } = await post(daemon.url, { user_id: 'ada', message: 'Well, who am I?' }, { bearer });
  expect(body.response).toContain('"user":{"id":"user-1"');
  const words = ['tools', 'call', 'refund', '{"order":"17"}', '--yes', '--token', '-'];
  const called = await command(words, { cwd: directory, env, input: bearer });
  expect([called.code, called.stdout]).toEqual([0, expect.stringContaining('"refunded": true')]);
  expect(api.seen('/orders/17/refund')).toMatchObject([
    { method: 'POST', bearer, headers: { 'idempotency-key': expect.stringMatching(/./) } },
  ]);
});

it('the business API of agentd-api(7) serves agentd as printed', async () => {
  const source = program('man/agentd-api.7.md', '// api.mjs');
  const listen = ".listen(9000, '127.0.0.1');";
  expect(source).toContain(listen);
  // Let the program listen on any free port, and print the port.
  const told = ".listen(0, '127.0.0.1', function () { console.log(this.address().port); });";
  await writeFile(join(directory, 'api.mjs'), source.replace(listen, told));
  const api = spawn(process.execPath, ['api.mjs'], { cwd: directory, stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = (await once(api.stdout, 'data')) as [Buffer];
  const daemon = await startDaemonHere({
    directory,
    env: {
      API_BASE_URL: `http://127.0.0.1:${String(port).trim()}`,
      API_EMAIL: 'service@example.com',
      API_PASSWORD: 'secret',
    },
  });
  try {
    const { body } = await post(
      daemon.url,
      { user_id: 'ada', message: 'Who am I?' },
      { bearer: await token({ sub: 'ada' }) },
    );
    expect(body.response).toContain('gold');
  } finally {
    await daemon.stop();
    api.kill();
    await once(api, 'exit');
  }
});
