import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { GROUP_ID } from '../../plugins/phonechat/simulator.ts';
import { Dictation } from '../support/dictation.ts';
import type { PlatformAnswer } from '../support/fake-platform.ts';
import { NUMBER_ID, Phonechat } from '../support/phonechat.ts';

let shared: Phonechat;
let dictation: Dictation;

beforeAll(async () => {
  shared = await Phonechat.prepare();
  dictation = await Dictation.start();
  await shared.start({ ...dictation.env, LOG_LEVEL: 'DEBUG' });
});

afterAll(async () => {
  await shared.stop();
  await dictation.close();
});

/**
 * The daemon under test. Most tests share one daemon, and each of them has its own users. Some tests start another
 * daemon with other settings.
 */
let here: Phonechat;

beforeEach(() => {
  here = shared;
  here.meet();
  dictation.forget();
});

/** The first sends get these answers. Later sends get the usual answers of the fake platform. */
function failSends(...answers: PlatformAnswer[]): void {
  const left = [...answers];
  here.platform.answer = ({ body }) =>
    body.includes('"type":"text","text"') ? (left.shift() ?? null) : null;
}

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

  it('is read from each entry and change of a delivery, and each sender is answered, in order', async () => {
    for (const word of ['one', 'two', 'three', 'four']) {
      dictation.say(word, `re: ${word}`);
      dictation.end(word);
    }
    expect((await here.post(here.sample('many'))).status).toBe(200);
    expect(await here.texts(here.ada, 3)).toEqual(['re: one', 're: three', 're: four']);
    const texts = await here.texts(here.bob, 2);
    expect([...texts].sort()).toEqual([
      'I can only read text, not pictures. Please describe it in words.',
      're: two',
    ]);
  });
});

describe('a message that cannot be read', () => {
  it.each(['image', 'audio', 'sticker', 'location', 'contacts', 'order', 'interactive-form', 'video'])(
    'gets one reply that says so, even if it is delivered several times: %s',
    async (name) => {
      for (let n = 0; n < 3; n++) expect((await here.post(here.sample(name))).status).toBe(200);
      await here.deliver({ text: 'count 1' });
      await here.texts(here.ada, 2);
      const texts = here.platform.textsTo(here.ada).filter((text) => text !== 'word1');
      expect(texts).toEqual([expect.stringMatching(/^I can only read text, not .+\. Please describe it/)]);
      expect(dictation.runs).toEqual([]);
    },
  );
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

describe('a reply that the platform refuses', () => {
  it('is kept if the credentials are refused, and the health endpoint reports the refusal without secrets', async () => {
    const to = here.daemon;
    const access_token = here.env.PHONECHAT_ACCESS_TOKEN ?? '';
    failSends({
      status: 401,
      body: {
        error: { message: `Malformed access token ${access_token}`, type: 'OAuthException', code: 190 },
      },
    });
    await here.deliver({ text: 'count 1' });
    await to.logged(({ failure }) => String(failure).startsWith('delivery_failed: status 401, code 190'));
    const state = async () => {
      const health = (await (await fetch(`${to.url}/`)).json()) as { adapters: Record<string, object> };
      return health.adapters.phonechat;
    };
    expect(await state()).toEqual({
      status: 'degraded',
      detail: 'the platform refuses PHONECHAT_ACCESS_TOKEN: it is wrong or has expired',
    });
    expect(to.stderr()).not.toContain(access_token);
    await here.deliver({ text: 'count 2' });
    await here.texts(here.ada, 1);
    await expect.poll(state).toEqual({ status: 'ok' });
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
