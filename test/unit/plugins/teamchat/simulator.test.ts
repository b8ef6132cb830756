import { once } from 'node:events';
import type { Server } from 'node:http';
import { App, HTTPReceiver, LogLevel } from '@slack/bolt';
import { WebClient } from '@slack/web-api';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import teamchat from '../../../../plugins/teamchat/index.ts';
import { signRequest } from '../../../../plugins/teamchat/verify.ts';
import type { SimulatedEvent } from '../../../../src/channel/index.ts';
import { Secret } from '../../../../src/daemon/settings/secret.ts';
import { sample } from '../../../fixtures/teamchat/sample.ts';
import { FakePlatform } from '../../../support/fake-platform.ts';

let platform: FakePlatform;

beforeEach(async () => {
  platform = await FakePlatform.start(teamchat);
});

describe('the client library of the platform', () => {
  const client = (token = String(platform.env.TEAMCHAT_BOT_TOKEN)) =>
    new WebClient(token, {
      slackApiUrl: platform.url,
      retryConfig: { retries: 0 },
      logLevel: LogLevel.ERROR,
    });
  const code = (error: string) => ({ code: 'slack_webapi_platform_error', data: { ok: false, error } });

  it('learns from the simulator which user the bot is', async () => {
    expect(await client().auth.test()).toMatchObject({
      ok: true,
      user_id: 'U0AGENTD',
      team_id: 'T0SIMULATE',
    });
  });

  it('posts messages, which the simulator shows to people', async () => {
    const answer = await client().chat.postMessage({ channel: 'C0LOUNGE', text: '*hi*', thread_ts: '1.2' });
    expect(answer).toMatchObject({
      ok: true,
      channel: 'C0LOUNGE',
      message: { text: '*hi*', thread_ts: '1.2' },
    });
    expect(answer.ts).toMatch(/^\d{10}\.\d{6}$/);
    const status = { channel_id: 'C0LOUNGE', thread_ts: '1.2' };
    await client().assistant.threads.setStatus({ ...status, status: 'is thinking…' });
    await client().assistant.threads.setStatus({ ...status, status: '' });
    expect(platform.shown).toEqual([
      { what: 'message', to: 'C0LOUNGE', thread: '1.2', text: '*hi*' },
      { what: 'typing', to: 'C0LOUNGE', thread: '1.2', text: 'is thinking…' },
    ]);
  });

  it('cannot post to a thread whose time has no fraction, which the platform never writes', async () => {
    const posted = client().chat.postMessage({ channel: 'C0LOUNGE', text: 'hi', thread_ts: '1663966382' });
    await expect(posted).rejects.toMatchObject(code('invalid_thread_ts'));
  });

  it('learns from the simulator that a text was truncated', async () => {
    const { message, response_metadata } = await client().chat.postMessage({
      channel: 'D0ADA',
      text: 'x'.repeat(40_001),
    });
    expect(message?.text).toHaveLength(40_000);
    expect(response_metadata?.warnings).toEqual(['message_truncated']);
  });

  it('gets the errors of the platform from the simulator', async () => {
    await expect(client('xoxb-other').auth.test()).rejects.toMatchObject(code('invalid_auth'));
    await expect(client('').auth.test()).rejects.toMatchObject(code('not_authed'));
    const { chat, assistant } = client();
    await expect(chat.postMessage({ channel: '#lounge', text: 'x' })).rejects.toMatchObject(
      code('channel_not_found'),
    );
    await expect(chat.postMessage({ channel: 'C0LOUNGE', text: '' })).rejects.toMatchObject(code('no_text'));
    await expect(chat.postMessage({ channel: 'C0LOUNGE', text: 'x', thread_ts: 'y' })).rejects.toMatchObject(
      code('invalid_thread_ts'),
    );
    await expect(
      assistant.threads.setStatus({ channel_id: 'C0LOUNGE', thread_ts: '', status: 'x' }),
    ).rejects.toMatchObject(code('invalid_thread_ts'));
    for (const method of ['chat.nonsense', 'constructor', '__proto__', 'toString'])
      await expect(client().apiCall(method)).rejects.toMatchObject(code('unknown_method'));
    expect(platform.shown).toEqual([]);
  });

  it('can send JSON to the simulator', async () => {
    const headers = {
      'Content-Type': 'application/json; charset=utf-8',
      Authorization: `Bearer ${platform.env.TEAMCHAT_BOT_TOKEN}`,
    };
    const post = async (body: string) =>
      (await fetch(`${platform.url}/chat.postMessage`, { method: 'POST', headers, body })).json();
    expect(await post('{"channel":"C0LOUNGE","text":"hi"}')).toMatchObject({ ok: true });
    expect(await post('{')).toMatchObject({ ok: false, error: 'invalid_json' });
  });
});

