import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import msgbot from '../../plugins/msgbot/index.ts';
import phonechat from '../../plugins/phonechat/index.ts';
import teamchat from '../../plugins/teamchat/index.ts';
import { manifestFor } from '../../plugins/teamchat/setup.ts';
import { command } from '../support/command.ts';
import { FakePlatform, type PlatformCall } from '../support/fake-platform.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

// The rules are in agentd-channels(1), `channels setup`, and in agentd-doctor(1): `agentd doctor` checks the
// registration of each channel.

const URL_OF = 'https://bot.example.com/chat';
const ACCOUNT = { PHONECHAT_BUSINESS_ACCOUNT_ID: '102290129340398' };

let directory: string;
let platforms: Record<'msgbot' | 'phonechat' | 'teamchat', FakePlatform>;
let env: Record<string, string>;
beforeAll(async () => {
  const [one, two, three] = await Promise.all(
    [msgbot, phonechat, teamchat].map((plugin) => FakePlatform.start(plugin)),
  );
  platforms = { msgbot: one, phonechat: two, teamchat: three } as typeof platforms;
});
beforeEach(() => {
  directory = temporaryFolder('setup');
  env = Object.assign(
    { NODE_ENV: 'production' },
    ...Object.values(platforms).map((platform) => platform.env),
  );
});
afterEach(() => {
  for (const platform of Object.values(platforms)) platform.forget();
});

const secrets = () =>
  Object.entries(env).flatMap(([name, value]) =>
    /TOKEN|SECRET/.test(name) ? [value, value.split(':').at(-1) ?? value] : [],
  );

/** Runs a command, and checks that its output contains no secret. */
async function run(args: string[], changes: Record<string, string> = {}) {
  const done = await command(args, { cwd: directory, env: { ...env, ...changes } });
  for (const secret of secrets()) expect(done.stdout + done.stderr).not.toContain(secret);
  return done;
}
const setup = (name: string, url = URL_OF, ...more: string[]) =>
  run(['channels', 'setup', name, ...(url === '' ? [] : ['--url', url]), ...more]);
async function registration(name: string, changes: Record<string, string> = {}) {
  const { stdout } = await run(['doctor', '--json'], changes);
  const found = JSON.parse(stdout) as { check: string; outcome: string; detail: string; advice?: string }[];
  return found.find(({ check }) => check === `registration ${name}`);
}
const bodies = ({ calls }: FakePlatform, path: RegExp) =>
  calls.filter((call) => path.test(call.path) && call.method === 'POST').map(({ body }) => JSON.parse(body));

describe('channels setup msgbot', () => {
  it('registers the webhook under a path prefix, with its secret and the updates that the channel reads', async () => {
    const { code, stdout } = await setup('msgbot', `${URL_OF}/`, '--json');
    expect(code).toBe(0);
    const url = `${URL_OF}/webhook/msgbot`;
    expect(JSON.parse(stdout)).toEqual({
      channel: 'msgbot',
      detail: `the platform delivers to ${url}`,
      url,
      pending_update_count: 0,
      allowed_updates: ['message', 'edited_message', 'callback_query', 'message_reaction'],
      ip_address: '203.0.113.7',
    });
    const [asked] = bodies(platforms.msgbot, /setWebhook/);
    expect(asked).toEqual({
      url,
      secret_token: env.MSGBOT_WEBHOOK_SECRET,
      allowed_updates: ['message', 'edited_message', 'callback_query', 'message_reaction'],
    });
    expect(await registration('msgbot')).toMatchObject({
      outcome: 'ok',
      detail: expect.stringContaining(url),
    });
  });

  it('accepts the address of the webhook itself, and says in words what it did', async () => {
    const { code, stdout } = await setup('msgbot', 'https://bot.example.com/webhook/msgbot');
    expect([code, stdout]).toEqual([
      0,
      'msgbot: the platform delivers to https://bot.example.com/webhook/msgbot\n',
    ]);
  });

  it('says why the platform refuses, and reads the registration back instead of trusting the answer', async () => {
    platforms.msgbot.answer = ({ path }) =>
      path.includes('setWebhook')
        ? {
            status: 400,
            body: {
              ok: false,
              error_code: 400,
              description: 'Bad Request: bad webhook: IP address is reserved',
            },
          }
        : null;
    const refused = await setup('msgbot');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('IP address is reserved');
    platforms.msgbot.answer = ({ path }) =>
      path.includes('getWebhookInfo') ? info({ url: 'https://other.example.com/hook' }) : null;
    const taken = await setup('msgbot');
    expect(taken.code).toBe(1);
    expect(taken.stderr).toContain('it delivers to https://other.example.com/hook');
  });

  it('is satisfied with the answer of a server that does not report what is registered', async () => {
    platforms.msgbot.answer = () => ({ status: 200, body: { ok: true, result: true } });
    expect(await setup('msgbot')).toMatchObject({ code: 0 });
  });

  it('refuses an address that is not a plain https URL, an unknown channel, and missing settings', async () => {
    for (const url of ['http://bot.example.com', 'bot.example.com', 'https://bot.example.com/?a=1', ''])
      expect(await setup('msgbot', url)).toMatchObject({ code: 2, stdout: '' });
    expect(await setup('telex')).toMatchObject({ code: 2, stdout: '' });
    const { code, stderr } = await run(['channels', 'setup', 'msgbot', '--url', URL_OF], {
      MSGBOT_WEBHOOK_SECRET: '',
    });
    expect(code).toBe(78);
    expect(stderr).toContain('MSGBOT_WEBHOOK_SECRET');
    expect(platforms.msgbot.calls).toEqual([]);
  });
});

