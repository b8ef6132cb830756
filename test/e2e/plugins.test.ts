import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { explainError } from '../../src/cli/report-error.ts';
import { command } from '../support/command.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { post } from '../support/webchat.ts';

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
      { method: 'POST', path: '/telex/hand-over/:door', handle: async (request: ChannelRequest) => {
        const message = { platform: 'telex', user_id: '0815', channel_id: 'c', thread_id: null, text: 'hello', metadata: {},
          ...request.json() };
        if (request.params.door === 'streams')
          return { body: await scope.streams.start(message, request, { ttl_ms: 60_000 }) };
        for await (const event of scope.converse(message, request))
          if (event.type === 'complete') return { body: { response: event.response } };
        return { status: 204 };
      } },
      { method: 'GET', path: '/telex/drip', handle: () => ({
        body: async (out) => {
          out.write('first');
          await released.promise;
          out.write('second');
        },
      }) },
      { method: 'PUT', path: '/telex/drip', handle: () => (released.resolve(), { status: 204 }) },
      { method: 'POST', path: '/telex/refuse', handle: () => {
        throw scope.problem('invalid_request', 'Not in five-bit code.', [{ field: 'body', message: 'must be Baudot' }]);
      } },
      { method: 'POST', path: '/telex/break', handle: () => { throw new Error('paper jam with secret inside'); } },
      { method: 'POST', path: '/telex/who', handle: async (request: ChannelRequest) => ({
        body: await scope.tokens.validate(new TextDecoder().decode(request.body)),
      }) },
    ],
    health: () => ({ status: 'degraded', detail: 'Out of paper.' }),
  }),
};
const released: PromiseWithResolvers<void> = Promise.withResolvers();
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

  test('streams piece by piece: the first piece reaches the client before the second is written', async () => {
    const response = await fetch(`${daemon.url}/telex/drip`);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const read = async () => new TextDecoder().decode((await reader.read()).value);
    expect(await read()).toBe('first');
    expect((await fetch(`${daemon.url}/telex/drip`, { method: 'PUT' })).status).toBe(204);
    expect(await read()).toBe('second');
    expect((await reader.read()).done).toBe(true);
  });

  test('causes a 500 without internal details if it throws, and the daemon continues', async () => {
    const broken = await post(daemon.url, '{}', { path: '/telex/break' });
    expect([broken.status, broken.body.code]).toEqual([500, 'internal_error']);
    expect(JSON.stringify(broken.body)).not.toContain('paper jam');
    const line = await daemon.logged(({ request_id, level }) =>
      [request_id, level].every((part, index) => part === [broken.body.request_id, 'error'][index]),
    );
    expect(JSON.stringify(line)).toContain('paper jam');
    expect((await post(daemon.url, { user_id: 'u', message: 'hello' })).status).toBe(200);
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

describe('an invalid plugin prevents the start with exit code 78', () => {
  /** Starts a daemon that refuses to start. @returns the report of its problems */
  async function refused(platforms: string, env: Record<string, string> = {}): Promise<string> {
    const { message, exitCode } = await failedStart({ MESSAGING_PLATFORMS: platforms, ...env });
    expect(exitCode).toBe(78);
    return message;
  }

  test('and all problems are reported at once, each with the expected and the actual value', async () => {
    write('throws.ts', "throw new Error('no telex here');");
    write('syntax.mjs', 'const a = 1;\nconst b = ;\n');
    write('folder/index.ts', 'export default () => {};');
    write('later.ts', "export default { name: 'later', apiVersion: 2 };");
    write('shape.ts', "export default { name: 'shape', apiVersion: 1, settings: 'none', capabilities: {} };");
    write('namesake.ts', `export default { name: 'telex', apiVersion: 1, ${REST} };`);
    write('reserved.ts', `export default { name: 'msgbot', apiVersion: 1, ${REST} };`);
    write('named.ts', 'export const channel = {};');
    const platforms =
      'webchat,./telex.ts,./missing.ts,./throws.ts,./syntax.mjs,./folder,./later.ts,./shape.ts,./namesake.ts,./reserved.ts,./named.ts,nosuch';
    const said = await refused(platforms, { LOG_LEVEL: 'LOUD' });
    for (const words of [
      `names a file that does not exist: ${join(folder, 'missing.ts')}`,
      `cannot be loaded: no telex here (at ${join(folder, 'throws.ts')}:1)`,
      `cannot be loaded: SyntaxError: Unexpected token ';' (at ${join(folder, 'syntax.mjs')}:2)`,
      `has a function as default export (in ${join(folder, 'folder/index.ts')})`,
      'has apiVersion 2, but this agentd supports 1',
      '`settings` is "none"',
      '`detect` is missing',
      '`create` is missing',
      '`delivery` is missing',
      'has the name telex, which is taken (./telex.ts)',
      'has the reserved name msgbot',
      'has no default export (it exports only channel)',
      'MESSAGING_PLATFORMS=nosuch (environment)\n    wrong: there is no channel of this name',
      'TELEX_ANSWERBACK\n    wrong: is not set, so the platform telex is not configured',
      'TELEX_LINE\n    wrong: is not set, so the platform telex is not configured',
      'LOG_LEVEL=LOUD (environment)',
    ])
      expect(said).toContain(words);
  });

  test('if another channel or the daemon itself already has its route', async () => {
    const route = (path: string, method = 'POST') =>
      REST.replace('routes: []', `routes: [{ method: '${method}', path: '${path}', handle: () => ({}) }]`);
    write('twin.ts', `export default { name: 'twin', apiVersion: 1, ${route('/webchat/message')} };`);
    write('root.ts', `export default { name: 'root', apiVersion: 1, ${route('/', 'GET')} };`);
    const said = await refused('webchat,./twin.ts,./root.ts');
    expect(said).toContain('the route POST /webchat/message is taken by the channel webchat');
    expect(said).toContain('the route GET / is taken by the daemon itself');
  });
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
