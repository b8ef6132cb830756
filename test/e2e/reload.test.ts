import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { command } from '../support/command.ts';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let directory: string;
let daemon: Agentd;

const write = (settings: Record<string, unknown>) =>
  writeFileSync(join(directory, 'agentd.yaml'), JSON.stringify(settings), { mode: 0o600 });
const instruct = (text: string) => writeFileSync(join(directory, 'prompt.md'), text);
const digest = async () => (await fetch(daemon.url)).headers.get('x-agent-digest');
const told = (cause: string, msg: RegExp) =>
  daemon.logged((line) => line.cause === cause && msg.test(String(line.msg)));

beforeAll(async () => {
  directory = temporaryFolder('reload');
  write({ AGENT_INSTRUCTIONS: join(directory, 'prompt.md') });
  instruct('Be brief.');
  daemon = await startAgentd({ directory });
});
afterAll(async () => {
  expect(await daemon.stop()).toBe(0);
});

it('a running daemon takes over what has changed: after a signal, a command, and by watching its files', async () => {
  const digests = [await digest()];
  instruct('Be friendly.');
  daemon.signal('SIGHUP');
  await told('SIGHUP', /taken over/);
  digests.push(await digest());

  instruct('Be exact.');
  const reload = await command(['reload', '--json'], { cwd: directory });
  expect(JSON.parse(reload.stdout)).toMatchObject({
    daemons: [{ outcome: 'changed', changes: { files: [join(directory, 'prompt.md')] } }],
  });
  expect(reload.code).toBe(0);
  digests.push(await digest());

  write({ AGENT_INSTRUCTIONS: join(directory, 'prompt.md'), AGENT_WATCH: true });
  expect((await command(['reload'], { cwd: directory })).stdout).toContain('changed: AGENT_WATCH');
  instruct('Be kind.');
  await told('AGENT_WATCH', /taken over/);
  digests.push(await digest());
  expect(new Set(digests).size).toBe(4);

  write({ AGENT_WATCH: 'perhaps' });
  await told('AGENT_WATCH', /nothing was taken over/);
  expect(await digest()).toBe(digests[3]);
});

it('without a daemon, the command exits with 69', async () => {
  expect(await command(['reload'], { cwd: temporaryFolder('reload') })).toMatchObject({
    code: 69,
    stdout: '',
  });
});