const info = (result: object) => ({
  status: 200,
  body: { ok: true, result: { pending_update_count: 0, ...result } },
});

it.each<[string, object, RegExp]>([
  ['a missing webhook', { url: '' }, /^no webhook is registered: nothing arrives$/],
  [
    'a webhook that belongs to something else',
    { url: 'https://x.example.com/other' },
    /does not belong to this channel/,
  ],
  [
    'a webhook that does not receive button presses',
    { url: 'https://x.example.com/webhook/msgbot', allowed_updates: ['message', 'edited_message'] },
    /without the updates callback_query$/,
  ],
  [
    'failing deliveries',
    {
      url: 'https://x.example.com/webhook/msgbot',
      pending_update_count: 3,
      last_error_date: Math.floor(Date.now() / 1000) - 60,
      last_error_message: 'Wrong response from the webhook: 401 Unauthorized',
    },
    /cannot deliver .*: Wrong response from the webhook: 401 Unauthorized; 3 updates wait$/,
  ],
  [
    'many pending updates',
    { url: 'https://x.example.com/webhook/msgbot', pending_update_count: 500 },
    /^500 updates wait/,
  ],
])('doctor warns about %s', async (_, result, words) => {
  platforms.msgbot.answer = ({ path }) => (path.includes('getWebhookInfo') ? info(result) : null);
  expect(await registration('msgbot')).toMatchObject({
    outcome: 'warning',
    detail: expect.stringMatching(words),
    advice: expect.any(String),
  });
});

describe('channels setup teamchat', () => {
  it('prints the manifest with the addresses filled in, before there are any settings', async () => {
    const done = await command(['channels', 'setup', 'teamchat', '--url', URL_OF], { cwd: directory });
    expect(done.code).toBe(0);
    const manifest = JSON.parse(done.stdout);
    expect(manifest).toEqual(manifestFor(URL_OF));
    expect(manifest.settings).toMatchObject({
      event_subscriptions: { request_url: `${URL_OF}/webhook/teamchat/events` },
      interactivity: { is_enabled: true, request_url: `${URL_OF}/webhook/teamchat/interactive` },
    });
    expect(manifest.features.slash_commands[0].url).toBe(`${URL_OF}/webhook/teamchat/commands`);
    expect(done.stderr).toContain('From a manifest');
    expect(JSON.parse((await setup('teamchat', URL_OF, '--json')).stdout)).toEqual(manifest);
    expect(platforms.teamchat.calls).toEqual([]);
  });

  it('doctor compares the scopes of the bot token with the manifest', async () => {
    expect(await registration('teamchat')).toMatchObject({ outcome: 'ok' });
    platforms.teamchat.answer = () => ({
      status: 200,
      headers: { 'x-oauth-scopes': 'chat:write,commands' },
      body: { ok: true, user: 'agentd', team: 'T', user_id: 'U1', team_id: 'T1' },
    });
    expect(await registration('teamchat')).toMatchObject({
      outcome: 'warning',
      detail: 'the bot token lacks the scopes app_mentions:read, im:history',
    });
  });
});

