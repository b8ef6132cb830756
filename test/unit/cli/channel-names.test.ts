import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { CHANNEL_TITLES, RESERVED_CHANNEL_NAMES } from '../../../plugins/names.ts';
import { channelInWords } from '../../../src/cli/names/channel-titles.ts';
import { channelNamed } from '../../../src/cli/names/channel-words.ts';
import { readWho } from '../../../src/cli/names/who.ts';
import { loadBundled } from '../../../src/daemon/admin/channels.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import { aSession } from '../../contract/fixtures.ts';
import { saveSession } from '../../contract/store-writes.ts';
import { openAt } from '../store/state-directory.ts';
import { agentd } from './captured-output.ts';
import { stubState } from './stub-settings.ts';

let directory: string;

beforeEach(() => {
  directory = stubState({ TOKEN_ENCRYPTION_KEY: new Secret('off') });
});

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
    const store = openAt(join(directory, 'agentd.db'));
    await saveSession(store, aSession(Date.now(), { session_id: 'teamchat:C1', platform: 'teamchat' }));
    await saveSession(store, aSession(Date.now(), { session_id: 'other', platform: 'webchat' }));
    const line = ['sessions', 'list', '--platform', 'slack', '--json'];
    expect(JSON.parse((await agentd(...line)).stdout)).toMatchObject([
      { session_id: 'teamchat:C1', platform: 'teamchat' },
    ]);
    expect((await agentd(...line.slice(0, -1))).stdout).toContain('teamchat (Slack)');
  });
});
