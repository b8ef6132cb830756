import { describe, expect, it, vi } from 'vitest';
import { classifyError, Graph, readSettings } from '../../../../plugins/phonechat/api.ts';
import phonechat from '../../../../plugins/phonechat/index.ts';
import { ReadMarks, Sender } from '../../../../plugins/phonechat/send.ts';
import { RecordedDeliveryFailure } from '../../../../src/channel/conformance.ts';
import { recordingScope } from '../../../support/channel-scope.ts';
import { settingsOf } from '../../../support/fake-platform.ts';

// Each paragraph becomes one part, because splitting has its own tests.
vi.mock('../../../../plugins/phonechat/render.ts', () => ({
  renderMessages: async ({ text }: { text: string }) =>
    text.split('\n\n').map((body) => ({ type: 'text', text: { preview_url: false, body } })),
}));

const ACCESS_TOKEN = 'EAAG-a-token';
const settings = settingsOf(phonechat, {
  PHONECHAT_ACCESS_TOKEN: `${ACCESS_TOKEN}\n`,
  PHONECHAT_PHONE_NUMBER_ID: '1',
  PHONECHAT_APP_SECRET: 's',
  PHONECHAT_VERIFY_TOKEN: 'v',
  PHONECHAT_API_URL: 'https://graph.example.com/',
});
const TAKEN = () => Response.json({ messages: [{ id: 'wamid.2' }] });

interface Call {
  url: string;
  init: RequestInit;
}

/**
 * The parts of the channel that make calls. `answer` returns the answers of the platform, and the clock moves only if
 * the test sets it.
 */
function parts(answer: (call: number) => Response | Promise<Response>, token = ACCESS_TOKEN) {
  const calls: Call[] = [];
  const clock = { now: 1_000_000 };
  const scope = recordingScope(settings, {
    now: () => clock.now,
    fetch: async (url, init = {}) => {
      calls.push({ url: String(url), init });
      return answer(calls.length);
    },
    deliveryFailed: (reason, options) => new RecordedDeliveryFailure(reason, options),
  });
  const graph = new Graph(scope, { ...readSettings(settings), access_token: token });
  return { graph, sender: new Sender(scope, graph), marks: new ReadMarks(scope, graph), calls, scope, clock };
}

const reply = (text: string, id = 'r1') => ({
  id,
  session_id: 'phonechat:1:+2',
  text,
  reply_to: { number_id: '1', to: '2', message_id: 'wamid.1' },
});
const LONG = 'a\n\nb\n\nc';
const firstLetters = (calls: readonly Call[]) =>
  calls.map(({ init }) => (JSON.parse(String(init.body)) as { text: { body: string } }).text.body[0]);

async function failureOf(sending: Promise<void>): Promise<RecordedDeliveryFailure> {
  const failure = await sending.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(failure instanceof RecordedDeliveryFailure)) throw new Error(`failed with ${String(failure)}`);
  return failure;
}

describe('a reply', () => {
  it('is sent only to the configured address, with the token only in a header', async () => {
    const { sender, calls } = parts(TAKEN);
    await sender.send(reply('Hello.'));
    expect(calls[0]?.url).toBe('https://graph.example.com/v25.0/1/messages');
    expect(calls[0]?.init).toMatchObject({ redirect: 'manual', method: 'POST' });
    expect(calls[0]?.init.headers).toMatchObject({ Authorization: `Bearer ${ACCESS_TOKEN}` });
    expect(String(calls[0]?.init.body)).not.toContain(ACCESS_TOKEN);
  });

  it('does not follow a redirect to another address, and is tried again', async () => {
    const moved = new Response('', { status: 307, headers: { Location: 'https://evil.example.com' } });
    const { sender, calls } = parts(() => moved);
    expect(await failureOf(sender.send(reply('Hello.')))).toMatchObject({ final: false });
    expect(calls).toHaveLength(1);
  });

  it('continues after the parts that were sent, and a new reply starts with its first part', async () => {
    const { sender, calls } = parts((call) => (call === 2 ? new Response('', { status: 500 }) : TAKEN()));
    expect(await failureOf(sender.send(reply(LONG)))).toMatchObject({ final: false });
    await sender.send(reply(LONG));
    expect(firstLetters(calls)).toEqual(['a', 'b', 'b', 'c']);
    await sender.send(reply(LONG, 'r2'));
    expect(firstLetters(calls.slice(4))).toEqual(['a', 'b', 'c']);
  });

  it.each([
    [
      'a connection that fails',
      () => Promise.reject(new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } })),
      'no answer (ECONNREFUSED)',
    ],
    [
      'no answer in time',
      () => Promise.reject(new DOMException('slow', 'TimeoutError')),
      'no answer in time',
    ],
    ['a page that is not JSON', () => new Response('<html>', { status: 502 }), 'status 502'],
    ['an endless answer', () => new Response('x'.repeat(1_000_000), { status: 500 }), 'status 500'],
  ])('is tried again after %s', async (_title, answer, reason) => {
    const failure = await failureOf(parts(answer).sender.send(reply('Hello.')));
    expect([failure.final, failure.message]).toEqual([false, reason]);
  });

  it('that cannot be sent does not reveal the token', async () => {
    const broken = 'EAAG\u0000broken';
    const { sender, scope } = parts(() => {
      throw new TypeError(`Bearer ${broken} is an invalid header value`);
    }, broken);
    const failure = await failureOf(sender.send(reply('Hello.')));
    expect(failure.message).toBe('no answer');
    expect(JSON.stringify(scope.logged)).not.toContain('EAAG');
  });

  it.each(['<title>Welcome</title>', '', '[]', '"ok"', 'null'])(
    'is sent again if the answer is not from the platform, because the page of a proxy may have a success status: %j',
    async (page) => {
      const sending = parts(() => new Response(page)).sender.send(reply('Hello.'));
      await expect(sending).rejects.toMatchObject({ final: false, platform: 'unreachable' });
    },
  );

  it('is sent once if a server in the place of the platform accepts it and says no more', async () => {
    let sent = 0;
    await parts(() => {
      sent++;
      return new Response('{}');
    }).sender.send(reply('Hello.'));
    expect(sent).toBe(1);
  });

  it('is sent again if the platform says that it did not accept it', async () => {
    const sending = parts(() => new Response('{"success":false}')).sender.send(reply('Hello.'));
    await expect(sending).rejects.toMatchObject({ final: false });
  });
});

