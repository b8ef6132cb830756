import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import msgbot from '../../../../plugins/msgbot/index.ts';
import type {
  AnswerReaction,
  Channel,
  ChannelRequest,
  IncomingMessage,
  PushChannel,
  PushScope,
} from '../../../../src/channel/index.ts';
import { pressPayload } from '../../../../src/channel/payload.ts';
import type { PressOutcome } from '../../../../src/channel/scope.ts';
import { AgentdError } from '../../../../src/daemon/errors.ts';
import { sample } from './samples.ts';
import { type Called, platformScope } from './scope.ts';

const SECRET = 'webhook-secret-of-the-tests';
/** The only link code that somebody has made. */
const CODE = 'ABCDE23456';

let said: { reply_to: object; text: string; message_id: string | undefined }[];
/** The throttle key of each hint that was sent. */
let hints: (string | undefined)[];
let accepted: IncomingMessage[];
let linked: [user: string, token: string, message_id: string | undefined][];
/** The messages in which link codes were looked for. */
let codes: IncomingMessage[];
let unlinked: [user: string, message_id: string | undefined][];
let now: number;
let channel: Channel;
/** Whether nothing can be stored. */
let isDown: boolean;
/** Why a link is refused; null if it is made. */
let refusal: string | null;
/** What a press of a button leads to. */
let pressed: PressOutcome;
/** The calls of the platform's API. */
let calls: Called[];

beforeEach(() => {
  said = [];
  hints = [];
  accepted = [];
  rated = [];
  linked = [];
  zone = {};
  unlinked = [];
  codes = [];
  isDown = false;
  refusal = null;
  now = 1_795_290_000_000;
  // The platform is down, so the name of the bot stays unknown.
  const platform = platformScope(() => new Response('', { status: 503 }));
  const { scope } = platform;
  calls = platform.calls;
  pressed = { outcome: 'enqueued' };
  const members: Partial<PushScope> = {
    now: () => now,
    problem: (code, detail) => new AgentdError(code, detail),
    async enqueue(messages) {
      expectStore();
      accepted.push(...messages);
      return messages.map(() => 'kept');
    },
    async edit() {
      expectStore();
      return true;
    },
    async press() {
      expectStore();
      return pressed;
    },
    async rate(reaction) {
      expectStore();
      return rated.push(reaction) > 0;
    },
    async notify(reply_to, text, { message_id, throttle_key } = {}) {
      expectStore();
      said.push({ reply_to, text, message_id });
      hints.push(throttle_key);
    },
    links: {
      async link(user_id, token, { message_id } = {}) {
        if (refusal !== null) return { linked: false, reason: refusal, held: false };
        linked.push([user_id, token, message_id]);
        const expires_at = now + 60_000;
        return { linked: true, user_id: 'ada', email: 'a`d\na@example.com', expires_at, ...zone };
      },
      async takeCode(message) {
        expectStore();
        return codes.push(message) > 0 && message.text.includes(CODE);
      },
      unlink: async (user_id, { message_id } = {}) => unlinked.push([user_id, message_id]) > 0,
      unlinkPerson: async () => ({ outcome: 'none' }),
    },
  };
  channel = msgbot.create({ ...scope, ...members });
});

let rated: AnswerReaction[];
/** The time zone in the token, if it names one. */
let zone: { timezone?: string };

function expectStore(): void {
  if (isDown) throw new Error('the store is out of reach');
}

/** Delivers an update, signed unless another secret is given. */
async function receive(update: object, secret: string | undefined = SECRET): Promise<void> {
  const request: Partial<ChannelRequest> = {
    headers: { 'x-telegram-bot-api-secret-token': secret },
    json: () => update as Record<string, unknown>,
  };
  await channel.routes[0]?.handle(request as ChannelRequest);
}

/** A sample with changed members in its message. */
function altered(name: string, members: object): object {
  const { message, ...rest } = sample(name) as { message: object };
  return { ...rest, message: { ...message, ...members } };
}

