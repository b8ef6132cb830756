import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { GROUP_ID } from '../../plugins/phonechat/simulator.ts';
import { Dictation } from '../support/dictation.ts';
import { NUMBER_ID, Phonechat } from '../support/phonechat.ts';

/** One daemon. Each test has its own users. */
let here: Phonechat;
let dictation: Dictation;

beforeAll(async () => {
  here = await Phonechat.prepare();
  dictation = await Dictation.start();
  await here.start({ ...dictation.env, LOG_LEVEL: 'DEBUG' });
});

beforeEach(() => {
  here.meet();
  dictation.forget();
});

describe('a message', () => {
  it('is answered through the platform, after the 200 response, from the number to which it was sent', async () => {
    const answer = await here.deliver({ text: 'count 3' });
    expect([answer.status, answer.text]).toEqual([200, '']);
    const [text] = await here.texts(here.ada, 1);
    const [sent] = here.sends();
    expect(sent?.call).toMatchObject({ method: 'POST', path: `/v25.0/${NUMBER_ID}/messages` });
    expect(sent?.call.headers.authorization).toBe(`Bearer ${here.env.PHONECHAT_ACCESS_TOKEN}`);
    expect(sent?.body).toEqual({
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to: here.ada,
      type: 'text',
      text: { preview_url: false, body: text },
    });
    const shown = await here.run('sessions', 'show', `phonechat:${NUMBER_ID}:+${here.ada}`, '--json');
    expect(JSON.parse(shown.stdout)).toMatchObject({
      user_id: `+${here.ada}`,
      turns: [{ outcome: 'answered' }],
    });
  });
});

describe('the recipient of a reply', () => {
  it('is the group if the message was written in a group, and no typing indicator is shown', async () => {
    const events = [
      here.event({ place: 'group', text: 'count 1' }),
      here.event({ user: here.bob, place: 'group', text: 'count 2' }),
    ];
    for (const event of events) await here.deliver(event);
    expect(await here.texts(GROUP_ID, 2)).toEqual(['word1', 'word1 word2']);
    expect(here.sends()[0]?.body).toMatchObject({ recipient_type: 'group', to: GROUP_ID });
    for (const mark of here.marks(...events)) expect(mark).not.toHaveProperty('typing_indicator');
  });
});

describe('statuses', () => {
  it('are acknowledged and counted; failures are logged with their reason', async () => {
    const to = here.daemon;
    expect((await here.post(here.sample('many'))).status).toBe(200);
    expect((await here.post(here.sample('status-failed'))).status).toBe(200);
    await to.logged(({ statuses }) => JSON.stringify(statuses) === '{"sent":1,"read":1}');
    const failed = await to.logged(({ code }) => code === 131047);
    expect(failed).toMatchObject({ level: 'warn', title: 'Re-engagement message' });
    expect(JSON.stringify(failed)).not.toContain(here.ada);
  });
});

describe('a webhook of 4 MiB, larger than the platform sends after an outage', () => {
  const LARGEST = 4 * 1024 * 1024;
  /** Makes a body with one message and as many statuses as fit. */
  function large(): string {
    const { entry, ...rest } = JSON.parse(
      here.sample('text').replace(/"body": "[^"]+"/, '"body": "count 1"'),
    ) as {
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
    const before = here.platform.textsTo(here.ada).length;
    for (const signature of ['', 'sha256=00', here.signature(body, 'another')]) {
      const answer = await here.post(body, { 'X-Hub-Signature-256': signature });
      expect(answer.status).toBe(401);
    }
    expect(here.platform.textsTo(here.ada)).toHaveLength(before);
    expect((await here.post(body)).status).toBe(200);
    await here.texts(here.ada, before + 1);
    expect((await here.post(`${body} `)).status).toBe(413);
  });
});

it('the challenge is returned as text', async () => {
  const right = {
    'hub.mode': 'subscribe',
    'hub.verify_token': here.env.PHONECHAT_VERIFY_TOKEN ?? '',
    'hub.challenge': '1158201444',
  };
  const answer = await fetch(`${here.daemon.url}/webhook/phonechat?${new URLSearchParams(right)}`);
  expect([answer.status, answer.headers.get('Content-Type'), await answer.text()]).toEqual([
    200,
    'text/plain; charset=utf-8',
    '1158201444',
  ]);
  expect(answer.headers.get('X-Content-Type-Options')).toBe('nosniff');
});
