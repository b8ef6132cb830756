import { beforeAll, describe, expect, it } from 'vitest';
import { command } from '../support/command.ts';
import { agentd } from '../support/daemon.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { FakeExchange } from '../support/fake-exchange.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

// Most tests run commands in the process of the test (support/command.ts). Here commands run as programs: they start,
// read standard input, work while a daemon runs, and exit with their exit codes.

let exchange: FakeExchange;
let daemon: DaemonHere;

beforeAll(async () => {
  exchange = await FakeExchange.start();
  const directory = temporaryFolder('commands');
  daemon = await startDaemonHere({ directory, env: exchange.env(directory) });
});

function started(args: string[], input = ''): ReturnType<typeof agentd> {
  return agentd(args, { cwd: daemon.directory, env: exchange.env(daemon.directory), input });
}

describe('a command, started as a program,', () => {
  it('links and unlinks people, with a token that it has issued and verified', async () => {
    const issue = ['token', 'issue', '--sub', 'ada', '--email', 'ada@example.com'];
    const { stdout: token } = await started(issue);
    const verified = await started(['token', 'verify', '--json'], token);
    expect([verified.code, JSON.parse(verified.stdout).valid]).toEqual([0, true]);
    expect(await started(['link', 'printer', 'u1', '-'], token)).toMatchObject({ code: 0, stderr: '' });
    const options = { cwd: daemon.directory, env: exchange.env(daemon.directory) };
    const { stdout } = await command(['link', 'list', '--json'], options);
    expect(JSON.parse(stdout)).toMatchObject([{ platform: 'telex', email: 'ada@example.com' }]);
    expect((await started(['link', 'remove', 'printer', 'u1'])).code).toBe(0);
    expect(await command(['link', 'list'], options)).toMatchObject({ code: 0, stdout: '' });
  });
});

describe('a command that runs in the process of a test', () => {
  it.each([
    [['sessions', 'show', 'nowhere'], ''],
    [['token', 'verify', '-'], 'no token'],
  ])('has the same output and exit code as the program: %s', async (args, input) => {
    const options = { cwd: daemon.directory, env: exchange.env(daemon.directory), input };
    expect(await command(args, options)).toEqual(await agentd(args, options));
  });
});