describe('an update', () => {
  it.each(['', `${SECRET}x`])('is refused, and nothing is stored, with the secret "%s"', async (secret) => {
    for (const name of ['private-text', 'private-command', 'message-reaction', 'callback-query'])
      await expect(receive(sample(name), secret)).rejects.toMatchObject({ code: 'invalid_signature' });
    expect([accepted, said, linked, rated, codes]).toEqual([[], [], [], [], []]);
  });

  it.each([
    ...['private-text', 'private-edited', 'private-command', 'private-sticker'],
    ...['supergroup-reply-to-other', 'message-reaction'],
  ])('is not acknowledged before it is stored, so that the platform delivers it again: %s', async (name) => {
    isDown = true;
    await expect(receive(sample(name))).rejects.toThrow('out of reach');
  });

  const press = () => {
    const { callback_query } = sample('callback-query') as { callback_query: object };
    const data = pressPayload('a'.repeat(22), true);
    return receive({ update_id: 1, callback_query: { ...callback_query, data } });
  };

  it('with the press of a button is not acknowledged before it is stored, either', async () => {
    isDown = true;
    await expect(press()).rejects.toThrow('out of reach');
  });

  it('with a press that counts for nothing says so to the person who pressed, and to nobody else', async () => {
    pressed = { outcome: 'refused', text: 'Only the person who was asked can answer.' };
    await press();
    const answers = () => calls.filter(({ method }) => method === 'answerCallbackQuery');
    await expect.poll(answers).toHaveLength(1);
    expect(answers()[0]?.payload).toMatchObject({
      ...{ callback_query_id: '4382bfdwdsb323b2d9', show_alert: true },
      text: 'Only the person who was asked can answer.',
    });
    expect(said).toEqual([]);
  });
});

describe('the private chat of a person', () => {
  it('has the id of the person, and a group is none', () => {
    const push = channel as PushChannel;
    expect(push.privateChat?.('5550111')).toEqual({ chat: 5550111 });
    for (const group of ['-5550200', '', 'ada', '0x5']) expect(push.privateChat?.(group)).toBeNull();
    const session = { thread_id: 'msgbot:5550111', channel_id: '5550111' };
    expect(push.privateSession?.('5550111', 'msgbot:-5550200')).toEqual(session);
    expect(msgbot.linking?.idsOf?.(' 5550111 ')).toEqual(['5550111']);
    expect(['-5550200', '@ada', ''].map((id) => msgbot.linking?.idsOf?.(id))).toEqual([[], [], []]);
  });
});

describe('signing in', () => {
  it('links the sender, and the answer requests the deletion of the message', async () => {
    await receive(altered('private-command', { text: '/service_auth a.b.c' }));
    expect(linked).toEqual([['5550111', 'a.b.c', '5550111:103']]);
    expect(said).toEqual([
      {
        reply_to: { chat: 5550111, deletes: 103, locale: 'en' },
        text: '✅ You are signed in here as `ada@example.com`, until 2026-11-21 19:41 UTC.',
        message_id: '5550111:103',
      },
    ]);
  });

  it('that fails requests the deletion of the message, too', async () => {
    refusal = 'Token Expired';
    await receive(altered('private-command', { text: '/service_auth a.b.c' }));
    expect(said).toMatchObject([
      { reply_to: { deletes: 103 }, text: expect.stringMatching(/^❌ .*Token Expired/) },
    ]);
  });

  it('says until when in the time zone of the person', async () => {
    zone = { timezone: 'Asia/Kolkata' };
    await receive(altered('private-command', { text: '/service_auth a.b.c' }));
    expect(said).toMatchObject([{ text: expect.stringMatching(/, until 2026-11-22 01:11\.$/) }]);
  });

  it('with a forwarded command does not link the sender, and requests the deletion of the message', async () => {
    await receive(sample('private-forwarded-command'));
    expect(linked).toEqual([]);
    expect(said).toMatchObject([
      {
        reply_to: { chat: 5550111, deletes: 106 },
        text: expect.stringContaining('another person’s message'),
      },
    ]);
    const { message } = sample('private-forwarded-command') as { message: object };
    await receive({ update_id: 1, message: { ...message, forward_origin: undefined } });
    await receive({ update_id: 2, message: { ...message, text: '/service_auth off' } });
    expect([linked, unlinked]).toEqual([[], []]);
  });

  it('is refused in a group: nothing is linked or revealed, and the answer requests the deletion of a token', async () => {
    const text = '/service_auth x.y.z';
    await receive(altered('group-command-bare', { text }));
    await receive(altered('group-command-bare', { text: '/service_auth off', message_id: 220 }));
    expect([linked, unlinked]).toEqual([[], []]);
    expect(said).toEqual([
      {
        reply_to: { chat: -5550200, answers: 209, deletes: 209, locale: 'en' },
        text: 'This command works only in a private chat with me.',
        message_id: '-5550200:209',
      },
      {
        reply_to: { chat: -5550200, answers: 220 },
        text: 'This command works only in a private chat with me.',
        message_id: '-5550200:220',
      },
    ]);
  });

  it('is undone by `off`, in upper or lower case, and the message with `off` is not deleted', async () => {
    await receive(altered('private-command', { text: '/service_auth OFF' }));
    expect(unlinked).toEqual([['5550111', '5550111:103']]);
    expect(said).toEqual([
      { reply_to: { chat: 5550111 }, text: '✅ You are signed out here.', message_id: '5550111:103' },
    ]);
  });
});

