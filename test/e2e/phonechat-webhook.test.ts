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

/** Sends a message after the refused messages, and checks that only this message is answered. */
async function nothingGotThrough(sentBefore: number): Promise<void> {
  await here.platform.deliver(here.daemon, { text: 'help' });
  await here.texts(ADA, sentBefore + 1);
  expect(here.platform.textsTo(ADA)).toHaveLength(sentBefore + 1);
}

describe('the signature of a webhook', () => {
  const hex = () => here.signature(BODY).slice('sha256='.length);

  it.each<[string, () => Record<string, string>]>([
    ['made with another secret', () => ({ 'X-Hub-Signature-256': here.signature(BODY, 'another') })],
    ['made for another body', () => ({ 'X-Hub-Signature-256': here.signature(`${BODY} `) })],
    ['labeled as SHA-1', () => ({ 'X-Hub-Signature-256': `sha1=${hex().slice(0, 40)}` })],
    ['without its algorithm', () => ({ 'X-Hub-Signature-256': hex() })],
    ['cut short', () => ({ 'X-Hub-Signature-256': `sha256=${hex().slice(0, 62)}` })],
    ['followed by other characters', () => ({ 'X-Hub-Signature-256': `sha256=${hex()}00` })],
    ['sent twice', () => ({ 'X-Hub-Signature-256': `sha256=${hex()}, sha256=${hex()}` })],
    [
      'in base64',
      () => ({ 'X-Hub-Signature-256': `sha256=${Buffer.from(hex(), 'hex').toString('base64')}` }),
    ],
    ['empty', () => ({ 'X-Hub-Signature-256': '' })],
    ['made with the empty secret', () => ({ 'X-Hub-Signature-256': here.signature(BODY, '') })],
  ])('is refused if it is %s', async (_title, headers) => {
    const before = here.platform.textsTo(ADA).length;
    const answer = await here.post(BODY, headers());
    expect(answer.status).toBe(401);
    expect(JSON.parse(answer.text)).toMatchObject({ code: 'invalid_signature', status: 401 });
    await nothingGotThrough(before);
  });

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

  it('covers every byte: each change is detected', async () => {
    const bytes = Buffer.from(BODY);
    for (const at of [0, bytes.length >> 1, bytes.length - 1]) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8((changed.readUInt8(at) ?? 0) ^ 1, at);
      const answer = await here.post(changed.toString('latin1'), {
        'X-Hub-Signature-256': here.signature(BODY),
      });
      expect(answer.status).toBe(401);
    }
  });

  it('covers the bytes, not their meaning: any escapes and line breaks are valid if they were signed', async () => {
    const escaped = BODY.replace('Does it come', 'D\\u006fes it c\\u00f6me').replace(/\n/g, '\r\n');
    const fresh = escaped.replace(/wamid\.[^"]+/, 'wamid.escaped');
    const before = here.platform.textsTo(ADA).length;
    const answer = await here.post(fresh, {
      'Content-Type': 'application/json; charset=utf-8',
      'X-Hub-Signature-256': here.signature(fresh).toUpperCase().replace('SHA256', 'sha256'),
    });
    expect(answer.status).toBe(200);
    await here.texts(ADA, before + 1);
  });

  it('is checked before the body: nothing about an unsigned body is revealed', async () => {
    const answer = await here.post('{"entry": [', { 'X-Hub-Signature-256': 'sha256=00' });
    expect(JSON.parse(answer.text)).toMatchObject({ code: 'invalid_signature' });
  });

  it('causes one line in the log if it is wrong, with the possible cause', async () => {
    const lines = here.daemon.log().filter(({ msg }) => String(msg).includes('PHONECHAT_APP_SECRET'));
    expect(lines).toHaveLength(1);
    expect(here.daemon.stderr()).not.toContain(here.env.PHONECHAT_APP_SECRET);
  });

  it('is not enough if the body is not JSON', async () => {
    const answer = await here.post('{"entry": [');
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.text)).toMatchObject({ code: 'malformed_json' });
  });

  it.each([
    '{}',
    '{"object":"whatsapp_business_account"}',
    '{"entry":7,"object":"whatsapp_business_account"}',
  ])('is enough to acknowledge a delivery without messages: %s', async (body) => {
    expect((await here.post(body)).status).toBe(200);
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

describe('the content type of a webhook', () => {
  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=latin1'])(
    'must be application/json in UTF-8: %s gets status 415',
    async (type) => {
      const answer = await here.post(BODY, { 'Content-Type': type });
      expect(answer.status).toBe(415);
      expect(JSON.parse(answer.text)).toMatchObject({ code: 'unsupported_media_type' });
    },
  );
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

  it.each([
    ['a different token', { 'hub.verify_token': 'wrong' }],
    ['an empty token', { 'hub.verify_token': '' }],
    ['a different mode', { 'hub.mode': 'unsubscribe' }],
    ['no challenge', { 'hub.challenge': '' }],
    ['an overlong challenge', { 'hub.challenge': 'x'.repeat(5000) }],
  ])('is not returned for %s: the status is 403', async (_title, change) => {
    const answer = await ask({ ...right(), ...change });
    const text = await answer.text();
    expect([answer.status, JSON.parse(text).code]).toEqual([403, 'forbidden']);
    expect(text).not.toContain('1158201444');
    expect(text).not.toContain(here.env.PHONECHAT_VERIFY_TOKEN);
  });
});

describe('the settings', () => {
  const check = (env: Record<string, string>) =>
    command(['config', 'check'], { env: { ...baseEnv(here.directory), ...env } });

  it('are all reported as missing if the channel is turned on without them', async () => {
    const { code, stderr } = await check({ MESSAGING_PLATFORMS: 'phonechat' });
    expect(code).toBe(78);
    for (const name of ['ACCESS_TOKEN', 'PHONE_NUMBER_ID', 'APP_SECRET', 'VERIFY_TOKEN'])
      expect(stderr).toContain(`PHONECHAT_${name}`);
  });

  it('turn the channel on if all are set, and are reported as missing if only some are', async () => {
    expect((await check(here.platform.env)).stdout).toContain('phonechat');
    const { PHONECHAT_APP_SECRET: _, ...some } = here.platform.env;
    const { code, stdout, stderr } = await check(some);
    expect([code, stdout.includes('phonechat')]).toEqual([0, false]);
    expect(stderr).toContain('PHONECHAT_APP_SECRET');
  });

  it('are shown without secrets', async () => {
    const { stdout } = await here.run('config', 'show');
    expect(stdout).toContain('PHONECHAT_ACCESS_TOKEN');
    for (const name of ['ACCESS_TOKEN', 'APP_SECRET', 'VERIFY_TOKEN'])
      expect(stdout).not.toContain(here.env[`PHONECHAT_${name}`]);
  });
});
