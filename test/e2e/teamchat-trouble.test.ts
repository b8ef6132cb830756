import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from '../../plugins/teamchat/parse.ts';
import { sample, sampleNames } from '../fixtures/teamchat/sample.ts';
import { agentd, readAll } from '../support/daemon.ts';
import { Workspace } from '../support/teamchat.ts';
import { token } from '../support/tokens.ts';

// Tests agentd-message(7), "Loop guard" and "The inbox", on teamchat. Each test needs a separate daemon.

let work: Workspace;
beforeEach(async () => {
  work = await Workspace.open();
});
afterEach(() => work.close());

it('every documented delivery is acknowledged; only messages of people to the bot are answered', async () => {
  const { log, logged } = await work.run({ AGENT_RUNTIME: 'builtin' });
  const spoken = new Set<string>();
  for (const name of sampleNames()) {
    const parsed = parse(sample(name), null);
    if (parsed.kind === 'message') spoken.add(String(parsed.message.message_id));
    // The same notice is sent to the same place at most once every 3 seconds.
    if (parsed.kind === 'unreadable') spoken.add(`${parsed.reply_to.channel} ${parsed.notice}`);
    expect((await work.send({ body: JSON.stringify(sample(name)) })).status, name).toBe(200);
  }
  await work.platform.until(() => work.posts().length >= spoken.size);
  await work.deliver({ text: 'hello' });
  await work.texts('D0ADA', 1);
  expect(work.posts()).toHaveLength(spoken.size + 1);
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

describe('the start of a daemon', () => {
  it('succeeds even if the platform refuses the token, and the refusal is reported', async () => {
    work.platform.answer = () => ({ status: 200, body: { ok: false, error: 'invalid_auth' } });
    const { url, logged } = await work.run();
    const line = await logged(({ channel, level }) => channel === 'teamchat' && level === 'error');
    expect(line).toMatchObject({ reason: 'invalid_auth' });
    const detail = 'the platform refuses the credentials: invalid_auth';
    expect(await (await fetch(url)).json()).toMatchObject({
      status: 'ok',
      platforms: expect.arrayContaining(['teamchat']),
      adapters: { teamchat: { status: 'degraded', detail } },
    });
    expect((await work.deliver({ text: 'count 1' })).status).toBe(200);
  });

  it('fails if the channel is turned on without its settings; the error names each missing setting', async () => {
    const env = { MESSAGING_PLATFORMS: 'webchat,teamchat' };
    const { code, stderr } = await agentd(['serve'], { env, cwd: work.directory });
    expect(code).toBe(78);
    for (const name of ['TEAMCHAT_BOT_TOKEN', 'TEAMCHAT_SIGNING_SECRET'])
      expect(stderr).toMatch(
        new RegExp(`${name}\\n.*is not set, so the platform teamchat is not configured`),
      );
  });
});

it('the secrets of the channel, and tokens that people type, are in no log and no file', async () => {
  const { stop, stdout, stderr } = await work.run({ LOG_LEVEL: 'DEBUG' });
  const typed = await token({ sub: 'eve' });
  const failures = [
    { status: 500 },
    { status: 200, body: 'nonsense' },
    { status: 429, headers: { 'Retry-After': '1' } },
  ];
  work.platform.answer = ({ path }) => (path === '/chat.postMessage' ? (failures.shift() ?? null) : null);
  await work.deliver({ text: 'count 1' });
  await work.texts('D0ADA', 1);
  await work.deliver({ text: `look: ${typed}` });
  work.dictation.say('look: [token]', 'fine');
  work.dictation.end('look: [token]');
  await work.texts('D0ADA', 2);
  await work.deliver({ bad_signature: true });
  await stop();
  const state = join(work.directory, 'state');
  const left = readAll(readdirSync(state).map((name) => join(state, name))) + stdout() + stderr();
  expect(left).toContain('look: [token]');
  const { TEAMCHAT_BOT_TOKEN, TEAMCHAT_SIGNING_SECRET } = work.platform.env;
  for (const secret of [TEAMCHAT_BOT_TOKEN?.slice(5), TEAMCHAT_SIGNING_SECRET, typed.split('.')[1]])
    expect(left).not.toContain(secret);
});
