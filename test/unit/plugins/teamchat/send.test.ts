import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import teamchat from '../../../../plugins/teamchat/index.ts';
import type { Channel, OutgoingReply, PushChannel } from '../../../../src/channel/index.ts';
import { type RecordingScope, recordingScope } from '../../../support/channel-scope.ts';
import { FakePlatform, type PlatformCall } from '../../../support/fake-platform.ts';
import { listenOnFreePort } from '../../../support/free-ports.ts';

let platform: FakePlatform;
let scope: RecordingScope;
let channel: Channel;

beforeEach(async () => {
  platform = await FakePlatform.start(teamchat);
  scope = recordingScope(platform.settings);
  channel = teamchat.create(scope);
});

afterEach(() => channel.stop?.());

function reply(text: string, members: Partial<OutgoingReply> = {}): OutgoingReply {
  return {
    id: 'reply-1',
    session_id: 's',
    text,
    reply_to: { channel: 'C0LOUNGE', thread_ts: '1.2' },
    ...members,
  };
}

const send = async (one: OutgoingReply) => channel.send?.(one);
const posts = () => platform.calls.filter(({ path }) => path === '/chat.postMessage');
const formOf = ({ body }: PlatformCall) => Object.fromEntries(new URLSearchParams(body));
const long = (parts: number) =>
  Array.from({ length: parts }, (_, part) => `Part ${part}. ${'word '.repeat(750)}`).join('\n\n');

describe('a private message', () => {
  it('is in the session of the direct messages, which the answer of the platform names, or else of the user', async () => {
    const push = channel as PushChannel;
    const session = (user = 'U0ADA') => push.privateSession?.(user, 'teamchat:T0TEAM:C0LOUNGE:1.2');
    expect(session()).toEqual({ thread_id: 'teamchat:T0TEAM:U0ADA', channel_id: 'U0ADA' });
    expect(session('T0OTHER:U0ADA')).toBeNull();
    await send(reply('Hello', { reply_to: push.privateChat?.('U0ADA') ?? {} }));
    expect(session()).toEqual({ thread_id: 'teamchat:T0TEAM:D0ADA', channel_id: 'D0ADA' });
    // The ids of users of other workspaces cannot be written to.
    expect(push.privateChat?.('T0OTHER:U0ADA')).toBeNull();
  });

  it('can be begun on the profile of the bot, once the platform has named it', async () => {
    expect((channel as PushChannel).chatUrl?.()).toBeNull();
    await channel.start?.();
    await expect
      .poll(() => (channel as PushChannel).chatUrl?.())
      .toMatch(/^https:\/\/simulate\.slack\.com\/team\/U\w+$/);
  });
});

