import { describe, expect, it } from 'vitest';
import { type Parsed, parse } from '../../../../plugins/msgbot/parse.ts';
import { BOT, SAMPLES, sample } from './samples.ts';

const nothing = (why: string) => ({ kind: 'nothing', why });
/** A message of a group that is not for the bot. */
const OVERHEARD = { kind: 'overheard', message: expect.objectContaining({ shared: true }) };
const message = (text: string, thread_id: string, members: object = {}) => ({
  kind: 'message',
  message: { platform: 'msgbot', text, thread_id, ...members },
});

const edit = (chat: string, id: string, text: string) => ({
  kind: 'edit',
  edited: { message_id: `${chat}:${id}`, user_id: '5550111', thread_id: `msgbot:${chat}`, text },
});

/** The expected result for each sample. */
const EXPECTED: Readonly<Record<string, object>> = {
  'private-text': {
    kind: 'message',
    album: null,
    message: {
      platform: 'msgbot',
      user_id: '5550111',
      channel_id: '5550111',
      thread_id: 'msgbot:5550111',
      text: 'Where is my order A-1001?',
      metadata: { user_name: 'Ada Lovelace' },
      message_id: '5550111:101',
      sent_at: 1_795_290_101_000,
      shared: false,
      reply_to: { chat: 5550111 },
    },
  },
  'private-entities': message('See https://example.com and *this*', 'msgbot:5550111'),
  'private-start': {
    kind: 'command',
    command: { name: 'start', argument: 'from-the-website' },
    inPrivate: true,
  },
  'private-command': {
    kind: 'command',
    command: { name: 'service_auth', argument: 'off' },
    user_id: '5550111',
    message: 103,
    forwarded: false,
    place: { reply_to: { chat: 5550111 }, message_id: '5550111:103' },
  },
  'private-topic': message('In a topic of the private chat', 'msgbot:5550111:31', {
    reply_to: { chat: 5550111, topic: 31 },
  }),
  'private-reply-with-quote': message('At what time?', 'msgbot:5550111'),
  'private-forwarded-command': {
    kind: 'command',
    forwarded: true,
    command: { name: 'service_auth', argument: 'x.y.z' },
  },
  'private-photo-with-caption': message('What is this wheel for?', 'msgbot:5550111'),
  'private-photo': { kind: 'no-words', about: 'content', album: null },
  'private-album-first': {
    ...message('Both sides', 'msgbot:5550111'),
    album: '5550111:album:13700000000000001',
  },
  'private-album-second': { kind: 'no-words', about: 'content', album: '5550111:album:13700000000000001' },
  'private-sticker': { kind: 'no-words', about: 'content' },
  'private-voice': { kind: 'no-words', about: 'content' },
  'private-location': { kind: 'no-words', about: 'content' },
  'private-live-location-moved': nothing('an edit without text'),
  'private-edited': edit('5550111', '101', 'Where is my order A-1002?'),
  'private-edited-caption': edit('5550111', '107', 'And this one?'),
  'private-via-bot': message('found by an inline bot', 'msgbot:5550111'),
  'private-service-auto-delete-timer': nothing('no content for the bot'),
  'private-blocked': nothing('no message: my_chat_member'),
  'group-mention': message('who am I?', 'msgbot:-5550200', {
    user_id: '5550111',
    channel_id: '-5550200',
    message_id: '-5550200:201',
    shared: true,
    reply_to: { chat: -5550200, answers: 201 },
  }),
  'supergroup-mention-after-emoji': message('👩‍🔧👍 hey what is 𝒳?', 'msgbot:-1005550200'),
  'supergroup-text-mention': message('ask about it', 'msgbot:-1005550200'),
  'supergroup-reply-to-bot': message('And mine?', 'msgbot:-1005550200', { user_id: '5550112' }),
  'supergroup-reply-to-other': OVERHEARD,
  'supergroup-mention-of-other': OVERHEARD,
  'supergroup-mention-alone': { kind: 'no-words', about: 'empty' },
  'supergroup-command': message('/weather London', 'msgbot:-1005550200'),
  'group-command-bare': message('/weather London', 'msgbot:-5550200'),
  'supergroup-command-of-other-bot': OVERHEARD,
  'supergroup-service-auth': {
    kind: 'command',
    command: { name: 'service_auth', argument: 'x.y.z' },
    inPrivate: false,
    message: 211,
    place: { reply_to: { chat: -1005550200, answers: 211 }, message_id: '-1005550200:211' },
  },
  'supergroup-caption-mention': message('on this picture', 'msgbot:-1005550200'),
  'forum-topic-of-the-bot-plain': OVERHEARD,
  'forum-topic-mention': message('in the topic', 'msgbot:-1005550300:301', {
    reply_to: { chat: -1005550300, topic: 301, answers: 303 },
  }),
  'forum-general-mention': message('in General', 'msgbot:-1005550300'),
  'supergroup-thread-of-replies': message('in a thread of replies', 'msgbot:-1005550200'),
  'supergroup-anonymous-admin': nothing('sent on behalf of a chat'),
  'supergroup-automatic-forward': nothing('sent on behalf of a chat'),
  'supergroup-another-bot': nothing('sent by a bot'),
  'group-new-members': nothing('not addressed to the bot'),
  'group-migrated': nothing('not addressed to the bot'),
  'supergroup-pinned': nothing('not addressed to the bot'),
  'supergroup-edited-mention': edit('-1005550200', '202', 'what is Y?'),
  'channel-post': nothing('no message: channel_post'),
  'channel-post-edited': nothing('no message: edited_channel_post'),
  'channel-direct-messages': nothing('a chat of type supergroup'),
  'callback-query': nothing('no message: callback_query'),
  'business-message': nothing('no message: business_message'),
  'message-reaction': nothing('no message: message_reaction'),
};

