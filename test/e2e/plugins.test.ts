import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { explainError } from '../../src/cli/report-error.ts';
import { command } from '../support/command.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const folder = temporaryFolder('plugins');

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

/** How the daemon says why it does not start. */
async function failedStart(env: Record<string, string>) {
  return explainError(await startDaemonHere({ directory: folder, env }).catch((reason: unknown) => reason));
}

/** The members that a plugin must have besides `name` and `apiVersion`. */
const REST = `
  summary: 'People with a telex.',
  settings: [],
  detect: () => true,
  delivery: 'response', capabilities: { textLimit: null, markdown: 'none', typing: false },
  create: () => ({ routes: [] }),`;

/**
 * A channel in one file. It gets a message by POST, and streams the reply as plain text while the reply is being
 * written.
 */
const TELEX = `
import type { ChannelPlugin, ChannelRequest, StreamScope, WebChannel } from 'agentd/channel';

const telex: ChannelPlugin = {
  name: 'telex',
  apiVersion: 1,
  summary: 'People with a telex.',
  settings: [
    { name: 'TELEX_ANSWERBACK', kind: 'string', required: true, sentence: 'The code that ends each message.' },
    { name: 'TELEX_LINE', kind: 'integer', min: 1, max: 99, required: true, sentence: 'The line.' },
  ],
  detect: (settings) => settings.TELEX_ANSWERBACK !== undefined,
  delivery: 'stream', capabilities: { textLimit: 400, markdown: 'none', typing: false },
  create: (scope: StreamScope): WebChannel => ({
    routes: [
      { method: 'POST', path: '/telex/:line/say', limited: true, handle: (request: ChannelRequest) => ({
        headers: { 'Content-Type': 'text/plain; charset=utf-8' },
        body: async (out) => {
          const text = new TextDecoder().decode(request.body);
          const user_id = request.headers['x-line'] ?? 'unknown';
          const message = { platform: 'telex', user_id, channel_id: user_id, thread_id: null, text, metadata: {} };
          for await (const event of scope.converse(message, request)) {
            if (event.type === 'text_chunk' && !out.write(event.text.toUpperCase())) await out.drained();
            if (event.type === 'complete') out.write(' ' + scope.settings.TELEX_ANSWERBACK + ' ' + request.params.line);
          }
        },
      }) },
    ],
    health: () => ({ status: 'degraded', detail: 'Out of paper.' }),
  }),
};
export default telex;
`;

const XYZ = `
export default {
  name: 'xyz',
  apiVersion: 1,${REST.replace(
    'routes: []',
    "routes: [{ method: 'GET', path: '/xyz', handle: () => ({ body: { from: 'package' } }) }]",
  )}
};
`;

describe('a third-party channel', () => {
  let daemon: DaemonHere;
  beforeAll(async () => {
    write('telex.ts', TELEX);
    write('node_modules/agentd-channel-xyz/index.js', XYZ);
    write(
      'node_modules/agentd-channel-xyz/package.json',
      JSON.stringify({ name: 'agentd-channel-xyz', version: '1.0.0', type: 'module', exports: './index.js' }),
    );
    daemon = await startDaemonHere({
      directory: folder,
      env: {
        MESSAGING_PLATFORMS: 'webchat,./telex.ts,xyz',
        TELEX_ANSWERBACK: '4711 ACME D',
        TELEX_LINE: '7',
      },
    });
  });
  afterAll(() => daemon.stop());

  test('can be one TypeScript file outside the project, and answers in its own format', async () => {
    const response = await fetch(`${daemon.url}/telex/7/say`, {
      method: 'POST',
      headers: { 'X-Line': '0815' },
      body: 'hello',
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(await response.text()).toMatch(/^HELLO! I’M THE ASSISTANT\..* 4711 ACME D 7$/s);
  });

  test('is found by its name if it is an installed package agentd-channel-NAME', async () => {
    const response = await fetch(`${daemon.url}/xyz`);
    expect(await response.json()).toEqual({ from: 'package' });
  });

  test('shows its settings in the configuration commands', async () => {
    const env = { MESSAGING_PLATFORMS: './telex.ts', TELEX_ANSWERBACK: 'x', TELEX_LINE: '7' };
    const shown = await command(['config', 'show', '--set', '--json'], { cwd: folder, env });
    expect(JSON.parse(shown.stdout)).toContainEqual({
      name: 'TELEX_LINE',
      value: 7,
      source: 'environment',
      secret: false,
    });
    const reference = await command(['config', 'reference'], { cwd: folder, env });
    expect(reference.stdout).toContain('TELEX_ANSWERBACK\n    The code that ends each message.');
  });
});

test('all problems of plugins and of settings are reported at once, and prevent the start with exit code 78', async () => {
  write('throws.ts', "throw new Error('no telex here');");
  write('syntax.mjs', 'const a = 1;\nconst b = ;\n');
  write('later.ts', "export default { name: 'later', apiVersion: 2 };");
  write('named.ts', 'export const channel = {};');
  const MESSAGING_PLATFORMS =
    'webchat,./telex.ts,./missing.ts,./throws.ts,./syntax.mjs,./later.ts,./named.ts,nosuch';
  const { message, exitCode } = await failedStart({ MESSAGING_PLATFORMS, LOG_LEVEL: 'LOUD' });
  expect(exitCode).toBe(78);
  for (const words of [
    `names a file that does not exist: ${join(folder, 'missing.ts')}`,
    `cannot be loaded: no telex here (at ${join(folder, 'throws.ts')}:1)`,
    `cannot be loaded: SyntaxError: Unexpected token ';' (at ${join(folder, 'syntax.mjs')}:2)`,
    'has apiVersion 2, but this agentd supports 1',
    'has no default export (it exports only channel)',
    'MESSAGING_PLATFORMS=nosuch (environment)\n    wrong: there is no channel of this name',
    'TELEX_ANSWERBACK\n    wrong: is not set, so the platform telex is not configured',
    'LOG_LEVEL=LOUD (environment)',
  ])
    expect(message).toContain(words);
});

test('a channel that cannot start makes the daemon exit with 69', async () => {
  write(
    'starter.ts',
    `export default { name: 'starter', apiVersion: 1, ${REST.replace('({ routes: [] })', "({ routes: [], start: async () => { throw new Error('no dial tone'); } })")} };`,
  );
  expect(await failedStart({ MESSAGING_PLATFORMS: './starter.ts' })).toMatchObject({
    message: 'the channel starter did not start: no dial tone',
    exitCode: 69,
  });
});
