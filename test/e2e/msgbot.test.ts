import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import msgbot from '../../plugins/msgbot/index.ts';
import type { SimulatedEvent } from '../../src/channel/index.ts';
import { command } from '../support/command.ts';
import { readAll, type StartOptions } from '../support/daemon.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { Dictation } from '../support/dictation.ts';
import { type DaemonAnswer, FakePlatform, type PlatformCall } from '../support/fake-platform.ts';
import { type Shop, startShop } from '../support/shop.ts';
import { token } from '../support/tokens.ts';

const GROUP = '-1005550100';

let platform: FakePlatform;
let dictation: Dictation;
/** The daemon of most tests. The tests dictate the replies of its agent, and each test has its own users. */
let agent: DaemonHere;
/** A daemon for the same bot, with the API of the shop. */
let shop: Shop;
/** The daemon to which events are delivered. */
let daemon: DaemonHere;
let ada: string;
let bob: string;
let tests = 0;

beforeAll(async () => {
  platform = await FakePlatform.start(msgbot);
  dictation = await Dictation.start();
  agent = await startDaemonHere({ env: { ...platform.env, ...dictation.env } });
  shop = await startShop({ env: platform.env });
});

beforeEach(() => {
  tests++;
  ada = String(5_551_000 + tests);
  bob = String(5_552_000 + tests);
  for (const each of [platform, dictation, agent, shop.daemon]) each.forget();
  shop.api.requests.length = 0;
  daemon = agent;
});

afterAll(async () => {
  await agent.stop();
  await shop.stop();
  await platform.close();
  await dictation.close();
});

/** Starts a daemon for one test. The test dictates the replies of its agent. */
async function start(env: Record<string, string> = {}, options: StartOptions = {}): Promise<DaemonHere> {
  const started = await startDaemonHere({ ...options, env: { ...platform.env, ...dictation.env, ...env } });
  onTestFinished(() => started.stop().then(() => {}));
  daemon = started;
  return started;
}

function deliver(event: Partial<SimulatedEvent> = {}): Promise<DaemonAnswer> {
  return platform.deliver(daemon, { user: ada, ...event });
}

/** Posts an update unchanged, with the secret. */
function post(update: object, headers: Record<string, string> = {}): Promise<DaemonAnswer> {
  return platform.post(daemon, {
    method: 'POST',
    path: '/webhook/msgbot',
    headers: {
      'Content-Type': 'application/json',
      'X-Telegram-Bot-Api-Secret-Token': platform.env.MSGBOT_WEBHOOK_SECRET ?? '',
      ...headers,
    },
    body: JSON.stringify(update),
  });
}

function answersOf(text: string, ...pieces: string[]): void {
  dictation.say(text, ...pieces);
  dictation.end(text);
}

const methodOf = ({ path }: PlatformCall) => path.split('/').at(-1);
/** The calls of a method for the people of this test or for the group. */
const callsOf = (method: string) =>
  platform.calls.filter((call) => {
    if (methodOf(call) !== method) return false;
    const { chat_id } = JSON.parse(call.body) as { chat_id: number };
    return [ada, bob, GROUP].includes(String(chat_id));
  });
const payloads = (method: string) =>
  callsOf(method).map(({ body }) => JSON.parse(body) as Record<string, unknown>);

describe('a message to the bot', () => {
  it('is answered in its chat, after a typing indicator', async () => {
    answersOf('hello', 'Good **day**', ' & welcome');
    expect((await deliver({ text: 'hello' })).status).toBe(200);
    await platform.until(() => platform.textsTo(ada).length === 1);
    expect(platform.textsTo(ada)).toEqual(['Good <b>day</b> &amp; welcome']);
    const [first] = platform.shown.filter(({ to }) => to === ada);
    expect(first).toEqual({ what: 'typing', to: ada, text: '' });
    const { stdout } = await command(['sessions', 'show', `msgbot:${ada}`, '--json'], {
      cwd: daemon.directory,
    });
    expect(JSON.parse(stdout)).toMatchObject({ turns: [{ text: 'hello', outcome: 'answered' }] });
  });

  it('is answered once, however often the platform delivers it', async () => {
    const to = daemon;
    answersOf('hello', 'Once.');
    for (let n = 0; n < 3; n++) expect((await deliver({ text: 'hello', number: 7 })).status).toBe(200);
    answersOf('last', 'Done.');
    await deliver({ text: 'last' });
    await platform.until(() => platform.textsTo(ada).includes('Done.'));
    expect(platform.textsTo(ada)).toEqual(['Once.', 'Done.']);
    expect(dictation.runs).toEqual(['hello', 'last']);
    expect(to.log().filter(({ msg }) => String(msg).startsWith('[LoopGuard] DUPLICATE'))).toMatchObject([
      { msg: `[LoopGuard] DUPLICATE platform=msgbot user=${ada} message_id=${ada}:7` },
      {},
    ]);
  });
});

