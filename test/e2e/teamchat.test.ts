import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from '../../plugins/teamchat/parse.ts';
import { sample, sampleNames } from '../fixtures/teamchat/sample.ts';
import { readAll } from '../support/daemon.ts';
import { CHANNEL, Workspace, words } from '../support/teamchat.ts';
import { token } from '../support/tokens.ts';

// Tests agentd-teamchat(7), and agentd-message(7), "The inbox", on teamchat. Tests of links are in
// teamchat-linking.test.ts.

let work: Workspace;
beforeAll(async () => {
  work = await Workspace.open();
  await work.run();
});

describe('a direct message', () => {
  it('is answered where it was written, after the 200 response, in one session for all direct messages of a user', async () => {
    expect(await work.deliver({ user: 'U0A1', text: 'count 2' })).toMatchObject({ status: 200, text: '' });
    await work.texts('D0A1', 1);
    await work.deliver({ user: 'U0A1', text: 'history' });
    expect(await work.texts('D0A1', 2)).toEqual([words(2), '[["count 2","word1 word2 "]]']);
    expect(work.posts('D0A1')[0]).not.toHaveProperty('thread_ts');
    await work.daemon.logged(
      ({ msg, session }) => msg === 'message answered' && session === 'teamchat:T0SIMULATE:D0A1',
    );
  });
});

describe('a mention in a channel', () => {
  it('reaches the agent without the mention, and is answered in its thread, with a typing indicator until then', async () => {
    await work.deliver({ user: 'U0B1', place: 'group', text: 'ping', thread: 'b1' });
    await work.dictation.begun('ping');
    const typing = () => work.platform.shown.find(({ what, to }) => what === 'typing' && to === CHANNEL);
    await work.platform.until(() => typing() !== undefined);
    const thread = typing()?.thread;
    work.dictation.say('ping', '**pong**');
    work.dictation.end('ping');
    expect(await work.texts(CHANNEL, 1, thread)).toEqual(['*pong*']);
    await work.daemon.logged(({ session }) => session === `teamchat:T0SIMULATE:${CHANNEL}:${thread}`);
  });
});

describe('a delivery', () => {
  it('answers the challenge', async () => {
    const { status, text } = await work.send({ body: JSON.stringify(sample('url-verification')) });
    expect([status, JSON.parse(text)]).toEqual([200, { challenge: sample('url-verification').challenge }]);
  });

  it('causes one notice to its sender if it cannot be read', async () => {
    const long = { user: 'U0E1', text: 'x'.repeat(16_001), number: 900_001 };
    for (let n = 0; n < 3; n++) expect((await work.deliver(long)).status).toBe(200);
    expect((await work.deliver({ user: 'U0E1', kind: 'other' })).status).toBe(200);
    await work.deliver({ user: 'U0E1', text: 'count 1' });
    expect((await work.texts('D0E1', 3)).sort()).toEqual([
      expect.stringMatching(/only read text/),
      expect.stringMatching(/too long: a message may have 16,000 characters/),
      words(1),
    ]);
  });
});

it('every documented delivery is acknowledged; only messages of people to the bot are answered', async () => {
  const own = await Workspace.open();
  const { log, logged } = await own.run({ AGENT_RUNTIME: 'builtin' });
  const spoken = new Set<string>();
  for (const name of sampleNames()) {
    const parsed = parse(sample(name), null);
    if (parsed.kind === 'message') spoken.add(String(parsed.message.message_id));
    // The same notice is sent to the same place at most once every 3 seconds.
    if (parsed.kind === 'unreadable') spoken.add(`${parsed.reply_to.channel} ${parsed.notice}`);
    expect((await own.send({ body: JSON.stringify(sample(name)) })).status, name).toBe(200);
  }
  await own.platform.until(() => own.posts().length >= spoken.size);
  await own.deliver({ text: 'hello' });
  await own.texts('D0ADA', 1);
  expect(own.posts()).toHaveLength(spoken.size + 1);
  await logged(({ msg }) =>
    String(msg).startsWith('the app was removed from the workspace (tokens_revoked)'),
  );
  const unwell = log().filter(({ level }) => level !== 'info' && level !== 'debug');
  expect(unwell.map(({ level, msg }) => `${level}: ${msg}`)).toEqual([
    'warn: the platform drops events of this app: there are too many of them',
    'warn: the app was removed from the workspace (app_uninstalled)',
    'warn: the app was removed from the workspace (tokens_revoked)',
  ]);
});

it('the secrets of the channel, and tokens that people type, are in no log and no file', async () => {
  const own = await Workspace.open();
  const { stop, stdout, stderr } = await own.run({ LOG_LEVEL: 'DEBUG' });
  const typed = await token({ sub: 'eve' });
  const failures = [
    { status: 500 },
    { status: 200, body: 'nonsense' },
    { status: 429, headers: { 'Retry-After': '1' } },
  ];
  own.platform.answer = ({ path }) => (path === '/chat.postMessage' ? (failures.shift() ?? null) : null);
  await own.deliver({ text: 'count 1' });
  await own.texts('D0ADA', 1);
  await own.deliver({ text: `look: ${typed}` });
  own.dictation.say('look: [token]', 'fine');
  own.dictation.end('look: [token]');
  await own.texts('D0ADA', 2);
  await own.deliver({ bad_signature: true });
  await stop();
  const state = join(own.directory, 'state');
  const left = readAll(readdirSync(state).map((name) => join(state, name))) + stdout() + stderr();
  expect(left).toContain('look: [token]');
  const { TEAMCHAT_BOT_TOKEN, TEAMCHAT_SIGNING_SECRET } = own.platform.env;
  for (const secret of [TEAMCHAT_BOT_TOKEN?.slice(5), TEAMCHAT_SIGNING_SECRET, typed.split('.')[1]])
    expect(left).not.toContain(secret);
});
