import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CHANNEL_TITLES, RESERVED_CHANNEL_NAMES } from '../../../plugins/names.ts';
import { channelInWords } from '../../../src/cli/names/channel-titles.ts';
import { channelNamed } from '../../../src/cli/names/channel-words.ts';
import { readWho } from '../../../src/cli/names/who.ts';
import { runProgram } from '../../../src/cli/program.ts';
import { loadBundled } from '../../../src/daemon/admin/channels.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import { openSqliteStore } from '../../../src/daemon/store/kernels/sqlite/store.ts';
import { aSession } from '../../contract/fixtures.ts';
import { saveSession } from '../../contract/store-writes.ts';
import { capture } from './captured-output.ts';
import { stubSettings } from './stub-settings.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'agentd-names-'));
  stubSettings({
    ...{ STATE_DIR: directory, SESSION_BACKEND: 'sqlite', TOKEN_ENCRYPTION_KEY: new Secret('off') },
  });
});
afterEach(() => rmSync(directory, { recursive: true }));

it('the titles for commands are those of the bundled plugins', async () => {
  const { plugins } = await loadBundled();
  const titles = plugins.flatMap(({ plugin: { name, title } }) =>
    title === undefined ? [] : [[name, title]],
  );
  expect(Object.fromEntries(titles)).toEqual(CHANNEL_TITLES);
});

it('a channel is shown with its title, if there is one', () => {
  expect([...RESERVED_CHANNEL_NAMES, 'telex'].map(channelInWords)).toEqual([
    ...['webchat (Website)', 'sse', 'teamchat (Slack)', 'phonechat (WhatsApp)', 'msgbot (Telegram)', 'telex'],
  ]);
});

describe('a channel on the command line', () => {
  it.each([
    ['slack', 'teamchat'],
    ['whatsapp', 'phonechat'],
    ['telegram', 'msgbot'],
    ['website', 'webchat'],
    ['teamchat', 'teamchat'],
    ['telex', 'telex'],
    ['Slack', 'Slack'],
  ])('%s means %s', async (word, name) => {
    expect(await channelNamed(word, {})).toBe(name);
  });

  it('is the plugin that has this name, even if it is the title of another one', async () => {
    const file = join(directory, 'slack.mjs');
    const capabilities = "{ textLimit: null, markdown: 'none', typing: false }";
    writeFileSync(
      file,
      `export default { name: 'slack', title: 'Telegram', apiVersion: 1, summary: 'S.', settings: [],
         detect: () => true, delivery: 'push', capabilities: ${capabilities}, create: () => ({}) };`,
    );
    writeFileSync(join(directory, 'agentd.yaml'), `plugins:\n  - ./slack.mjs\n`);
    expect(await channelNamed('slack', {})).toBe('slack');
    await expect(channelNamed('telegram', {})).rejects.toThrow("'telegram' means several channels");
  });

  it('may have this form in the name of a user', async () => {
    const { who } = await readWho(['slack:U0ADA'], {});
    expect(who).toEqual({ platform: 'teamchat', user_id: 'U0ADA' });
  });

  it('is found by either name, and JSON has its own name', async () => {
    const clock = { now: () => Date.now() };
    const store = openSqliteStore(join(directory, 'agentd.db'), { role: 'daemon', clock });
    await saveSession(store, aSession(Date.now(), { session_id: 'teamchat:C1', platform: 'teamchat' }));
    await saveSession(store, aSession(Date.now(), { session_id: 'other', platform: 'webchat' }));
    await store.close();
    const stdout = capture();
    const line = ['sessions', 'list', '--platform', 'slack', '--json'];
    expect(await runProgram(line, { stdout, stderr: capture() })).toBe(0);
    expect(JSON.parse(stdout.text)).toMatchObject([{ session_id: 'teamchat:C1', platform: 'teamchat' }]);
    const table = capture();
    await runProgram(line.slice(0, -1), { stdout: table, stderr: capture() });
    expect(table.text).toContain('teamchat (Slack)');
  });
});