describe('in a group', () => {
  it('the bot answers people who mention it, in the topic, as a reply to the message', async () => {
    answersOf('hello', 'Hello all.');
    await deliver({ place: 'group', thread: '17', text: 'hello', number: 5 });
    await platform.until(() => platform.textsTo(GROUP).length === 1);
    expect(payloads('sendMessage')).toMatchObject([
      {
        chat_id: Number(GROUP),
        message_thread_id: 17,
        reply_parameters: { message_id: 5, allow_sending_without_reply: true },
      },
    ]);
    expect(payloads('sendChatAction')[0]).toMatchObject({ message_thread_id: 17 });
    const { stdout } = await command(['sessions', 'list', '--json'], { cwd: daemon.directory });
    expect(JSON.parse(stdout)).toContainEqual(expect.objectContaining({ session_id: `msgbot:${GROUP}:17` }));
  });
});

describe('a webhook without the secret', () => {
  it('is refused with 401, even if the header is almost right', async () => {
    const secret = platform.env.MSGBOT_WEBHOOK_SECRET ?? '';
    const update = { update_id: 1, message: { message_id: 1, text: 'hello' } };
    for (const wrong of [
      '',
      'x',
      secret.slice(1),
      `${secret}x`,
      secret.toLowerCase(),
      `${secret}, ${secret}`,
    ]) {
      const { status, text } = await post(update, { 'X-Telegram-Bot-Api-Secret-Token': wrong });
      expect(status, wrong).toBe(401);
      expect(JSON.parse(text)).toMatchObject({ code: 'invalid_signature', status: 401 });
    }
    expect((await deliver({ bad_signature: true })).status).toBe(401);
    expect(platform.textsTo(ada)).toEqual([]);
  });
});

describe('a message without text', () => {
  it('gets one notice in a private chat, even for a repeated delivery and an album, and none in a group', async () => {
    await deliver({ kind: 'other', number: 1 });
    await deliver({ kind: 'other', number: 1 });
    const chat = { id: Number(ada), type: 'private' };
    const from = { id: Number(ada), is_bot: false, first_name: 'Ada' };
    for (const message_id of [2, 3, 4])
      await post({
        update_id: message_id,
        message: { message_id, chat, from, date: 1_795_290_000, photo: [{}], media_group_id: 'album' },
      });
    await deliver({ kind: 'other', place: 'group', number: 5 });
    answersOf('hello', 'Hello.');
    await deliver({ text: 'hello', number: 6 });
    await platform.until(() => platform.textsTo(ada).includes('Hello.'));
    await platform.until(() => platform.textsTo(ada).length === 2);
    expect(
      platform.textsTo(ada).filter((text) => text.startsWith('Sorry, I can only read text.')),
    ).toHaveLength(1);
    expect(platform.textsTo(GROUP)).toEqual([]);
    expect(dictation.runs).toEqual(['hello']);
  });
});

describe('when the platform refuses a request', () => {
  const sends = () => callsOf('sendMessage');

  it('the reply is sent again after the time that the platform asked for, without another run of the agent', async () => {
    platform.answer = (call) =>
      methodOf(call) === 'sendMessage' && sends().length === 1
        ? {
            status: 429,
            body: {
              ok: false,
              error_code: 429,
              description: 'Too Many Requests: retry after 2',
              parameters: { retry_after: 2 },
            },
          }
        : null;
    answersOf('hello', 'Hello.');
    await deliver({ text: 'hello' });
    await platform.until(() => platform.textsTo(ada).length === 1);
    const [first, second] = sends();
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(2000);
    expect(dictation.runs).toEqual(['hello']);
  });

  it('the daemon starts even if its token is refused, and `GET /` reports the refusal', async () => {
    platform.answer = () => ({
      status: 401,
      body: { ok: false, error_code: 401, description: 'Unauthorized' },
    });
    const to = await start();
    await to.logged(({ failure }) => failure === 'Unauthorized (401)');
    const health = (await (await fetch(to.url)).json()) as object;
    expect(health).toMatchObject({
      adapters: {
        msgbot: {
          status: 'degraded',
          detail: 'the platform refuses MSGBOT_BOT_TOKEN; replies cannot be sent',
        },
      },
    });
  });
});

