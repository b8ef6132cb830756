import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import msgbot from '../../plugins/msgbot/index.ts';
import type { SimulatedEvent } from '../../src/channel/index.ts';
import { command } from '../support/command.ts';
import { type Agentd, readAll, type StartOptions, startAgentd } from '../support/daemon.ts';
import { Dictation } from '../support/dictation.ts';
import { type DaemonAnswer, FakePlatform, type PlatformCall } from '../support/fake-platform.ts';
import { type Shop, startShop } from '../support/shop.ts';
import { lapsed, token } from '../support/tokens.ts';

const GROUP = '-1005550100';

let platform: FakePlatform;
let dictation: Dictation;
/** The daemon of most tests. The tests dictate the replies of its agent, and each test has its own users. */
let agent: Agentd;
/** A daemon for the same bot, with the API of the shop. */
let shop: Shop;
/** The daemon to which events are delivered. */
let daemon: Agentd;
let ada: string;
let bob: string;
let tests = 0;

beforeAll(async () => {
  platform = await FakePlatform.start(msgbot);
  dictation = await Dictation.start();
  agent = await startAgentd({ env: { ...platform.env, ...dictation.env } });
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
  await agent.stop('SIGKILL');
  await shop.stop();
  await platform.close();
  await dictation.close();
});

