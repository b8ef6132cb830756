import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { command } from '../support/command.ts';
import { baseEnv } from '../support/daemon.ts';
import { ADA, Phonechat, sample } from '../support/phonechat.ts';

const BODY = sample('text');
const PATH = '/webhook/phonechat';

let here: Phonechat;

beforeAll(async () => {
  here = await Phonechat.prepare();
  await here.start();
});

afterAll(() => here.stop());

describe('the signature of a webhook', () => {
  const hex = () => here.signature(BODY).slice('sha256='.length);

  it('is refused if it is missing, even with the older header', async () => {
    const post = (headers: Record<string, string>) =>
      here.platform.post(here.daemon, {
        method: 'POST',
        path: PATH,
        headers: { 'Content-Type': 'application/json', ...headers },
        body: BODY,
      });
    expect((await post({})).status).toBe(401);
    expect((await post({ 'X-Hub-Signature': `sha1=${hex().slice(0, 40)}` })).status).toBe(401);
  });

  it('is checked before the body: nothing about an unsigned body is revealed', async () => {
    const answer = await here.post('{"entry": [', { 'X-Hub-Signature-256': 'sha256=00' });
    expect(JSON.parse(answer.text)).toMatchObject({ code: 'invalid_signature' });
  });
});

describe('a webhook of 4 MiB, larger than the platform sends after an outage', () => {
  const LARGEST = 4 * 1024 * 1024;
  /** Makes a body with one message and as many statuses as fit. */
  function large(): string {
    const { entry, ...rest } = JSON.parse(BODY.replace(/wamid\.[^"]+/, 'wamid.large')) as {
      entry: [{ changes: [{ value: { messages: object[]; statuses?: object[] } }] }];
    };
    const { value } = entry[0].changes[0];
    const statuses: object[] = [];
    value.statuses = statuses;
    const status = { id: 'wamid.x', status: 'delivered', timestamp: '1758254144', recipient_id: '1' };
    const room = LARGEST - JSON.stringify({ ...rest, entry }).length;
    for (let left = room; left > 100; left -= 100)
      statuses.push({ ...status, id: 'x'.repeat(99 - JSON.stringify({ ...status, id: '' }).length) });
    const body = JSON.stringify({ ...rest, entry });
    return body + ' '.repeat(LARGEST - body.length);
  }

  it('is accepted as a whole, but refused without a valid signature', async () => {
    const body = large();
    expect(Buffer.byteLength(body)).toBe(LARGEST);
    const before = here.platform.textsTo(ADA).length;
    for (const signature of ['', 'sha256=00', here.signature(body, 'another')]) {
      const answer = await here.post(body, { 'X-Hub-Signature-256': signature });
      expect(answer.status).toBe(401);
    }
    expect(here.platform.textsTo(ADA)).toHaveLength(before);
    expect((await here.post(body)).status).toBe(200);
    await here.texts(ADA, before + 1);
    expect((await here.post(`${body} `)).status).toBe(413);
  });
});

describe('the challenge', () => {
  const ask = (query: Record<string, string>) =>
    fetch(`${here.daemon.url}${PATH}?${new URLSearchParams(query)}`);
  const right = () => ({
    'hub.mode': 'subscribe',
    'hub.verify_token': here.env.PHONECHAT_VERIFY_TOKEN ?? '',
    'hub.challenge': '1158201444',
  });

  it('is returned as text if the verify token is right', async () => {
    const answer = await ask(right());
    expect([answer.status, answer.headers.get('Content-Type'), await answer.text()]).toEqual([
      200,
      'text/plain; charset=utf-8',
      '1158201444',
    ]);
    expect(answer.headers.get('X-Content-Type-Options')).toBe('nosniff');
  });
});

describe('the settings', () => {
  const check = (env: Record<string, string>) =>
    command(['config', 'check'], { env: { ...baseEnv(here.directory), ...env } });

  it('turn the channel on if all are set, and are reported as missing if only some are', async () => {
    expect((await check(here.platform.env)).stdout).toContain('phonechat');
    const { PHONECHAT_APP_SECRET: _, ...some } = here.platform.env;
    const { code, stdout, stderr } = await check(some);
    expect([code, stdout.includes('phonechat')]).toEqual([0, false]);
    expect(stderr).toContain('PHONECHAT_APP_SECRET');
  });
});