describe('signing in', () => {
  beforeEach(() => {
    daemon = shop.daemon;
  });
  const command = (argument: string, event: Partial<SimulatedEvent> = {}) =>
    deliver({ kind: 'command', text: `/service_auth ${argument}`.trim(), ...event });
  const who = (event: Partial<SimulatedEvent> = {}) => deliver({ text: 'Who am I?', ...event });
  const adasToken = (ttl = 3600) => token({ sub: 'user-ada', email: 'ada@example.com', ttl });
  const deletions = () => payloads('deleteMessage');
  const texts = (count: number, place = ada) =>
    platform.until(() => platform.textsTo(place).length >= count).then(() => platform.textsTo(place));

  it('links a person until they sign out; the message with the token is deleted', async () => {
    const secret = await adasToken();
    await command(secret, { number: 1 });
    const [confirmed] = await texts(1);
    const until = new Date((JSON.parse(atob(secret.split('.')[1] ?? '')) as { exp: number }).exp * 1000);
    expect(confirmed).toBe(
      `✅ You are signed in here as <code>ada@example.com</code>, until ${until.toISOString().slice(0, 16).replace('T', ' ')} UTC.`,
    );
    expect(deletions()).toEqual([{ chat_id: Number(ada), message_id: 1 }]);
    await who({ number: 2 });
    expect((await texts(2))[1]).toContain('Ada Lovelace');
    await command('off', { number: 3 });
    expect((await texts(3))[2]).toBe('✅ You are signed out here.');
    await who({ number: 4 });
    expect((await texts(4))[3]).not.toContain('Ada');
    await command('off', { number: 5 });
    expect((await texts(5))[4]).toBe('You were not signed in here.');
    expect(shop.lookedUpAs()).toEqual(['user-ada']);
    expect(deletions()).toHaveLength(1);
  });

  it('answers a question from a group in private, without being asked again, and tells the group', async () => {
    const inGroup = await texts(0, GROUP).then((sent) => sent.length);
    await who({ number: 6, place: 'group' });
    const [asked] = (await texts(inGroup + 1, GROUP)).slice(inGroup);
    expect(asked).toContain('please sign in first. I have written to you privately.');
    const [how] = await texts(1);
    expect(how).toContain('asked me something in a group');
    await command(await adasToken(), { number: 7 });
    await platform.until(() => platform.textsTo(ada).some((text) => text.includes('Ada Lovelace')));
    expect((await texts(inGroup + 2, GROUP)).at(-1)).toBe('I’ve answered the question privately.');
    expect(platform.textsTo(GROUP).join()).not.toContain('Ada');
  });
});

describe('secrets', () => {
  it('appear neither in logs nor in stored data: the tokens of people, the token of the bot and the webhook secret', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'agentd-msgbot-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const TOKEN_ENCRYPTION_KEY = randomBytes(32).toString('base64');
    const to = await start({ TOKEN_ENCRYPTION_KEY, LOG_LEVEL: 'TRACE' }, { directory });
    const linked = await token({ sub: 'user-ada' });
    const typed = await token({ sub: 'user-eve' });
    const forwarded = await token({ sub: 'user-bob' });
    await deliver({ kind: 'command', text: `/service_auth ${linked}`, number: 1 });
    answersOf('my token is [token]', 'Do not send it here.');
    await deliver({ text: `my token is ${typed}`, number: 2 });
    await deliver({ kind: 'command', text: `/service_auth ${forwarded}`, place: 'group', number: 3 });
    // The platform refuses the request. Its error repeats the path of the request, which contains the token of the bot.
    platform.answer = ({ path }) => ({
      status: 400,
      body: { ok: false, error_code: 400, description: `Bad Request: ${path}` },
    });
    answersOf('hello', 'Hello.');
    await deliver({ text: 'hello', number: 4 });
    await to.logged(({ failure }) => String(failure).startsWith('delivery_refused: Bad Request: /bot'));
    await to.stop();
    const state = join(directory, 'state');
    const left = readAll(readdirSync(state).map((name) => join(state, name))) + to.stdout() + to.stderr();
    expect(left).toContain('my token is [token]');
    for (const secret of [linked, typed, forwarded].map((jwt) => jwt.split('.')[2] ?? ''))
      expect(left).not.toContain(secret.slice(0, 16));
    const [, secretOfBot = ''] = (platform.env.MSGBOT_BOT_TOKEN ?? '').split(':');
    expect(left).not.toContain(secretOfBot);
    expect(left).not.toContain(platform.env.MSGBOT_WEBHOOK_SECRET);
  });
});

describe('configuration', () => {
  it('reports a missing webhook secret', async () => {
    const { MSGBOT_WEBHOOK_SECRET: _none, ...env } = platform.env;
    const { code, stderr } = await command(['config', 'check'], { env });
    expect(stderr).toContain(
      'the channel msgbot is off: MSGBOT_BOT_TOKEN is set, but not MSGBOT_WEBHOOK_SECRET',
    );
    expect(code).toBe(0);
    const listed = await command(['config', 'check'], { env: { MESSAGING_PLATFORMS: 'msgbot' } });
    expect(listed.code).toBe(78);
    expect(listed.stderr).toContain('MSGBOT_BOT_TOKEN');
    expect(listed.stderr).toContain('MSGBOT_WEBHOOK_SECRET');
  });
});
