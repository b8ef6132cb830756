import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import msgbot from '../../plugins/msgbot/index.ts';
import type { SimulatedEvent } from '../../src/channel/index.ts';
import { command } from '../support/command.ts';
import { readAll, type StartOptions } from '../support/daemon.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { Dictation } from '../support/dictation.ts';
import { type DaemonAnswer, FakePlatform, type PlatformCall } from '../support/fake-platform.ts';
import { type Shop, startShop } from '../support/shop.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
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

/** Starts a daemon for one test. The test dictates the replies of its agent. */
async function start(env: Record<string, string> = {}, options: StartOptions = {}): Promise<DaemonHere> {
  const started = await startDaemonHere({ ...options, env: { ...platform.env, ...dictation.env, ...env } });
  daemon = started;
  return started;
}

function deliver(event: Partial<SimulatedEvent> = {}): Promise<DaemonAnswer> {
  return platform.deliver(daemon, { user: ada, ...event });
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

describe('signing in', () => {
  beforeEach(() => {
    daemon = shop.daemon;
  });
  const command = (argument: string, event: Partial<SimulatedEvent> = {}) =>
    deliver({ kind: 'command', text: `/service_auth ${argument}`.trim(), ...event });
  const who = (event: Partial<SimulatedEvent> = {}) => deliver({ text: 'Who am I?', ...event });
  const adasToken = (ttl = 3600) => token({ sub: 'user-ada', email: 'ada@example.com', ttl });
  const texts = (count: number, place = ada) =>
    platform.until(() => platform.textsTo(place).length >= count).then(() => platform.textsTo(place));

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
    const directory = temporaryFolder('msgbot');
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