describe('the result of parse', () => {
  it('has an expected value in this test for every sample', () => {
    expect(Object.keys(EXPECTED).sort()).toEqual([...SAMPLES].sort());
  });

  it.each(SAMPLES)('is as expected for %s', (name) => {
    expect(parse(sample(name), BOT)).toMatchObject(EXPECTED[name] ?? {});
  });

  it('is unclear if it depends on the name of the bot and the name is not known', () => {
    const unnamed = { ...BOT, username: null };
    const kinds = (name: string) => parse(sample(name), unnamed).kind;
    for (const name of ['group-mention', 'supergroup-command', 'supergroup-mention-of-other'])
      expect(kinds(name), name).toBe('unclear');
    // The bot's id is in its token, so replies to the bot and mentions by id are recognized at once.
    for (const name of [
      'supergroup-reply-to-bot',
      'supergroup-text-mention',
      'group-command-bare',
      'private-text',
    ])
      expect(kinds(name), name).toBe('message');
  });
});

it('the result of parse is unclear if a reply may be to the bot and the id of the bot is not known', () => {
  const kindOf = (name: string) => parse(sample(name), { id: null, username: null }).kind;
  expect(kindOf('supergroup-reply-to-bot')).toBe('unclear');
  expect(kindOf('group-new-members')).toBe('nothing');
  const named = parse(sample('supergroup-reply-to-bot'), { id: null, username: 'agentd_bot' });
  expect(named.kind).toBe('overheard');
});

/** Parses a sample of a private message with changed members. `from` and `chat` are merged with those of the sample. */
function privately(
  text: string,
  { from = {}, chat = {}, ...members }: Record<string, object | unknown> = {},
): Parsed {
  const { message: base } = sample('private-text') as { message: Record<string, object> };
  const update = {
    update_id: 1,
    message: {
      ...base,
      text,
      ...members,
      from: { ...base.from, ...(from as object) },
      chat: { ...base.chat, ...(chat as object) },
    },
  };
  return parse(update, BOT);
}

