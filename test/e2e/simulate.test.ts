import { once } from 'node:events';
import { copyFileSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseEnv } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { command } from '../support/command.ts';
import { agentd } from '../support/daemon.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

// Tests `agentd simulate`, with which people can try any channel of a platform without an account. These tests use a
// third-party channel in the folder of a `serve --dev`, and no settings.

const folder = temporaryFolder('simulate');
for (const file of ['telex.ts', 'courier.ts', 'post-box.ts'])
  copyFileSync(join(import.meta.dirname, '../fixtures', file), join(folder, file));

let daemon: DaemonHere;

beforeAll(async () => {
  daemon = await startDaemonHere({
    directory: folder,
    dev: true,
    env: {
      STATE_DIR: '',
      JWT_SECRET_KEY: '',
      JWT_ALGORITHM: '',
      LOOP_GUARD_ENABLED: '',
      LOOP_GUARD_REPEAT_THRESHOLD: '3',
      MESSAGING_PLATFORMS: 'webchat,./telex.ts,./post-box.ts',
    },
  });
});

interface Line {
  type: string;
  [member: string]: unknown;
}

/** Runs a command as in a second terminal, without settings. */
const run = (args: string[], env: Record<string, string> = {}, input = '') =>
  command(args, { cwd: folder, base: false, env, input });

/** Runs a command as a separate program, so that other commands can run at the same time. */
const runBeside = (args: string[]) => agentd(args, { cwd: folder, base: false });

async function simulate(...args: string[]) {
  return told(await run(['simulate', 'telex', '--json', ...args]));
}

function told({ code, stdout, stderr }: { code: number | null; stdout: string; stderr: string }) {
  // If there is no event, nothing is printed.
  const lines = stdout === '' ? [] : (JSON.parse(stdout) as Line[]);
  return { code, stderr, lines, end: lines.at(-1), texts: texts(lines) };
}

function texts(lines: readonly Line[]) {
  return lines.filter(({ type, what, other }) => type === 'shown' && what === 'message' && !other);
}

/** The statuses of the daemon's answers. */
const statuses = (lines: readonly Line[]) =>
  lines.filter(({ type }) => type === 'answer').map(({ status }) => status);

