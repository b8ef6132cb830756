import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { GROUP_ID, messageIdOf } from '../../plugins/phonechat/simulator.ts';
import type { Agentd } from '../support/daemon.ts';
import { Dictation } from '../support/dictation.ts';
import type { PlatformAnswer } from '../support/fake-platform.ts';
import { NUMBER_ID, Phonechat } from '../support/phonechat.ts';
import { token } from '../support/tokens.ts';

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

async function startAnother(settings: Record<string, string>): Promise<Agentd> {
  here = await Phonechat.prepare();
  onTestFinished(() => here.stop());
  return here.start({ ...dictation.env, ...settings });
}

/** An error of the platform, in the documented format. */
function graphError(status: number, code: number, headers: Record<string, string> = {}): PlatformAnswer {
  const error = { message: `(#${code}) Something`, type: 'OAuthException', code, fbtrace_id: 'A' };
  return { status, headers, body: { error } };
}

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

  it('is marked as read, with a typing indicator, while it is being answered', async () => {
    const event = here.event({ text: 'slow' });
    await here.deliver(event);
    await dictation.begun('slow');
    await here.platform.until(() => here.marks(event).length > 0);
    expect(here.marks(event)[0]).toEqual({
      messaging_product: 'whatsapp',
      status: 'read',
      message_id: messageIdOf(event),
      typing_indicator: { type: 'text' },
    });
    expect(here.sends()).toEqual([]);
    dictation.say('slow', 'Done.');
    dictation.end('slow');
    expect(await here.texts(here.ada, 1)).toEqual(['Done.']);
    // The platform keeps the indicator for 25 s, so one request is enough.
    expect(here.marks(event)).toHaveLength(1);
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

  it.each([
    ['button', 'Unsubscribe'],
    ['interactive-button', 'Cancel'],
    ['interactive-list', 'Priority Mail Express'],
  ])('can be a choice from a menu or a button: %s', async (name, words) => {
    await here.post(here.sample(name));
    await dictation.begun(words);
  });

  it('is answered once, however often it is delivered', async () => {
    const to = here.daemon;
    dictation.say('hello', 're: hello');
    dictation.end('hello');
    const event = here.event({ text: 'hello' });
    for (let n = 0; n < 3; n++) expect((await here.deliver(event)).status).toBe(200);
    await here.texts(here.ada, 1);
    await to.logged(({ msg }) => String(msg).startsWith('[LoopGuard] DUPLICATE platform=phonechat'));
    await here.deliver({ text: 'count 1' });
    expect(await here.texts(here.ada, 2)).toEqual(['re: hello', 'word1']);
    expect(dictation.runs).toEqual(['hello']);
  });

  it('can be replaced by an edit only until its turn begins', async () => {
    const to = await startAnother({ AGENT_CONCURRENCY: '1' });
    const [first, second] = [here.event({ text: 'first' }), here.event({ user: here.bob, text: 'secnd' })];
    await here.deliver(first);
    await dictation.begun('first');
    await here.deliver(second);
    const edited = await here.deliver({ ...second, kind: 'edit', text: 'count 2' });
    const late = await here.deliver({ ...first, kind: 'edit', text: 'too late' });
    expect([edited.status, late.status]).toEqual([200, 200]);
    dictation.say('first', 're: first');
    dictation.end('first');
    expect(await here.texts(here.bob, 1)).toEqual(['word1 word2']);
    expect(await here.texts(here.ada, 1)).toEqual(['re: first']);
    await to.logged(({ msg }) => String(msg).startsWith('edit ignored: the turn of the message has begun'));
  });

  it('reaches the agent and the log without the token that it contains', async () => {
    const to = here.daemon;
    const secret = await token();
    dictation.say('my token: [token]', 'Thank you.');
    dictation.end('my token: [token]');
    await here.deliver({ text: `my token: ${secret}` });
    expect(await here.texts(here.ada, 1)).toEqual(['Thank you.']);
    expect(to.stderr()).not.toContain(secret.split('.')[1]);
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

  it.each([
    'unsupported',
    'unknown',
    'reaction',
    'system-changed-number',
    'revoke',
    'welcome-requested',
    'group-image',
  ])('is acknowledged and ignored if nobody waits for an answer: %s', async (name) => {
    expect((await here.post(here.sample(name))).status).toBe(200);
    await here.deliver({ text: 'count 1' });
    expect(await here.texts(here.ada, 1)).toEqual(['word1']);
    expect(here.sends()).toHaveLength(1);
  });

  it('gets no second reply after a restart either', async () => {
    const first = await startAnother({});
    await here.post(here.sample('image'));
    await here.texts(here.ada, 1);
    await first.stop();
    const to = await here.start(dictation.env);
    expect((await here.post(here.sample('image'))).status).toBe(200);
    await to.logged(({ msg }) => String(msg).startsWith('not sent again'));
    await here.deliver({ text: 'count 1' });
    await here.texts(here.ada, 2);
    expect(here.platform.textsTo(here.ada)[1]).toBe('word1');
  });

  it('gets an answer to its caption, and a notice that the picture was not read', async () => {
    dictation.say('Taj Mahal', 'It is in Agra.');
    dictation.end('Taj Mahal');
    await here.post(here.sample('image-with-caption'));
    expect([...(await here.texts(here.ada, 2))].sort()).toEqual([
      'I can only read the text of your message, not pictures.',
      'It is in Agra.',
    ]);
  });

  it('gets no more than one notice if several arrive in a row', async () => {
    for (let n = 0; n < 5; n++) await here.deliver({ kind: 'other', text: '' });
    await here.deliver({ text: 'count 1' });
    await here.platform.until(() => here.platform.textsTo(here.ada).includes('word1'));
    expect(here.sends()).toHaveLength(2);
  });

  it('gets one notice if it is too long, and the platform does not deliver it again', async () => {
    const answer = await here.deliver({ text: 'x'.repeat(16_001) });
    expect(answer.status).toBe(200);
    expect(await here.texts(here.ada, 1)).toEqual([
      'Your message is too long: I can read up to 16,000 characters. Please send it in parts.',
    ]);
  });
});

describe('the recipient of a reply', () => {
  it('is given in `recipient` instead of `to` if the number is hidden', async () => {
    await here.deliver({ user: here.hidden, text: 'count 2' });
    expect(await here.texts(here.hidden, 1)).toEqual(['word1 word2']);
    expect(here.sends()[0]?.body).toMatchObject({ recipient_type: 'individual', recipient: here.hidden });
    expect(here.sends()[0]?.body).not.toHaveProperty('to');
  });

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

  it('is nobody if the message was sent to a business number that is not configured', async () => {
    const to = here.daemon;
    for (let n = 0; n < 2; n++) expect((await here.post(here.sample('another-number'))).status).toBe(200);
    await here.deliver({ text: 'count 1' });
    await here.texts(here.ada, 1);
    expect(here.sends()).toHaveLength(1);
    const told = to.log().filter(({ number_id }) => number_id === '209876543210987');
    expect(told).toHaveLength(1);
  });

  it('gets the reply from the number to which the message was sent, if several numbers are configured', async () => {
    await startAnother({ PHONECHAT_PHONE_NUMBER_ID: `${NUMBER_ID}, 209876543210987` });
    dictation.say('Hello', 'Hello from the other one.');
    dictation.end('Hello');
    await here.post(here.sample('another-number'));
    await here.platform.until(() => here.sends().length > 0);
    expect(here.sends()[0]?.call.path).toBe('/v25.0/209876543210987/messages');
  });
});

describe('a long reply', () => {
  it('is sent as several messages within the limit, in order', async () => {
    await here.deliver({ text: 'count 2000' });
    const isWhole = () => here.platform.textsTo(here.ada).at(-1)?.endsWith('word2000');
    await here.platform.until(() => isWhole() === true);
    const texts = here.platform.textsTo(here.ada);
    expect(texts.length).toBeGreaterThan(4);
    for (const text of texts) expect(text.length).toBeLessThanOrEqual(4096);
    const words = texts.join(' ').split(/\s+/);
    expect(words).toEqual(Array.from({ length: 2000 }, (_, index) => `word${index + 1}`));
  });

  it('continues after the last accepted part: no part is sent twice', async () => {
    let sent = 0;
    here.platform.answer = ({ body }) => {
      if (!body.includes('"type":"text","text"')) return null;
      sent++;
      return sent === 2 || sent === 3 ? graphError(500, 131000) : null;
    };
    await here.deliver({ text: 'count 1000' });
    await here.platform.until(() => here.platform.textsTo(here.ada).at(-1)?.endsWith('word1000') === true);
    const words = here.platform.textsTo(here.ada).join(' ').split(/\s+/);
    expect(words).toEqual(Array.from({ length: 1000 }, (_, index) => `word${index + 1}`));
  });

  it('contains no mention that notifies somebody', async () => {
    dictation.say('all', 'Ask @everyone and @16505555678.');
    dictation.end('all');
    await here.deliver({ text: 'all' });
    const [text] = await here.texts(here.ada, 1);
    expect(text).not.toMatch(/@(everyone|16505555678)/);
  });
});

describe('a reply that the platform refuses', () => {
  it.each([
    ['429', graphError(429, 130429, { 'Retry-After': '2' })],
    ['400 with the code of a rate limit', graphError(400, 130429, { 'Retry-After': '2' })],
  ])('is sent again after the time that the platform asked for: %s', async (_title, answer) => {
    failSends(answer);
    await here.deliver({ text: 'count 1' });
    expect(await here.texts(here.ada, 1)).toEqual(['word1']);
    const [first, second] = here.sends();
    expect((second?.call.at ?? 0) - (first?.call.at ?? 0)).toBeGreaterThanOrEqual(2000);
  });

  it('is sent again after a failure of the platform, without another run', async () => {
    failSends({ status: 503, body: 'no JSON' }, graphError(500, 131000));
    dictation.say('hello', 'Hello.');
    dictation.end('hello');
    await here.deliver({ text: 'hello' });
    expect(await here.texts(here.ada, 1)).toEqual(['Hello.']);
    expect(here.sends()).toHaveLength(3);
    expect(dictation.runs).toEqual(['hello']);
  });

  it.each([
    ['the 24-hour window has passed', 131047],
    ['the recipient does not exist', 131026],
    ['the request is invalid', 100],
    ['an unknown code', 999_999],
  ])('is not sent again after a final refusal, without a notice: %s', async (_title, code) => {
    const to = here.daemon;
    failSends(graphError(400, code));
    await here.deliver({ text: 'count 1' });
    const refused = await to.logged(({ failure }) => failure !== undefined);
    expect(refused.failure).toBe(`delivery_refused: status 400, code ${code}: (#${code}) Something`);
    await here.deliver({ text: 'count 2' });
    expect(await here.texts(here.ada, 1)).toEqual(['word1 word2']);
    expect(here.sends()).toHaveLength(2);
  });

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

  it.each(['account-error', 'echo-of-the-business-app', 'template-status', 'page'])(
    'and events that are not messages are acknowledged: %s',
    async (name) => {
      expect((await here.post(here.sample(name))).status).toBe(200);
    },
  );
});