describe('a reply', () => {
  it('is sent to its thread in the markup of the platform, without link previews', async () => {
    await send(reply('**Hello** [there](https://example.com)'));
    expect(platform.calls).toHaveLength(1);
    expect(platform.calls[0]).toMatchObject({
      method: 'POST',
      path: '/chat.postMessage',
      headers: {
        authorization: `Bearer ${platform.env.TEAMCHAT_BOT_TOKEN}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
    });
    expect(scope.sent).toEqual([expect.stringMatching(/^C0LOUNGE:\d+\.\d+$/)]);
    expect(formOf(posts()[0] as PlatformCall)).toEqual({
      channel: 'C0LOUNGE',
      thread_ts: '1.2',
      text: '*Hello* <https://example.com|there>',
      mrkdwn: 'true',
      parse: 'none',
      link_names: 'false',
      unfurl_links: 'false',
      unfurl_media: 'false',
      client_msg_id: expect.stringMatching(
        /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/,
      ),
    });
    expect(channel.health?.()).toEqual({ status: 'ok' });
  });

  it('in a direct message is not in a thread', async () => {
    await send(reply('Hello', { reply_to: { channel: 'D0ADA' } }));
    expect(formOf(posts()[0] as PlatformCall)).not.toHaveProperty('thread_ts');
  });

  it.each([
    '<!channel>',
    '<!here>',
    '<!everyone>',
    '<!subteam^S1>',
    '<@U1>',
    '@channel',
    '@here',
    '@everyone',
  ])('notifies nobody, even with the text %s', async (mention) => {
    await send(reply(`Hear ${mention} now, and **${mention}** and \`${mention}\``));
    const text = platform.shown[0]?.text ?? '';
    expect(text).not.toMatch(/<[!@]/);
    // Text that is shown as code mentions nobody.
    expect(text.replace(/`[^`]*`/g, '')).not.toMatch(/@(?:channel|here|everyone)/);
    expect(text).toMatch(/^Hear .+ now, and/);
  });

  it('that is long is sent as several messages in order, and their ids stay the same when it is sent again', async () => {
    await send(reply(long(3)));
    const first = posts().map(formOf);
    expect(first.length).toBeGreaterThanOrEqual(3);
    for (const { text } of first) expect(text?.length).toBeLessThanOrEqual(4000);
    expect(first.map(({ text }) => /Part (\d)/.exec(text ?? '')?.[1]).filter(Boolean)).toEqual([
      '0',
      '1',
      '2',
    ]);
    expect(new Set(first.map(({ client_msg_id }) => client_msg_id)).size).toBe(first.length);

    const elsewhere = teamchat.create(recordingScope(platform.settings));
    await elsewhere.send?.(reply(long(3)));
    expect(posts().slice(first.length).map(formOf)).toEqual(first);
  });

  it('continues with the failed part when it is sent again', async () => {
    let calls = 0;
    platform.answer = () => (++calls === 2 ? { status: 503 } : null);
    await expect(send(reply(long(3)))).rejects.toMatchObject({ final: false, message: 'status 503' });
    await send(reply(long(3)));
    const shown = platform.textsTo('C0LOUNGE').map((text) => /Part (\d)/.exec(text)?.[1]);
    expect(shown).toEqual(['0', '1', '2']);
    await send(reply(long(3)));
    expect(platform.shown).toHaveLength(3);
    await send(reply(long(3), { id: 'reply-2' }));
    expect(platform.shown).toHaveLength(6);
  });

  it('that is still being sent is not sent a second time', async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    platform.answer = () => ({ after: answered });
    const both = Promise.all([send(reply('once')), send(reply('once'))]);
    await platform.until(() => posts().length === 1);
    answer();
    await both;
    expect(platform.textsTo('C0LOUNGE')).toEqual(['once']);
  });

  it('without a channel is refused permanently', async () => {
    await expect(send(reply('x', { reply_to: { to: 7 } }))).rejects.toMatchObject({ final: true });
    expect(platform.calls).toEqual([]);
  });
});

describe('a refusal', () => {
  it('because of a rate limit says how long to wait, and the channel itself does not wait', async () => {
    platform.answer = () => ({ status: 429, headers: { 'Retry-After': '30' }, body: { ok: false } });
    await expect(send(reply('x'))).rejects.toMatchObject({
      final: false,
      retry_after_seconds: 30,
      message: 'ratelimited',
    });
    platform.answer = () => ({ status: 429, body: {} });
    await expect(send(reply('x'))).rejects.toMatchObject({ final: false, retry_after_seconds: 0 });
    platform.answer = () => ({
      status: 200,
      headers: { 'Retry-After': '5' },
      body: { ok: false, error: 'ratelimited' },
    });
    await expect(send(reply('x'))).rejects.toMatchObject({ final: false, retry_after_seconds: 5 });
    expect(platform.calls).toHaveLength(3);
  });

  it.each([429, 503])('with the status %i may give the end of the wait as a date', async (status) => {
    const later = new Date(Date.now() + 30_000).toUTCString();
    platform.answer = () => ({ status, headers: { 'Retry-After': later }, body: {} });
    const failure = await send(reply('x')).catch((error: unknown) => error);
    expect(failure).toMatchObject({ final: false, retry_after_seconds: expect.any(Number) });
    const { retry_after_seconds } = failure as { retry_after_seconds: number };
    expect(retry_after_seconds).toBeGreaterThan(25);
    expect(retry_after_seconds).toBeLessThanOrEqual(30);
  });

  it.each([
    ['is_archived', true, null],
    ['channel_not_found', true, null],
    ['invalid_auth', false, 'credentials'],
    ['internal_error', false, 'unreachable'],
    ['fatal_error', false, 'unreachable'],
  ])('with the error %s: final %s, platform %s', async (error, final, of) => {
    platform.answer = () => ({ status: 200, body: { ok: false, error } });
    await expect(send(reply('x'))).rejects.toMatchObject({ message: error, final, platform: of });
  });

  it.each([
    ['a word of a proxy', { status: 200, body: 'maintenance' }],
    ['a page of a proxy', { status: 200, body: '<html>Sign in</html>' }],
    ['an empty answer', { status: 200, body: '' }],
    ['JSON but not an object', { status: 200, body: '[1]' }],
    ['too long', { status: 200, body: `{"ok":true,"x":"${'x'.repeat(1_100_000)}"}` }],
    ['a redirect', { status: 302, headers: { Location: 'http://127.0.0.1:1/' } }],
    ['an error of a proxy', { status: 502, body: 'bad gateway' }],
  ])('that cannot be read because it is %s causes another attempt', async (_what, answer) => {
    platform.answer = () => answer;
    await expect(send(reply('x'))).rejects.toMatchObject({ name: 'DeliveryFailed', final: false });
    expect(platform.calls).toHaveLength(1);
  });

  it('never reveals the token or the text of the reply', async () => {
    const token = String(platform.env.TEAMCHAT_BOT_TOKEN);
    const errors: unknown[] = [];
    for (const answer of [
      { status: 200, body: { ok: false, error: `bad ${token}` } },
      { status: 401, body: token },
      { status: 500, body: { token } },
      { status: 200, body: token },
    ]) {
      platform.answer = () => answer;
      errors.push(await send(reply('a private word')).catch((error: unknown) => error));
    }
    const told = JSON.stringify([scope.logged, channel.health?.(), errors.map(String)]);
    expect(told).not.toContain(token.slice(5));
    expect(told).not.toContain('a private word');
  });

  it('because the platform is unreachable causes another attempt', async () => {
    const nowhere = createServer();
    const url = `http://127.0.0.1:${await listenOnFreePort(nowhere)}`;
    nowhere.close();
    await once(nowhere, 'close');
    const alone = teamchat.create(recordingScope({ ...platform.settings, TEAMCHAT_API_URL: url }));
    await expect(alone.send?.(reply('x'))).rejects.toMatchObject({
      final: false,
      message: 'no answer (ECONNREFUSED)',
    });
  });

  it('with a redirect is not followed, so that only the platform gets the token', async () => {
    const seen: string[] = [];
    const other = createServer((request, response) => {
      seen.push(String(request.headers.authorization));
      response.end('{"ok":true}');
    }).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const Location = `http://127.0.0.1:${(other.address() as AddressInfo).port}/chat.postMessage`;
    for (const status of [301, 302, 303, 307, 308]) {
      platform.answer = () => ({ status, headers: { Location } });
      await expect(send(reply('x'))).rejects.toMatchObject({ final: false });
    }
    expect(seen).toEqual([]);
    other.close();
  });
});

describe('the health of the channel', () => {
  it('is degraded while the platform refuses replies because of what the app may do', async () => {
    platform.answer = () => ({ status: 200, body: { ok: false, error: 'missing_scope' } });
    await expect(send(reply('x'))).rejects.toThrow();
    const degraded = { status: 'degraded', detail: 'the platform refuses the credentials: missing_scope' };
    expect(channel.health?.()).toEqual(degraded);
    platform.answer = () => ({ status: 503 });
    await expect(send(reply('x'))).rejects.toThrow();
    expect(channel.health?.()).toEqual(degraded);
    platform.answer = () => null;
    await send(reply('x'));
    expect(channel.health?.()).toEqual({ status: 'ok' });
  });

  it('is not affected if the platform refuses a single reply', async () => {
    platform.answer = () => ({ status: 200, body: { ok: false, error: 'is_archived' } });
    await expect(send(reply('x'))).rejects.toThrow();
    expect(channel.health?.()).toEqual({ status: 'ok' });
  });
});

describe('the start of the channel', () => {
  it('requests the identity of the bot, but does not wait for it', async () => {
    platform.answer = () => 'hang';
    await channel.start?.();
    await platform.until(() => platform.calls.length === 1);
    expect(platform.calls[0]?.path).toBe('/auth.test');
    await channel.stop?.();
  });

  it('does not log a warning if the platform is simulated and down', async () => {
    platform.answer = () => ({ status: 503 });
    const dev = teamchat.create({ ...scope, simulated: true });
    await dev.start?.();
    await expect.poll(() => scope.logged.map(({ level }) => level)).toEqual(['debug']);
    await dev.stop?.();
  });

  it('logs an error if the platform refuses the credentials', async () => {
    platform.answer = () => ({ status: 200, body: { ok: false, error: 'invalid_auth' } });
    await channel.start?.();
    await expect.poll(() => scope.logged.map(({ level }) => level)).toContain('error');
  });
});

describe('the status of a thread', () => {
  const place = { channel: 'C0LOUNGE', thread_ts: '1.2' };
  const statuses = () =>
    platform.calls
      .filter(({ path }) => path === '/assistant.threads.setStatus')
      .map((call) => formOf(call).status);

  it('says that an answer is being written', async () => {
    await channel.typing?.(place);
    expect(platform.shown).toEqual([{ what: 'typing', to: 'C0LOUNGE', thread: '1.2', text: 'is thinking…' }]);
  });

  it('is not shown outside threads', async () => {
    await channel.typing?.({ channel: 'D0ADA' });
    expect(platform.calls).toEqual([]);
  });

  it('is removed again if it arrives after the answer', async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    platform.answer = ({ path }) => (path.endsWith('setStatus') ? { after: answered } : null);
    const showing = channel.typing?.(place);
    await platform.until(() => statuses().length === 1);
    await send(reply('the answer'));
    answer();
    await showing;
    await platform.until(() => statuses().length === 2);
    expect(statuses()).toEqual(['is thinking…', '']);
  });

  it('is not requested again if the permission is missing, and its failure does not degrade the channel', async () => {
    platform.answer = () => ({ status: 500 });
    await channel.typing?.(place);
    platform.answer = () => ({ status: 200, body: { ok: false, error: 'missing_scope' } });
    await channel.typing?.(place);
    await channel.typing?.(place);
    expect(statuses()).toHaveLength(2);
    expect(channel.health?.()).toEqual({ status: 'ok' });
    expect(scope.logged.every(({ level }) => level === 'debug')).toBe(true);
  });
});