describe('agentd simulate', () => {
  test('shows a conversation without settings, and says which settings it uses', async () => {
    const { code, stdout, stderr } = await run(['simulate', 'telex', 'Who am I?', '--user', 'visitor']);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^→ visitor, to the bot: Who am I\?\n {2}200 after \d+ ms, request \S+\n← \[an answer is being written\]\n← visitor: I don’t know who you are/,
    );
    expect(stderr).toContain('Using the settings of `serve --dev` in .agentd/env.\n');
    expect(stderr).toContain('The message was answered.\n');
  });

  test('prints the events as one JSON document, with one event per line', async () => {
    const { code, lines, end } = await simulate('Hello', '--user', 'json', '--name', 'Jay');
    expect(code).toBe(0);
    expect(lines[0]).toMatchObject({ type: 'sent', kind: 'message', user: 'json', user_name: 'Jay' });
    expect(lines.map(({ type }) => type)).toContain('shown');
    expect(end).toEqual({
      type: 'end',
      messages: 1,
      answered: 1,
      blocked: 0,
      failed: 0,
      unanswered: 0,
      unseen: 0,
      reasons: [],
    });
  });

  test('links a sender to a person with a command, and later messages of the sender act as that person', async () => {
    const issue = [
      'token',
      'issue',
      '--env-file',
      '.agentd/env',
      '--sub',
      'ada',
      '--email',
      'ada@example.com',
    ];
    const { stdout: token } = await run(issue);
    const line = `/link ${token.trim()}`;
    const linked = await run(['simulate', 'telex', '--command', '-'], {}, line);
    expect(linked.code).toBe(0);
    expect(linked.stdout).toContain('← the sender, in private: You are ada@example.com from now on.');
    expect(linked.stdout + linked.stderr).not.toContain(token.trim());
    const { stdout } = await run(['simulate', 'telex', 'Who am I?']);
    expect(stdout).toContain('Analytical engine, brass');
    const shown = await run(['simulate', 'telex', '--command', line]);
    expect(shown.stderr).toContain('warning: a token in the arguments is visible in the process list');
    expect(shown.stdout + shown.stderr).not.toContain(token.trim());
    expect(shown.stderr).not.toContain('with --command');
    const plain = await run(['simulate', 'telex', '/link off']);
    expect(plain.stderr).toContain('with --command it is sent as a command of the platform');
  });

  test('delivers a message twice, and the daemon answers it once', async () => {
    const { code, lines, texts, end } = await simulate('Hello', '--duplicate', '--user', 'twice');
    expect(code).toBe(0);
    expect(statuses(lines)).toEqual([200, 200]);
    expect(texts).toHaveLength(1);
    expect(end).toMatchObject({ messages: 1, answered: 1 });
  });

  test('triggers the loop guard with a burst and with a repetition, and says so', async () => {
    const burst = await simulate('Hi', '--burst', '7', '--user', 'burst');
    expect(burst.end).toMatchObject({ messages: 7, answered: 5, blocked: 2, reasons: ['rate_limit'] });
    expect([burst.code, burst.texts.length]).toEqual([0, 5]);
    const blocked = await simulate('Hi', '--user', 'burst');
    expect([blocked.code, blocked.end]).toMatchObject([1, { messages: 1, blocked: 1 }]);
    const repeat = await run(['simulate', 'telex', 'Hi', '--repeat', '4', '--user', 'repeat']);
    expect(repeat.code).toBe(0);
    expect(repeat.stderr).toContain('4 messages: 2 answered, 2 blocked by the loop guard (repetition).');
  });

  test('sends a bad signature, which the daemon must refuse', async () => {
    const { code, stdout, stderr } = await run(['simulate', 'telex', 'Hi', '--bad-signature']);
    expect(stdout).toMatch(/→ ada, to the bot \[bad signature\]: Hi\n {2}401 invalid_signature /);
    expect(stderr).toContain('The daemon refused the message, as expected.');
    expect(code).toBe(0);
  });

  test('exits with 1 if no answer arrives in time', async () => {
    const { code, end } = await simulate('Hello', '--user', 'slow', '--slow', '5', '--wait', '1');
    expect([code, end?.unanswered]).toEqual([1, 1]);
  });

  test('ignores the answer to an earlier conversation', async () => {
    const wait = ['--fail', '1', '--fail-status', '429', '--retry-after'];
    const earlier = await simulate('Hello', '--user', 'earlier', ...wait, '3000', '--wait', '1');
    const request_id = earlier.lines.find(({ type }) => type === 'answer')?.request_id as string;
    expect(earlier.code).toBe(1);
    const next = runBeside(['simulate', 'telex', 'Hello', '--user', 'next', ...wait, '8']);
    await daemon.logged(({ wait_ms }) => wait_ms === 8000);
    // While the second conversation waits for its reply, the reply of the earlier conversation arrives.
    const retry = await run(['inbox', 'retry', request_id, '--env-file', '.agentd/env']);
    expect(retry.stdout).toMatch(/: due now\n$/);
    const { code, stdout, stderr } = await next;
    expect(code).toBe(0);
    expect(stdout).toContain('← next: Hello!');
    expect(stdout).not.toContain('← earlier');
    expect(stderr).toContain('An answer to an earlier conversation arrived, too; -v shows it.');
  });

  test('waits for another `agentd simulate` to end', async () => {
    const hello = ['simulate', 'telex', '--json', 'Hello', '--user'];
    const both = await Promise.all([
      runBeside([...hello, 'first', '--fail', '1']),
      runBeside([...hello, 'second']),
    ]);
    expect(both.map(told).map(({ code, texts }) => [code, texts.length])).toEqual([
      [0, 1],
      [0, 1],
    ]);
  });

  test('if another server is at the address of the API, only sends the webhook, and says so', async () => {
    const { TELEX_API_URL: url = '' } = parseEnv(readFileSync(join(folder, '.agentd/env'), 'utf8'));
    const sent: string[] = [];
    const platform = createServer(async (request, response) => {
      sent.push(`${request.url} ${await text(request)}`);
      response.end('{}');
    }).listen(Number(new URL(url).port), '127.0.0.1');
    await once(platform, 'listening');
    try {
      const { code, lines, stderr, end } = await simulate('Hello', '--user', 'beside');
      expect([code, statuses(lines), end]).toEqual([0, [200], expect.objectContaining({ answered: 1 })]);
      expect(stderr).toContain(`another server is at ${url} (TELEX_API_URL)`);
      expect(sent.filter((call) => call.startsWith('/send '))).toEqual([
        expect.stringContaining('"to":"beside"'),
      ]);
      const failing = await run(['simulate', 'telex', 'Hello', '--fail', '1']);
      expect([failing.code, failing.stderr]).toEqual([69, expect.stringContaining('the address is in use')]);
    } finally {
      platform.closeAllConnections();
      platform.close();
    }
  });

  test('if the API of the platform is not local, says what it cannot show, and what the daemon knows about the message', async () => {
    const { code, stderr } = await run(['simulate', 'telex', 'Hi', '--user', 'elsewhere', '--wait', '1'], {
      TELEX_API_URL: 'https://telex.example.com',
      TELEX_SECRET: parseEnv(readFileSync(join(folder, '.agentd/env'), 'utf8')).TELEX_SECRET ?? '',
      MESSAGING_PLATFORMS: './telex.ts',
      STATE_DIR: join(folder, '.agentd'),
      PORT: new URL(daemon.url).port,
    });
    expect(stderr).toContain(
      'TELEX_API_URL is https://telex.example.com: replies of the channel telex are sent to',
    );
    expect(stderr).toContain('not answered within 1 s (delivery_failed');
    expect(stderr).not.toContain('.agentd/env');
    expect(code).toBe(1);
  });

  test.each<[string, string[], Record<string, string>, number, string]>([
    ['an unknown channel', ['nix', 'Hi'], {}, 2, "there is no channel 'nix'\nUse one of: "],
    ['a channel without a platform', ['webchat', 'Hi'], {}, 2, 'has no simulator for its platform'],
    ['a missing text', ['telex'], {}, 2, 'no text was given'],
    [
      'two options that each send several messages',
      ['telex', 'Hi', '--repeat', '2', '--burst', '2'],
      {},
      2,
      'use one of them',
    ],
    ['an unknown kind', ['telex', 'Hi', '--kind', 'poem'], {}, 2, "not 'poem'"],
    [
      'a daemon that is down',
      ['telex', 'Hi', '--url', 'http://127.0.0.1:1'],
      {},
      69,
      'cannot reach the daemon',
    ],
    [
      '--fail for an API that it does not simulate',
      ['telex', 'Hi', '--fail', '1'],
      { TELEX_API_URL: 'https://telex.example.com', MESSAGING_PLATFORMS: './telex.ts' },
      2,
      '--slow, --fail and --press need TELEX_API_URL to be a loopback address',
    ],
    [
      'invalid settings',
      ['telex', 'Hi'],
      { TELEX_API_URL: 'nowhere', MESSAGING_PLATFORMS: './telex.ts' },
      78,
      'TELEX_API_URL=nowhere (environment)',
    ],
  ])('exits with an error for %s', async (_what, args, env, code, words) => {
    const result = await run(['simulate', ...args], env);
    expect([result.code, result.stdout]).toEqual([code, result.code === 69 ? result.stdout : '']);
    expect(result.stderr).toContain(words);
  });
});

test('a channel without a webhook is simulated, too: its updates do not come over its own connection', async () => {
  const answered = told(await run(['simulate', 'courier', '--json', 'Who am I?']));
  expect(answered).toMatchObject({ code: 0, end: { type: 'end' } });
  expect(answered.texts).toMatchObject([{ text: expect.stringContaining('you’re not signed in') }]);
  const page = await fetch(`${daemon.url}/simulate/courier`, { method: 'POST', body: '{}' });
  expect(page.status).toBe(401);
  expect((await fetch(`${daemon.url}/simulate/telex`, { method: 'POST', body: '{}' })).status).toBe(404);
});