describe('a mention', () => {
  const inGroup = (text: string, entity: object) => {
    const { message: base } = sample('group-mention') as { message: object };
    return parse({ update_id: 1, message: { ...base, text, entities: [entity] } }, BOT);
  };

  it('can identify the bot by its id if the text contains only a display name', () => {
    const named = (id: number) =>
      inGroup('agentd, who am I?', { type: 'text_mention', offset: 0, length: 6, user: { id } });
    expect(named(BOT.id)).toMatchObject({ kind: 'message', message: { text: 'who am I?' } });
    expect(named(5550112)).toEqual(OVERHEARD);
  });

  it('before a command does not change the command', () => {
    expect(
      inGroup('@agentd_bot /service_auth a.b.c', { type: 'mention', offset: 0, length: 11 }),
    ).toMatchObject({
      kind: 'command',
      command: { name: 'service_auth', argument: 'a.b.c' },
      inPrivate: false,
    });
  });

  it('is recognized only where the platform marks a mention, not in other text that looks like a mention', () => {
    expect(inGroup('see @agentd_bot', { type: 'url', offset: 4, length: 11 })).toEqual(OVERHEARD);
    expect(inGroup('@agentd_bot_2 hi', { type: 'mention', offset: 0, length: 13 })).toEqual(OVERHEARD);
  });
});

describe('an update with minimal data', () => {
  const LEAST = { message_id: 7, chat: { id: 5550111, type: 'private' }, text: 'hello' };
  const from = { id: 5550111 };
  const ofAda = { user_id: '5550111', message_id: '5550111:7', shared: false };

  it.each([
    ['no update_id, date, or name', { ...LEAST, from }],
    [
      'ids as texts',
      { ...LEAST, message_id: '7', chat: { id: '5550111', type: 'private' }, from: { id: '5550111' } },
    ],
    ['no type of the chat', { ...LEAST, chat: { id: 5550111 }, from }],
    ['no sender, in a private chat', LEAST],
  ])('is read: %s', (_, given) => {
    expect(parse({ message: given }, BOT)).toMatchObject(message('hello', 'msgbot:5550111', ofAda));
  });

  it.each([
    ['no sender, in a group', { ...LEAST, chat: { id: -5550200, type: 'group' } }, 'no sender'],
    [
      'no type of the chat, and an id of the chat that is not the id of the sender',
      { ...LEAST, chat: { id: -5550200 }, from },
      'a chat of type unknown',
    ],
    ['an invalid sender', { ...LEAST, from: { id: 'me' } }, 'no sender'],
    ['an id that is too large for a number', { ...LEAST, from: { id: '99999999999999999' } }, 'no sender'],
  ])('is ignored: %s', (_, given, why) => {
    expect(parse({ message: given }, BOT)).toEqual(nothing(why));
  });

  it('is shared if the id of the private chat is not the id of the sender', () => {
    expect(parse({ message: { ...LEAST, from: { id: 5550112 } } }, BOT)).toMatchObject(
      message('hello', 'msgbot:5550111', { user_id: '5550112', shared: true }),
    );
    expect(
      parse({ message: { ...LEAST, text: '/service_auth eyJ', from: { id: 5550112 } } }, BOT),
    ).toMatchObject({
      ...{ kind: 'command', user_id: '5550112', inPrivate: false },
    });
  });

  it.each([
    ['@agentd_bot hello', 'hello'],
    ['hello (@Agentd_Bot)', 'hello ( )'],
    ['hello @agentd_bot, @agentd_bot!', 'hello !'],
  ])('mentions the bot in its text, if entities are absent: %j', (text, said) => {
    const given = { ...LEAST, chat: { id: -5550200, type: 'group' }, from, text };
    expect(parse({ message: given }, BOT)).toMatchObject(message(said, 'msgbot:-5550200'));
    expect(parse({ message: given }, { ...BOT, username: null })).toEqual({ kind: 'unclear' });
    expect(parse({ message: { ...given, entities: [] } }, BOT)).toEqual(OVERHEARD);
  });

  it.each(['me@agentd_bot hi', '@agentd_bot2 hi', '@@agentd_bot', 'a.@agentd_bot.example@agentd_bot@x'])(
    'does not mention the bot with %j',
    (text) => {
      const given = { ...LEAST, chat: { id: -5550200, type: 'group' }, from, text };
      expect(parse({ message: given }, BOT)).toEqual(OVERHEARD);
    },
  );
});