describe('a link code', () => {
  it('in a start parameter is handed over, with whether it was forwarded, and gets no greeting', async () => {
    await receive(altered('private-command', { text: `/start ${CODE}` }));
    await receive(altered('private-command', { text: `/start ${CODE}`, forward_date: 1 }));
    expect(codes).toMatchObject([
      { user_id: '5550111', text: `/start ${CODE}`, shared: false },
      { text: `/start ${CODE}`, forwarded: true },
    ]);
    expect([said, accepted]).toEqual([[], []]);
    await receive(altered('private-command', { text: '/start from-the-shop' }));
    expect(said).toMatchObject([{ text: expect.stringContaining('Hello!') }]);
  });

  it('is looked for in messages of a group that are not for the bot', async () => {
    await receive(sample('supergroup-reply-to-other'));
    expect(codes).toMatchObject([{ shared: true }]);
    expect([said, accepted]).toEqual([[], []]);
  });
});

describe('an album', () => {
  it('with a text gets an answer to the text, and the hints for an album without a text have the same message id', async () => {
    await receive(sample('private-album-first'));
    await receive(sample('private-album-second'));
    expect(accepted.map(({ text }) => text)).toEqual(['Both sides']);
    expect(said).toEqual([]);
    await receive(altered('private-album-second', { media_group_id: '2', message_id: 300 }));
    await receive(altered('private-album-second', { media_group_id: '2', message_id: 301 }));
    expect(said.map(({ message_id }) => message_id)).toEqual(['5550111:album:2', '5550111:album:2']);
  });
});

describe('hints of the channel', () => {
  it('are limited per chat, but the answer to a sign-in does not count as a hint', async () => {
    await receive(sample('private-sticker'));
    expect(hints.at(-1)).toBe('5550111');
    await receive(altered('private-sticker', { sticker: undefined, text: '/service_auth off' }));
    expect(hints.at(-1)).toBeUndefined();
  });
});

describe('a message that may be for the bot, while the name of the bot is not known', () => {
  it('is refused so that the platform repeats it until the name is known', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    for (const later of [0, 60_000, 86_400_000]) {
      now += later;
      const refused = expect(receive(sample('group-mention'))).rejects.toMatchObject({
        code: 'unavailable',
        status: 503,
      });
      await vi.advanceTimersByTimeAsync(2000);
      await refused;
    }
    expect([accepted, said]).toEqual([[], []]);
    await receive(sample('supergroup-reply-to-bot'));
    expect(accepted).toHaveLength(1);
  });
});

describe('a reaction', () => {
  const changed = (members: object) => {
    const { message_reaction, ...rest } = sample('message-reaction') as { message_reaction: object };
    return { ...rest, message_reaction: { ...message_reaction, ...members } };
  };

  it('with a thumb is passed on as a rating, with the user whom the platform names', async () => {
    await receive(sample('message-reaction'));
    await receive(changed({ new_reaction: [{ type: 'emoji', emoji: '👎' }] }));
    const reaction = { sent_id: '-1005550200:150', user_id: '5550111' };
    expect(rated).toEqual([
      { ...reaction, rating: 1 },
      { ...reaction, rating: -1 },
    ]);
  });

  it.each([
    ['that was taken back', { new_reaction: [] }],
    ['with another emoji', { new_reaction: [{ type: 'emoji', emoji: '🔥' }] }],
    ['with both thumbs', { new_reaction: [{ emoji: '👍' }, { emoji: '👎' }] }],
    ['of an anonymous administrator', { user: undefined, actor_chat: { id: -100 } }],
    ['without a message', { message_id: 'x' }],
    ['of another form', { new_reaction: 'x', chat: null }],
  ])('%s rates nothing', async (_, members) => {
    await receive(changed(members));
    expect([rated, accepted]).toEqual([[], []]);
  });
});