describe('an error of the platform', () => {
  it.each<
    [status: number, code: number | undefined, final: boolean, seconds: number | undefined, platform?: string]
  >([
    [400, 130429, false, undefined],
    [400, 131056, false, 6],
    [400, 80007, false, 60],
    [400, 4, false, 60],
    [500, 131000, false, undefined, 'unreachable'],
    [400, 131000, false, undefined],
    [503, 131016, false, undefined, 'unreachable'],
    [500, 131057, false, undefined, 'unreachable'],
    [400, 2, false, undefined],
    [400, 131047, true, undefined],
    [400, 470, true, undefined],
    [400, 131026, true, undefined],
    [400, 131030, true, undefined],
    [400, 131048, true, undefined],
    [403, 131031, true, undefined],
    [401, 190, false, undefined, 'credentials'],
    [400, 190, false, undefined, 'credentials'],
    [401, undefined, false, undefined, 'credentials'],
    [403, undefined, true, undefined],
    [403, 200, true, undefined],
    [403, 299, true, undefined],
    [400, 100, true, undefined],
    [400, undefined, true, undefined],
    [404, undefined, true, undefined],
    [408, undefined, false, undefined],
    [429, undefined, false, undefined],
    [429, 131047, false, undefined],
    [500, 3, false, undefined, 'unreachable'],
    [502, undefined, false, undefined, 'unreachable'],
    [302, undefined, false, undefined, 'unreachable'],
  ])('with status %i and code %s is final: %s', (status, code, final, retry_after_seconds, platform) => {
    const meaning = classifyError(status, code, undefined);
    expect([meaning.final, meaning.retry_after_seconds, meaning.platform]).toEqual([
      final,
      retry_after_seconds,
      platform,
    ]);
  });

  it('that concerns the account of the business has a text that says what is wrong with the account', () => {
    expect(classifyError(401, 190, undefined).account).toContain('PHONECHAT_ACCESS_TOKEN');
    expect(classifyError(403, 250, undefined).account).toContain('lacks a permission');
    expect(classifyError(400, 100, 33).account).toContain('PHONECHAT_PHONE_NUMBER_ID');
    expect(classifyError(400, 100, undefined).account).toBeUndefined();
    expect(classifyError(400, 131047, undefined).account).toBeUndefined();
  });

  it('is recognized by its code, even if the status is 200', async () => {
    const { sender } = parts(() =>
      Response.json({ error: { code: 131047, message: 'Re-engagement message' } }),
    );
    expect(await failureOf(sender.send(reply('Hello.')))).toMatchObject({ final: true });
  });

  it('delays the next attempt until the date that the platform names', async () => {
    const later = new Date(Date.now() + 30_000).toUTCString();
    const { sender } = parts(() => new Response('{}', { status: 429, headers: { 'Retry-After': later } }));
    const { retry_after_seconds } = await failureOf(sender.send(reply('Hello.')));
    expect(retry_after_seconds).toBeGreaterThan(25);
    expect(retry_after_seconds).toBeLessThanOrEqual(31);
  });
});

describe('the health of the channel', () => {
  it('is degraded while the platform refuses the account, and a read mark does not change that', async () => {
    const refused = () => Response.json({ error: { code: 131042, message: 'Payment' } }, { status: 400 });
    const { graph, sender, marks } = parts((call) => (call === 1 ? refused() : TAKEN()));
    await failureOf(sender.send(reply('Hello.')));
    await marks.show({ number_id: '1', message_id: 'wamid.1' });
    expect(graph.health()).toMatchObject({ status: 'degraded', detail: expect.stringContaining('payment') });
    await sender.send(reply('Hello.'));
    expect(graph.health()).toEqual({ status: 'ok' });
  });

  it('is not affected if the platform refuses messages to a single person', async () => {
    const { graph, sender } = parts(() =>
      Response.json({ error: { code: 131026, message: 'x' } }, { status: 400 }),
    );
    for (let n = 0; n < 5; n++) await failureOf(sender.send(reply('Hello.')));
    expect(graph.health()).toEqual({ status: 'ok' });
  });
});

describe('the typing indicator', () => {
  it('is requested again only after the platform has removed it', async () => {
    const { marks, calls, clock } = parts(TAKEN);
    for (const at of [0, 5000, 10_000, 15_000, 20_000, 25_000]) {
      clock.now = 1_000_000 + at;
      await marks.show({ number_id: '1', message_id: 'wamid.1' });
    }
    await marks.show({ number_id: '1', message_id: 'wamid.2' });
    expect(calls).toHaveLength(3);
  });

  it('is not requested if there is no message to mark as read', async () => {
    const { marks, calls } = parts(TAKEN);
    await marks.show({ number_id: '1', to: '2' });
    expect(calls).toEqual([]);
  });
});
