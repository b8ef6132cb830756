import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { command } from '../support/command.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts';
import { post } from '../support/webchat.ts';

// Modules that an operator wrote, in a folder without node_modules: a channel that imports values from agentd, and a
// runtime that imports only types and can fail.

const folder = temporaryFolder('own');

const CHANNEL = `
import { type ChannelPlugin, TEXT_MAX } from 'agentd/channel';
import { PLAIN, renderMarkdown } from 'agentd/channel/markdown';

export default {
  name: 'slip',
  apiVersion: 1,
  summary: 'People with a printer for slips.',
  settings: [],
  detect: () => true,
  delivery: 'response', capabilities: { textLimit: 25, markdown: 'commonmark', typing: false },
  create: (scope) => ({
    routes: [{ method: 'POST', path: '/slip', async handle(request) {
      const text = String(request.json().text).slice(0, TEXT_MAX);
      const message = { platform: 'slip', user_id: 'ada', channel_id: 'ada', thread_id: null, text, metadata: {} };
      for await (const event of scope.converse(message, request))
        if (event.type === 'complete') return { body: { slips: renderMarkdown(event.response, { ...PLAIN, limit: 25 }) } };
      return { status: 204 };
    } }],
  }),
} satisfies ChannelPlugin;
`;

const RUNTIME = `
import { type AgentRuntime } from 'agentd/agent';
export default {
  apiVersion: 1,
  async *run({ text }) {
    if (text === 'fail') fail();
    yield 'It is **on its way** to\\n[Ada](http://a.example).';
  },
} satisfies AgentRuntime;

function fail() {
  throw new RangeError('the private words of a person');
}
`;

let daemon: DaemonHere;
beforeAll(async () => {
  writeFiles(folder, { 'slip.ts': CHANNEL, 'runtime.ts': RUNTIME });
  const env = { MESSAGING_PLATFORMS: './slip.ts', AGENT_RUNTIME: './runtime.ts' };
  daemon = await startDaemonHere({ directory: folder, env });
});

const say = (text: string) => post(daemon.url, { text }, { path: '/slip' });

test('a channel in a folder without node_modules can import values from agentd', async () => {
  expect((await say('Where is it?')).body).toEqual({
    slips: ['It is on its way to', 'Ada (http://a.example).'],
  });
});

test('the log and the trace, but not the response, show the file and line at which a runtime throws', async () => {
  const { status, body } = await say('fail');
  expect([status, body.code]).toEqual([502, 'agent_failed']);
  expect(JSON.stringify(body)).not.toMatch(/private|RangeError|runtime/);

  const at = `${join(folder, 'runtime.ts')}:12`;
  const line = await daemon.logged(
    ({ request_id, msg }) => request_id === body.request_id && msg === 'message failed',
  );
  expect(line.err).toMatchObject({ cause: { name: 'RangeError', at } });

  const { stdout } = await command(['explain', String(body.request_id)], { cwd: folder });
  expect(stdout).toContain('runtime_threw');
  expect(stdout).toMatch(new RegExp(`error=RangeError\\s+at=${at}`));
  expect(stdout).not.toContain('private words');
});