/** Starts a daemon for one test. The test dictates the replies of its agent. */
async function start(env: Record<string, string> = {}, options: StartOptions = {}): Promise<Agentd> {
  const started = await startAgentd({ ...options, env: { ...platform.env, ...dictation.env, ...env } });
  onTestFinished(() => started.stop('SIGKILL').then(() => {}));
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

  it('is answered in parts, in order, if the answer is long', async () => {
    const words = Array.from({ length: 2500 }, (_, n) => `word${n}`);
    answersOf('tell me all', words.join(' '));
    await deliver({ text: 'tell me all' });
    await platform.until(() => platform.textsTo(ada).join(' ').includes('word2499'));
    expect(platform.textsTo(ada).length).toBeGreaterThan(3);
    for (const text of platform.textsTo(ada)) expect(text.length).toBeLessThanOrEqual(4096);
    expect(platform.textsTo(ada).join(' ').split(/\s+/)).toEqual(words);
  });

  it('is answered with its edited text, if the edit arrives before the turn of the message begins', async () => {
    await deliver({ text: 'wait', number: 1 });
    await dictation.begun('wait');
    await deliver({ text: 'secnd', number: 2 });
    await deliver({ kind: 'edit', text: 'too late', number: 1 });
    await deliver({ kind: 'edit', text: 'second', number: 2 });
    answersOf('wait', 'First.');
    answersOf('second', 'Second.');
    await platform.until(() => platform.textsTo(ada).length === 2);
    expect(platform.textsTo(ada)).toEqual(['First.', 'Second.']);
    expect(dictation.runs).toEqual(['wait', 'second']);
  });

  it('gets an answer in which mentions notify nobody', async () => {
    answersOf('call all', `@everyone @ada_l, [Bob](tg://user?id=${bob}) and @all`);
    await deliver({ text: 'call all' });
    await platform.until(() => platform.textsTo(ada).length === 1);
    expect(platform.textsTo(ada)[0]).not.toMatch(/@\w|<a /);
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

  it('messages that are not for the bot are acknowledged, and ignored', async () => {
    answersOf('hello', 'Hello.');
    const chat = { id: Number(GROUP), type: 'supergroup', title: 'x' };
    const from = { id: Number(bob), is_bot: false, first_name: 'Bob' };
    const said = (message_id: number, members: object) =>
      post({ update_id: message_id, message: { message_id, chat, from, date: 1_795_290_000, ...members } });
    const mention = [{ type: 'mention', offset: 0, length: 11 }];
    const text = '@agentd_bot hi';
    expect((await said(1, { text: 'hello everybody' })).status).toBe(200);
    expect((await said(2, { text, entities: mention, from: { ...from, is_bot: true } })).status).toBe(200);
    expect((await said(3, { text: '/help@other_bot' })).status).toBe(200);
    expect((await said(4, { text, entities: mention, sender_chat: chat })).status).toBe(200);
    expect((await post({ update_id: 5, channel_post: { message_id: 5, chat, text } })).status).toBe(200);
    expect((await post({ update_id: 6 })).status).toBe(200);
    await deliver({ text: 'hello' });
    await platform.until(() => platform.textsTo(ada).length === 1);
    expect(dictation.runs).toEqual(['hello']);
    expect(platform.textsTo(GROUP)).toEqual([]);
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

  it('gets a different status than a delivery that has the secret but is malformed (400 or 415)', async () => {
    const broken = await platform.post(daemon, {
      ...platform.simulator.delivery(platform.event(), platform.settings),
      body: '{"update_id":',
    });
    expect([broken.status, JSON.parse(broken.text).code]).toEqual([400, 'malformed_json']);
    const typed = await post({ update_id: 1 }, { 'Content-Type': 'text/plain' });
    expect(typed.status).toBe(415);
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

  it('gets fewer notices than there are messages if many arrive', async () => {
    for (let number = 1; number <= 12; number++) await deliver({ kind: 'other', number });
    answersOf('hello', 'Hello.');
    await deliver({ text: 'hello', number: 13 });
    await platform.until(() => platform.textsTo(ada).includes('Hello.'));
    expect(platform.textsTo(ada).length).toBeLessThan(12);
  });
});

describe('the greeting', () => {
  it('is sent once for each command, without a run of the agent', async () => {
    await deliver({ kind: 'command', text: '/start', number: 1 });
    await deliver({ kind: 'command', text: '/start', number: 1 });
    await deliver({ kind: 'command', text: '/help', number: 2 });
    await deliver({ kind: 'command', text: '/help', place: 'group', number: 3 });
    await platform.until(() => platform.textsTo(ada).length === 2 && platform.textsTo(GROUP).length === 1);
    expect(platform.textsTo(ada)[0]).toContain('<code>/service_auth TOKEN</code>');
    expect(platform.textsTo(GROUP)[0]).not.toContain('service_auth');
    expect(dictation.runs).toEqual([]);
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

  it('the reply continues with the part that was not accepted', async () => {
    platform.answer = (call) =>
      methodOf(call) === 'sendMessage' && sends().length === 2 ? { status: 502, body: '<html>' } : null;
    answersOf('tell me', `${'one '.repeat(1000)}\n\n${'two '.repeat(1000)}`);
    await deliver({ text: 'tell me' });
    await platform.until(() => platform.textsTo(ada).length === 2);
    expect(platform.textsTo(ada).map((text) => text.slice(0, 3))).toEqual(['one', 'two']);
    expect(sends()).toHaveLength(3);
  });

  it('the reply is not sent again after a final refusal, and the next reply is sent', async () => {
    platform.answer = (call) =>
      methodOf(call) === 'sendMessage' && call.body.includes('No.')
        ? {
            status: 403,
            body: { ok: false, error_code: 403, description: 'Forbidden: bot was blocked by the user' },
          }
        : null;
    const to = daemon;
    answersOf('one', 'No.');
    answersOf('two', 'Yes.');
    await deliver({ text: 'one' });
    await deliver({ text: 'two' });
    await platform.until(() => platform.textsTo(ada).length === 1);
    expect(platform.textsTo(ada)).toEqual(['Yes.']);
    expect(sends()).toHaveLength(2);
    expect(to.log().find(({ failure }) => failure !== undefined)).toMatchObject({
      failure: 'delivery_refused: Forbidden: bot was blocked by the user (403)',
    });
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

  it('the daemon answers 503 to messages that may be for the bot until it knows the name of the bot', async () => {
    let isAway = true;
    platform.answer = (call) => (methodOf(call) === 'getMe' && isAway ? { status: 502 } : null);
    const { url } = await start();
    const health = async () => {
      const { adapters } = (await (await fetch(url)).json()) as { adapters: Record<string, object> };
      return adapters.msgbot;
    };
    answersOf('hello', 'Hello.');
    const early = await deliver({ place: 'group', text: 'hello', number: 1 });
    expect([early.status, JSON.parse(early.text).code]).toEqual([503, 'unavailable']);
    expect(Number(early.headers.get('Retry-After'))).toBeGreaterThan(0);
    expect(await health()).toMatchObject({
      status: 'degraded',
      detail: expect.stringContaining('name of the bot'),
    });
    expect((await deliver({ kind: 'status' })).status).toBe(200);
    isAway = false;
    await daemon.logged(({ username }) => username === 'agentd_bot');
    expect((await deliver({ place: 'group', text: 'hello', number: 1 })).status).toBe(200);
    await platform.until(() => platform.textsTo(GROUP).length === 1);
    expect(await health()).toEqual({ status: 'ok' });
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
      `✅ You are signed in here as <code>ada@example.com</code>, until ${until.toISOString().slice(0, 16).replace('T', ' ')} (UTC).`,
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

  it('answers a repeated delivery once', async () => {
    const secret = await adasToken();
    for (let n = 0; n < 3; n++) expect((await command(secret, { number: 1 })).status).toBe(200);
    await who({ number: 2 });
    await platform.until(() => platform.textsTo(ada).some((text) => text.includes('Ada Lovelace')));
    expect(platform.textsTo(ada)).toHaveLength(2);
    expect(deletions()).toHaveLength(1);
  });

  it('does nothing for a repeated delivery, whatever commands followed it, even after a restart', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'agentd-msgbot-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const startHere = async () => {
      const started = await startShop({ directory, env: platform.env });
      onTestFinished(() => started.stop());
      daemon = started.daemon;
      return started;
    };
    let here = await startHere();
    const secret = await adasToken();
    const linked = async () => JSON.parse((await here.run('link', 'list', '--json')).stdout) as object[];
    const signIn = () => command(secret, { number: 1 });
    const signOut = () => command('off', { number: 2 });
    await signIn();
    await signOut();
    expect((await signIn()).status).toBe(200);
    expect(await linked()).toEqual([]);
    await command(secret, { number: 3 });
    await here.daemon.stop();
    here = await startHere();
    for (const repeated of [signOut, signIn, signOut]) expect((await repeated()).status).toBe(200);
    expect(await linked()).toMatchObject([{ user_id: ada, email: 'ada@example.com' }]);
    await who({ number: 4 });
    await platform.until(() => platform.textsTo(ada).some((text) => text.includes('Ada Lovelace')));
    // Each of the three commands was answered once.
    expect(platform.textsTo(ada)).toHaveLength(4);
    expect(daemon.log().filter(({ msg }) => String(msg).includes('DUPLICATE'))).toHaveLength(3);
  });

  it('says why a token is invalid, and deletes the message with the token all the same', async () => {
    await command(await adasToken(-60), { number: 1 });
    await command('not-a-token', { number: 2 });
    await command('', { number: 3 });
    const all = (await texts(3)).toSorted();
    expect(all[2]).toContain('❌ Not signed in: Token Expired.');
    expect(all[1]).toContain('❌ Not signed in: JWT Malformed.');
    expect(all[0]).toContain('Send the command with the token');
    expect(
      deletions()
        .map(({ message_id }) => message_id)
        .toSorted(),
    ).toEqual([1, 2]);
    await who({ number: 4 });
    await texts(4);
    expect(shop.lookedUpAs()).toEqual([]);
  });

  it('is refused in a group; the bot does not quote the token, and deletes the message if it may', async () => {
    platform.answer = (call) =>
      methodOf(call) === 'deleteMessage' && call.body.includes(':2}')
        ? { status: 200, body: { ok: true, result: true } }
        : null;
    await command(await adasToken(), { place: 'group', number: 1 });
    const [kept] = await texts(1, GROUP);
    expect(kept).toBe(
      'This command works only in a private chat with me.\n\nPlease delete your message yourself: I am not allowed to delete it.',
    );
    await command(await adasToken(-60), { place: 'group', number: 2 });
    expect((await texts(2, GROUP))[1]).toBe('This command works only in a private chat with me.');
    await command('off', { place: 'group', number: 3 });
    await texts(3, GROUP);
    expect(deletions().map(({ message_id }) => message_id)).toEqual([1, 2]);
    expect(platform.textsTo(ada)).toEqual([]);
    await who({ number: 4 });
    await texts(1);
    expect(shop.lookedUpAs()).toEqual([]);
  });

  it('lets the bot act for each linked member of a group, and use default credentials for other members', async () => {
    await command(await adasToken(), { user: ada, number: 11 });
    await texts(1);
    const ask = (user: string, number: number) => who({ user, place: 'group', thread: 'shop', number });
    await ask(ada, 12);
    await ask(bob, 13);
    await ask(ada, 14);
    const [first, second, third] = await texts(3, GROUP);
    expect(first).toContain('Ada Lovelace');
    expect(second).not.toContain('Ada');
    expect(third).toContain('Ada Lovelace');
    expect(shop.lookedUpAs()).toEqual(['user-ada', 'user-ada']);
  });

  it('expires with the token: the agent continues with default credentials', async () => {
    const brief = await adasToken(2);
    await command(brief, { number: 1 });
    await texts(1);
    await lapsed(brief);
    await who({ number: 2 });
    expect((await texts(2))[1]).not.toContain('Ada Lovelace');
    expect(shop.lookedUpAs()).not.toContain('user-ada');
    expect(daemon.log().some(({ msg }) => /expired/i.test(String(msg)))).toBe(true);
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

describe('while the store cannot be written', () => {
  it('messages and sign-ins get 503, and are accepted when they are delivered again', async () => {
    answersOf('hello', 'Hello.');
    const other = new Database(join(agent.directory, 'state/agentd.db'));
    onTestFinished(() => void other.close());
    other.exec('BEGIN IMMEDIATE');
    const signIn = { kind: 'command', text: `/service_auth ${await token()}`, number: 1 } as const;
    const said = { text: 'hello', number: 2 } as const;
    for (const event of [signIn, said]) {
      const { status, text, headers } = await deliver(event);
      expect([status, JSON.parse(text).code]).toEqual([503, 'unavailable']);
      expect(Number(headers.get('Retry-After'))).toBeGreaterThan(0);
    }
    other.exec('ROLLBACK');
    for (const event of [signIn, said]) expect((await deliver(event)).status).toBe(200);
    await platform.until(() => platform.textsTo(ada).length === 2);
    expect(platform.textsTo(ada).toSorted()).toEqual([
      'Hello.',
      expect.stringMatching(/^✅ You are signed in/),
    ]);
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
