import type { IncomingMessage } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import teamchat from '../../plugins/teamchat/index.ts';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { Dictation } from '../support/dictation.ts';
import { eventsIn } from '../support/event-stream.ts';
import { FakePlatform } from '../support/fake-platform.ts';
import { bodyOf, Nginx, withoutNginx } from '../support/nginx.ts';
import { token } from '../support/tokens.ts';

const JSON_BODY = { 'Content-Type': 'application/json' };
const SITE = 'https://www.example.com';

let dictation: Dictation;
let daemon: Agentd;
let platform: FakePlatform;
let nginx: Nginx;

beforeAll(async () => {
  if (withoutNginx) return;
  dictation = await Dictation.start();
  platform = await FakePlatform.start(teamchat);
  daemon = await startAgentd({
    env: {
      ...dictation.env,
      ...platform.env,
      SSE_ENABLED: 'true',
      TRUST_PROXY: '1',
      RATE_LIMIT_ANONYMOUS_MAX: '3',
      WEBCHAT_ALLOWED_ORIGINS: SITE,
    },
  });
  nginx = await Nginx.start(daemon.url);
});

async function startStream(message: string, bearer: string): Promise<{ path: string; cookie: string }> {
  const response = await nginx.ask('/sse/chat', {
    method: 'POST',
    headers: { ...JSON_BODY, Authorization: `Bearer ${bearer}`, Origin: SITE },
    body: JSON.stringify({ user_id: 'ada', message }),
  });
  const { stream_id } = JSON.parse(await bodyOf(response));
  const [cookie = ''] = response.headers['set-cookie'] ?? [];
  return { path: `/sse/stream/${stream_id}`, cookie };
}

/** Reads until the text contains this part. Rejects if the connection ends first. */
async function readUntil(response: IncomingMessage, part: string): Promise<string> {
  let text = '';
  for await (const chunk of response.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    if (text.includes(part)) return text;
  }
  throw new Error(`the stream ended without ${part}: ${text}`);
}

describe.skipIf(withoutNginx)('behind nginx with the sample configuration', () => {
  it('each piece of an answer arrives before the next piece is written', async () => {
    const { path, cookie } = await startStream('slowly', await token());
    expect(cookie).toMatch(/^jwt_token=[^;]+; Max-Age=3600; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
    const stream = await nginx.ask(path, {
      headers: { Cookie: cookie.split(';')[0] ?? '', Origin: SITE },
    });
    expect(stream.statusCode).toBe(200);
    expect(stream.headers['access-control-allow-origin']).toBe(SITE);
    expect(stream.headers['access-control-allow-credentials']).toBe('true');

    dictation.say('slowly', 'One. ');
    await readUntil(stream, 'One. ');
    dictation.say('slowly', 'Two.');
    await readUntil(stream, 'Two.');
    dictation.end('slowly');
    await readUntil(stream, 'event: stream_complete');
  });

  it('a request without TLS is redirected', async () => {
    const { status, headers } = await fetch(`${nginx.plainUrl}/chat?lang=de`, { redirect: 'manual' });
    expect([status, headers.get('location')]).toEqual([301, 'https://127.0.0.1/chat?lang=de']);
  });

  it('a reader gets the rest of an answer after its connection has broken', async () => {
    const { path } = await startStream('cut', await token());
    const cut = await nginx.ask(path);
    dictation.say('cut', 'Before. ');
    const [, seen] = eventsIn(await readUntil(cut, 'Before. '));
    cut.destroy();
    dictation.say('cut', 'After.');
    dictation.end('cut');
    const again = await nginx.ask(path, { headers: { 'Last-Event-ID': seen?.id ?? '' } });
    const texts = eventsIn(await bodyOf(again)).filter(({ event }) => event === 'text_chunk');
    expect(texts.map(({ data }) => data.text).join('')).toBe('After.');
  });

  it('an answer can be stopped', async () => {
    const { path } = await startStream('stop', await token());
    const stream = await nginx.ask(path);
    dictation.say('stop', 'So much ');
    await readUntil(stream, 'So much ');
    expect((await nginx.ask(path, { method: 'DELETE' })).statusCode).toBe(204);
    await readUntil(stream, 'event: stream_complete');
  });

  it('the rate limit counts the real address of the client, whatever address it claims to have', async () => {
    const statuses: (number | undefined)[] = [];
    for (let count = 0; count < 4; count++) {
      const { statusCode } = await nginx.ask('/webchat/message', {
        method: 'POST',
        headers: { ...JSON_BODY, 'X-Forwarded-For': `203.0.113.${count}` },
        body: '{}',
      });
      statuses.push(statusCode);
    }
    expect(statuses).toEqual([400, 400, 400, 429]);
  });

  it('a delivery to the path of earlier versions is answered, and its signature is still valid', async () => {
    const event = platform.event({ text: 'over the old path' });
    const { headers, body, path } = platform.simulator.delivery(event, platform.settings);
    expect(path).toBe('/webhook/teamchat/events');
    const deliver = (altered: string) =>
      nginx.ask('/teamchat/events', { method: 'POST', headers: { ...headers }, body: altered });
    expect((await deliver(`${body} `)).statusCode).toBe(401);
    expect((await deliver(body)).statusCode).toBe(200);
    await dictation.begun('over the old path');
    dictation.say('over the old path', 'And answered.');
    dictation.end('over the old path');
    await platform.until(() => platform.shown.some(({ text }) => text === 'And answered.'));
  });

  it('nginx passes a large delivery on, and the channel checks its signature', async () => {
    const body = `{"event":"${'x'.repeat(3_500_000)}"}`;
    const response = await nginx.ask('/webhook/teamchat/events', {
      method: 'POST',
      headers: JSON_BODY,
      body,
    });
    expect(response.statusCode).toBe(401);
  });

  it('a body that is too large is refused by agentd itself', async () => {
    const response = await nginx.ask('/sse/chat', {
      method: 'POST',
      headers: { ...JSON_BODY, Authorization: `Bearer ${await token({ sub: 'grace' })}` },
      body: JSON.stringify({ user_id: 'u', message: 'x'.repeat(300_000) }),
    });
    expect(response.statusCode).toBe(413);
    expect(JSON.parse(await bodyOf(response))).toMatchObject({ code: 'body_too_large' });
  });
});