describe('channels setup phonechat', () => {
  const posted = ({ calls }: FakePlatform) =>
    calls
      .filter(({ method }) => method === 'POST')
      .map(({ path, body }: PlatformCall) => [path, JSON.parse(body)]);

  it('registers the address for each number, and subscribes the app to the account', async () => {
    // The fake platform knows the number, but not this account, so the test answers for the account.
    platforms.phonechat.answer = ({ path, method }) =>
      path.includes('subscribed_apps')
        ? { status: 200, body: method === 'POST' ? { success: true } : { data: [APP] } }
        : null;
    const { code, stdout } = await run(
      ['channels', 'setup', 'phonechat', '--url', URL_OF, '--json'],
      ACCOUNT,
    );
    expect(code).toBe(0);
    const url = `${URL_OF}/webhook/phonechat`;
    const number = env.PHONECHAT_PHONE_NUMBER_ID;
    expect(JSON.parse(stdout)).toMatchObject({
      channel: 'phonechat',
      url,
      numbers: [number],
      subscribed: true,
    });
    expect(posted(platforms.phonechat)).toEqual([
      ['/v25.0/102290129340398/subscribed_apps', {}],
      [
        `/v25.0/${number}`,
        { webhook_configuration: { override_callback_uri: url, verify_token: env.PHONECHAT_VERIFY_TOKEN } },
      ],
    ]);
    expect(await registration('phonechat', ACCOUNT)).toMatchObject({
      outcome: 'ok',
      detail: 'the platform delivers for the number, to Lucky Shrub',
    });
  });

  it('says why the platform refuses the address, and that the daemon must already run there', async () => {
    platforms.phonechat.answer = ({ method }) =>
      method === 'POST'
        ? {
            status: 400,
            body: {
              error: { message: '(#2200) Callback verification failed', type: 'OAuthException', code: 2200 },
            },
          }
        : null;
    const { code, stderr } = await setup('phonechat');
    expect(code).toBe(1);
    expect(stderr).toContain('Callback verification failed');
    expect(stderr).toContain('The daemon must run at that address');
  });

  it.each<[string, object, RegExp]>([
    ['a missing webhook', {}, /^no webhook is registered for the number/],
    [
      'a webhook that belongs to something else',
      { application: 'https://x.example.com/other' },
      /does not belong to this channel$/,
    ],
  ])('doctor warns about %s', async (_, webhook_configuration, words) => {
    platforms.phonechat.answer = ({ path }) =>
      path.includes('webhook_configuration')
        ? { status: 200, body: { webhook_configuration, id: '1' } }
        : null;
    expect(await registration('phonechat')).toMatchObject({
      outcome: 'warning',
      detail: expect.stringMatching(words),
    });
  });

  it('doctor warns if no app is subscribed to the account', async () => {
    platforms.phonechat.answer = ({ path }) =>
      path.includes('subscribed_apps') ? { status: 200, body: { data: [] } } : null;
    expect(await registration('phonechat', ACCOUNT)).toMatchObject({
      outcome: 'warning',
      detail: 'no app is subscribed to the account 102290129340398',
    });
  });
});

/** An app as the platform lists it. */
const APP = {
  whatsapp_business_api_data: {
    id: '670843887433847',
    link: 'https://www.facebook.com/games/?app_id=670843887433847',
    name: 'Lucky Shrub',
  },
};

describe('channels setup for other channels', () => {
  it('says that there is nothing to register, or that the webhook must be registered by hand', async () => {
    const { code, stderr } = await setup('webchat');
    expect(code).toBe(1);
    expect(stderr).toContain('there is nothing to register');
    writeFileSync(
      join(directory, 'pager.ts'),
      `export default {
        name: 'pager', apiVersion: 1, summary: 'People with pagers.', settings: [], detect: () => false,
        delivery: 'push', capabilities: { textLimit: null, markdown: 'none', typing: false },
        create: () => ({ routes: [], send: async () => {} }),
      };\n`,
    );
    writeFileSync(join(directory, 'agentd.yaml'), 'plugins:\n  - ./pager.ts\n');
    const other = await setup('pager');
    expect(other.code).toBe(1);
    expect(other.stderr).toContain('Register its webhook at its platform yourself');
  });
});