describe('a command', () => {
  it.each([
    ['/service_auth a.b.c', 'a.b.c'],
    ['  /service_auth\n\na.b.c \n', 'a.b.c'],
    ['/Service_Auth a.b.c', 'a.b.c'],
    ['/service-auth a.b.c', 'a.b.c'],
    ['/service_auth@agentd_bot a.b.c', 'a.b.c'],
    ['/service_auth@Other_Bot a.b.c', 'a.b.c'],
    ['/service_auth', ''],
    ['/service_auth OFF', 'OFF'],
  ])('is recognized in a private chat: %j', (text, argument) => {
    expect(privately(text)).toMatchObject({ kind: 'command', command: { name: 'service_auth', argument } });
  });

  it.each([
    'please /service_auth a.b.c',
    '/service_authx a.b.c',
    '//service_auth',
    '/service_auth:a.b.c',
    '/',
  ])('is not recognized in %j', (text) => {
    expect(privately(text)).toMatchObject({ kind: 'message', message: { text } });
  });

  it('that the channel does not know is passed to the agent', () => {
    expect(privately('/weather London')).toMatchObject({ message: { text: '/weather London' } });
  });

  it('in an edited message gets a new answer, but an edited /start is ignored', () => {
    const edited = (text: string) => {
      const { message: base } = sample('private-text') as { message: object };
      return parse({ update_id: 1, edited_message: { ...base, text, edit_date: 1_795_290_200 } }, BOT);
    };
    expect(edited('/service_auth a.b.c')).toMatchObject({
      kind: 'command',
      place: { message_id: '5550111:101:1795290200' },
    });
    expect(edited('/start')).toEqual(nothing('an edited command'));
  });

  it('names the bot in upper or lower case', () => {
    const { message: base } = sample('supergroup-command') as { message: object };
    const update = { update_id: 1, message: { ...base, text: '/weather@AGENTD_Bot London', entities: [] } };
    expect(parse(update, BOT)).toMatchObject(message('/weather London', 'msgbot:-1005550200'));
  });

  it('without a time of the edit is still an edit, not another message', () => {
    const { edited_message } = sample('private-edited') as { edited_message: object };
    const update = { update_id: 1, edited_message: { ...edited_message, edit_date: undefined } };
    expect(parse(update, BOT)).toMatchObject(edit('5550111', '101', 'Where is my order A-1002?'));
  });
});

describe('a sender', () => {
  it.each([
    [{ first_name: ' Ada\u0000\n', last_name: 'King\u2028Lovelace' }, 'Ada King Lovelace'],
    [{ first_name: '', last_name: undefined, username: 'ada_l' }, 'ada_l'],
    [{ first_name: 'A'.repeat(5000), last_name: undefined }, 'A'.repeat(200)],
    [{ first_name: '👍'.repeat(150), last_name: undefined }, '👍'.repeat(100)],
  ])('has the name that the sender chose, cleaned and shortened', (from, user_name) => {
    expect(privately('hello', { from })).toMatchObject({ message: { metadata: { user_name } } });
  });

  it('needs no name', () => {
    const from = { first_name: 5, last_name: {}, username: null };
    expect(privately('hello', { from })).toMatchObject({ kind: 'message', message: { metadata: {} } });
  });

  it.each([
    ['may be a bot', { from: { is_bot: 'true' } }],
    ['has a negative id', { from: { id: -5 } }],
    ['has an id that a number cannot represent exactly', { from: { id: 2 ** 53 }, chat: { id: 2 ** 53 } }],
    ['may write in the name of a chat', { sender_chat: null }],
  ])('is ignored if it %s', (_title, members) => {
    expect(privately('hello', members).kind).toBe('nothing');
  });
});

describe('a text', () => {
  it('that is too long for the agent is not passed on, but is reported', () => {
    expect(privately('a'.repeat(16_001))).toMatchObject({ kind: 'no-words', about: 'too-long' });
    expect(privately('👍'.repeat(16_000))).toMatchObject({ kind: 'message' });
  });

  it('is well-formed, even if an entity cuts a character in half', () => {
    const { message: base } = sample('group-mention') as { message: object };
    const entities = [{ type: 'text_mention', offset: 1, length: 1, user: { id: BOT.id } }];
    const parsed = parse({ update_id: 1, message: { ...base, text: '👍👍', entities } }, BOT);
    expect(parsed).toMatchObject({ kind: 'message', message: { text: '\ufffd 👍' } });
  });
});