describe('the server library of the platform', () => {
  let receiver: HTTPReceiver;
  let url: string;
  /** The deliveries that the handlers of the app received. */
  let heard: { what: string; body: Record<string, unknown>; text: string | undefined }[];

  beforeEach(async () => {
    heard = [];
    receiver = new HTTPReceiver({
      signingSecret: String(platform.env.TEAMCHAT_SIGNING_SECRET),
      endpoints: ['/webhook/teamchat/events', '/webhook/teamchat/commands'],
      processBeforeResponse: true,
      logLevel: LogLevel.ERROR,
    });
    const app = new App({
      receiver,
      logLevel: LogLevel.ERROR,
      ignoreSelf: false,
      clientOptions: { slackApiUrl: platform.url },
      authorize: async () => ({
        botToken: String(platform.env.TEAMCHAT_BOT_TOKEN),
        botId: 'B0AGENTD',
        botUserId: 'U0AGENTD',
        teamId: 'T0SIMULATE',
      }),
    });
    app.event('app_mention', async ({ event, body }) => {
      heard.push({ what: 'app_mention', body: { ...body }, text: event.text });
    });
    app.message(async ({ message, body }) => {
      heard.push({
        what: `message ${message.subtype ?? ''}`.trim(),
        body: { ...body },
        text: 'text' in message ? message.text : undefined,
      });
    });
    app.command('/service-auth', async ({ command, ack }) => {
      heard.push({ what: 'command', body: { ...command }, text: command.text });
      await ack({ response_type: 'ephemeral', text: 'done' });
    });
    const server = (await receiver.start(0)) as Server;
    if (!server.listening) await once(server, 'listening');
    const address = server.address();
    url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
  });
  afterEach(async () => void (await receiver.stop()));

  const deliver = (event: Partial<SimulatedEvent>) => platform.deliver({ url }, event);

  it('verifies and reads every kind of simulated delivery', async () => {
    const answers = [
      await deliver({ text: 'a < b & "ö" 😀 / c' }),
      await deliver({ place: 'group', text: 'hello', thread: 'x' }),
      await deliver({ kind: 'edit', text: 'better' }),
      await deliver({ kind: 'other' }),
      await deliver({ kind: 'status', text: 'what the bot said' }),
      await deliver({ kind: 'command', text: '/service-auth a.b.c ', place: 'group' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(heard.map(({ what, text }) => [what, text])).toEqual([
      ['message', 'a &lt; b &amp; "ö" 😀 / c'],
      ['app_mention', '<@U0AGENTD> hello'],
      ['message message_changed', undefined],
      ['message file_share', ''],
      ['message', 'what the bot said'],
      ['command', 'a.b.c'],
    ]);
    expect(JSON.parse(answers[5]?.text ?? '')).toEqual({ response_type: 'ephemeral', text: 'done' });
    for (const { body } of heard.slice(0, 5))
      expect(body).toMatchObject({ team_id: 'T0SIMULATE', type: 'event_callback' });
  });

  it('refuses a request that is signed with a different secret', async () => {
    expect((await deliver({ bad_signature: true })).status).toBe(401);
    expect((await deliver({ bad_signature: true, kind: 'command', text: '/service-auth x' })).status).toBe(
      401,
    );
    expect(heard).toEqual([]);
  });

  it('answers the challenge in the same way as our channel', async () => {
    const body = JSON.stringify(sample('url-verification'));
    const timestamp = String(Math.floor(Date.now() / 1000));
    const answer = await platform.post(
      { url },
      {
        method: 'POST',
        path: '/webhook/teamchat/events',
        headers: {
          'Content-Type': 'application/json',
          'X-Slack-Request-Timestamp': timestamp,
          'X-Slack-Signature': signRequest(String(platform.env.TEAMCHAT_SIGNING_SECRET), timestamp, body),
        },
        body,
      },
    );
    expect(JSON.parse(answer.text)).toEqual({ challenge: sample('url-verification').challenge });
  });
});

describe('the simulator', () => {
  const bodyOf = (event: Partial<SimulatedEvent>) =>
    JSON.parse(platform.simulator.delivery(platform.event(event), platform.settings).body) as {
      event: Record<string, unknown>;
      event_id: string;
    };

  it('gives a message the same id in each delivery, and gives each delivery a different id', () => {
    const [one, two] = [bodyOf({ number: 7 }), bodyOf({ number: 7, sent_at: Date.now() + 60_000 })];
    expect(two.event.ts).toBe(one.event.ts);
    expect(two.event_id).not.toBe(one.event_id);
    expect(bodyOf({ number: 8 }).event.ts).not.toBe(one.event.ts);
    const edit = bodyOf({ number: 7, kind: 'edit' }).event.message as { ts: string };
    expect(edit.ts).toBe(one.event.ts);
  });

  it('gives the same thread to equal thread names', () => {
    const root = (thread: string) => bodyOf({ place: 'group', thread }).event.thread_ts;
    expect(root('a')).toBe(root('a'));
    expect(root('a')).not.toBe(root('b'));
    expect(root('a')).toMatch(/^\d{10}\.\d{6}$/);
  });

  it('writes JSON as the platform does', () => {
    const { body } = platform.simulator.delivery(platform.event({ text: 'ö/' }), platform.settings);
    expect(body).toContain('\\u00f6\\/');
    expect(body).toMatch(/^[\x20-\x7e]*$/);
  });

  it('returns the places where an answer is shown', () => {
    const places = (event: Partial<SimulatedEvent>) =>
      platform.simulator.seenIn(platform.event(event), platform.settings);
    expect(places({ user: 'U0ADA' })).toEqual(['D0ADA', 'U0ADA']);
    expect(places({ user: 'U0ADA', place: 'group' })).toEqual(['C0LOUNGE', 'U0ADA']);
    const { shownOf } = platform.simulator;
    expect(shownOf?.({ status: 200, body: '{"response_type":"ephemeral","text":"✅"}' })).toEqual([
      { what: 'private', to: 'you', text: '✅' },
    ]);
    expect(shownOf?.({ status: 200, body: '' })).toEqual([]);
    expect(shownOf?.({ status: 401, body: '{}' })).toEqual([]);
    expect(shownOf?.({ status: 200, body: '{"challenge":"x"}' })).toEqual([]);
  });

  it('generates settings that enable the channel', () => {
    const settings = platform.simulator.devSettings((name) => `secret-of-${name}`, 'http://127.0.0.1:1');
    expect(settings).toEqual({
      TEAMCHAT_BOT_TOKEN: 'xoxb-secret-of-bot-token',
      TEAMCHAT_SIGNING_SECRET: 'secret-of-signing-secret',
      TEAMCHAT_API_URL: 'http://127.0.0.1:1',
    });
    const given = { TEAMCHAT_BOT_TOKEN: new Secret('x'), TEAMCHAT_SIGNING_SECRET: new Secret('y') };
    expect(teamchat.detect(given)).toBe(true);
    expect(teamchat.detect({ TEAMCHAT_BOT_TOKEN: new Secret('x') })).toBe(false);
    expect(teamchat.detect({ TEAMCHAT_SIGNING_SECRET: new Secret('y') })).toBe(false);
  });
});
