import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import teamchat from '../../../../plugins/teamchat/index.ts';
import { type Parsed, parse } from '../../../../plugins/teamchat/parse.ts';
import { TEXTS } from '../../../../plugins/teamchat/texts.ts';
import { checkMessage, checkReplyTo, checkText } from '../../../../src/channel/check-message.ts';
import type {
  AnswerReaction,
  DeletedMessage,
  EditedMessage,
  IncomingMessage,
} from '../../../../src/channel/index.ts';
import { type Sample, sample, sampleNames } from '../../../fixtures/teamchat/sample.ts';
import { effort } from '../../../support/effort.ts';

const TEAM = 'T061EG9R6';
const CHANNEL = 'C123ABC456';
const DIRECT = 'D024BE91L';

interface Expected {
  kind: Parsed['kind'];
  message?: Partial<IncomingMessage>;
  message_id?: string;
  edited?: EditedMessage;
  deleted?: DeletedMessage;
  reaction?: AnswerReaction;
  notice?: { default: string };
  challenge?: string;
}

function mention(ts: string, text: string, message: Partial<IncomingMessage> = {}, root = ts): Expected {
  return {
    kind: 'message',
    message: {
      platform: 'teamchat',
      user_id: 'U061F7AUR',
      channel_id: CHANNEL,
      thread_id: `teamchat:${TEAM}:${CHANNEL}:${root}`,
      text,
      metadata: {},
      message_id: `${CHANNEL}:${ts}`,
      sent_at: Math.floor(Number(ts) * 1000),
      shared: true,
      reply_to: { channel: CHANNEL, thread_ts: root },
      ...message,
    },
  };
}

function direct(ts: string, text: string, user_id: string, root?: string): Expected {
  return {
    kind: 'message',
    message: {
      platform: 'teamchat',
      user_id,
      channel_id: DIRECT,
      thread_id: `teamchat:${TEAM}:${DIRECT}${root === undefined ? '' : `:${root}`}`,
      text,
      metadata: {},
      message_id: `${DIRECT}:${ts}`,
      sent_at: Math.floor(Number(ts) * 1000),
      shared: false,
      reply_to: { channel: DIRECT, ...(root === undefined ? {} : { thread_ts: root }) },
    },
  };
}

const ignored: Expected = { kind: 'nothing' };
const overheard = { kind: 'overheard', message: { shared: true } } as unknown as Expected;
const unreadable = (message_id: string, notice: RegExp): Expected => ({
  kind: 'unreadable',
  message_id,
  notice: expect.objectContaining({ default: expect.stringMatching(notice) }),
});

/** The expected result for every documented delivery. */
const EXPECTED: Readonly<Record<string, Expected>> = {
  'url-verification': {
    kind: 'challenge',
    challenge: '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P',
  },
  'app-rate-limited': { kind: 'trouble' },
  'tokens-revoked': { kind: 'trouble' },
  'app-uninstalled': { kind: 'trouble' },

  'app-mention-documented': mention('1515449522.000016', 'What is the hour of the pearl?'),
  'app-mention': mention('1515449522.000016', 'is it everything a river should be?'),
  'app-mention-thread': mention(
    '1515449600.000200',
    'You can count on for an honorable mention & more',
    { user_id: 'W021FGA1Z' },
    '1515449522.000016',
  ),
  'app-mention-edited': mention('1515449522.000016', 'now you are asked'),
  'app-mention-files': mention('1531420618.000200', 'what is this?'),
  'app-mention-empty': unreadable(`${CHANNEL}:1515449522.000021`, /question/),
  // The platform does not promise that ids of different workspaces differ.
  'app-mention-external': mention('1515449522.000018', 'hello from the other company', {
    user_id: 'T0EXTERNAL:U061F7AUR',
    metadata: { user_name: 'corgis' },
  }),
  'app-mention-shared-own': mention('1515449522.000019', 'hello from our company', {}, '1515449522.000018'),
  'app-mention-enterprise': mention('1515449522.000020', 'from the grid', { user_id: 'W012A3CDE' }),
  'app-mention-of-bot': ignored,
  'app-mention-of-integration': ignored,

  'message-im-documented': direct('1355517523.000005', 'Hello hello can you hear me?', 'U2147483697'),
  'message-im': direct(
    '1663966382.046509',
    'see the page (https://example.com/a?b=1&c=2) in #tides, ask @U061F7AUR <now>',
    'U2147483697',
  ),
  'message-im-thread': direct('1663966390.000100', 'in the thread', 'U2147483697', '1663966382.046509'),
  'message-assistant-thread': direct(
    '1724264405.531769',
    'from the side panel',
    'U2147483697',
    '1724264400.000100',
  ),
  'message-app-home': direct('1525215129.000001', 'How many cats did we herd yesterday?', 'U061F7AUR'),
  'file-share': direct('1531420618.000201', 'the tides of today', 'U061F7AUR'),
  'file-share-wordless': unreadable(`${DIRECT}:1531420618.000202`, /only read text/),
  forwarded: unreadable(`${DIRECT}:1724966800.923979`, /only read text/),
  'thread-broadcast': direct(
    '1525215150.000002',
    'told to the whole conversation',
    'U061F7AUR',
    '1525215129.000001',
  ),
  'me-message': direct('1355517523.000008', 'is doing that thing', 'U2147483697'),
  'message-mpim': overheard,
  'message-channel': overheard,
  'message-group': overheard,
  'bot-message': ignored,
  'own-message': ignored,
  'own-user': ignored,
  slackbot: ignored,

  'message-changed': {
    kind: 'edit',
    edited: {
      message_id: `${DIRECT}:1663966382.046509`,
      user_id: 'U2147483697',
      thread_id: `teamchat:${TEAM}:${DIRECT}`,
      text: 'hello @U061F7AUR',
    },
  },
  'message-changed-channel': {
    kind: 'edit',
    edited: {
      message_id: `${CHANNEL}:1515449522.000016`,
      user_id: 'U2147483697',
      thread_id: `teamchat:${TEAM}:${CHANNEL}:1515449522.000016`,
      text: 'what now?',
    },
  },
  'message-changed-unfurl': ignored,
  'message-changed-unfurl-of-edited': ignored,
  'message-changed-of-bot': ignored,
  'message-changed-tombstone': ignored,
  'message-deleted': {
    kind: 'deletion',
    deleted: { message_id: `${DIRECT}:1358878749.000002`, user_id: 'U2147483697' },
  },
  'message-replied': ignored,
  'subtype-channel-join': ignored,
  'subtype-channel-topic': ignored,
  'subtype-ekm-access-denied': ignored,
  'subtype-huddle-thread': ignored,
  'subtype-reminder-add': ignored,
  'reaction-added': {
    kind: 'reaction',
    reaction: { sent_id: 'C123ABC456:1360782400.498405', user_id: 'U123ABC456', rating: 1 },
  },
  'assistant-thread-started': ignored,
  'app-home-opened': ignored,
};

describe('a delivery', () => {
  it.each(sampleNames())('is parsed as expected: %s', (name) => {
    expect(EXPECTED).toHaveProperty([name]);
    expect(parse(sample(name), null)).toMatchObject(EXPECTED[name] ?? {});
  });

  it('has a sample for every expected result', () => {
    expect(Object.keys(EXPECTED).sort()).toEqual(sampleNames().sort());
  });

  it('has the same message id, whether the message arrives as a mention or as a direct message', () => {
    const asMention = parse(sample('app-mention'), null);
    const asMessage = parse(with_(sample('message-channel'), { channel_type: 'im' }), null);
    if (asMention.kind !== 'message' || asMessage.kind !== 'message') return expect.unreachable();
    expect(asMessage.message.message_id).toBe(asMention.message.message_id);
  });

  it('in a direct message that mentions the bot belongs to the same conversation as all other direct messages', () => {
    const mentioned = parse(with_(sample('app-mention'), { channel: DIRECT, channel_type: 'im' }), null);
    expect(mentioned).toMatchObject({ message: { thread_id: `teamchat:${TEAM}:${DIRECT}`, shared: false } });
    const untold = parse(with_(sample('app-mention'), { channel: DIRECT }), null);
    expect(untold).toMatchObject({ message: { thread_id: `teamchat:${TEAM}:${DIRECT}` } });
  });

  it('in a thread of a shared channel belongs to one session for all senders', () => {
    const theirs = parse(sample('app-mention-external'), null);
    const ours = parse(sample('app-mention-shared-own'), null);
    if (theirs.kind !== 'message' || ours.kind !== 'message') return expect.unreachable();
    expect(theirs.message.thread_id).toBe(ours.message.thread_id);
    // The same id in two workspaces is two users.
    expect(theirs.message.user_id).not.toBe(ours.message.user_id);
  });

  it('in a shared channel is from another company, even if our workspace delivers it', () => {
    const parsed = parse(with_(sample('app-mention-external'), { team: TEAM }), null);
    expect(parsed).toMatchObject({ message: { user_id: 'T0EXTERNAL:U061F7AUR' } });
  });

  it('in a shared channel without the workspace of the sender is from an unknown user', () => {
    const { user_team, source_team, team, ...event } = sample('app-mention-external').event as Sample;
    const parsed = parse({ ...sample('app-mention-external'), event }, null);
    expect(parsed).toMatchObject({ message: { user_id: 'external:U061F7AUR' } });
    const { context_enterprise_id, ...delivery } = sample('app-mention-external');
    expect(parse({ ...delivery, event }, null)).toMatchObject({
      message: { user_id: 'external:U061F7AUR' },
    });
  });

  it('without a workspace belongs to the workspace of the token', () => {
    const event = {
      type: 'app_mention',
      user: 'U061F7AUR',
      text: '<@U0LAN0Z89> hi',
      channel: CHANNEL,
      ts: '1515449522.000016',
    };
    const untold = `teamchat:-:${CHANNEL}:${event.ts}`;
    expect(parse({ type: 'event_callback', event }, null)).toMatchObject(
      mention(event.ts, 'hi', { thread_id: untold }),
    );
    // Even so, a message from another company does not match a link of our company.
    const external = {
      type: 'event_callback',
      is_ext_shared_channel: true,
      event: { ...event, team: 'T0THEIRS' },
    };
    expect(parse(external, null)).toMatchObject({ message: { user_id: 'T0THEIRS:U061F7AUR' } });
  });

  it('of a whole second may leave out the fraction of its time', () => {
    expect(parse(with_(sample('message-im'), { ts: '1663966382' }), null)).toMatchObject({
      message: { message_id: `${DIRECT}:1663966382`, sent_at: 1_663_966_382_000 },
    });
  });

  it('without the id of the bot is parsed with the id that the channel already knows', () => {
    const text = '<@U2> ask <@U0LAN0Z89> for me';
    const unknown = with_(sample('app-mention-documented'), { text });
    expect(parse(unknown, 'U0LAN0Z89')).toMatchObject({ message: { text: '@U2 ask for me' } });
    expect(parse(unknown, null)).toMatchObject({ message: { text: 'ask @U0LAN0Z89 for me' } });
    expect(parse(with_(sample('message-im-documented'), { user: 'U0LAN0Z89' }), 'U0LAN0Z89')).toMatchObject(
      ignored,
    );
  });

  it('with a text that is too long causes a notice to its sender, and nothing is silently cut', () => {
    const long = (text: string) => parse(with_(sample('message-im'), { text }), null);
    expect(long('x'.repeat(16_000))).toMatchObject({ kind: 'message' });
    expect(long('😀'.repeat(16_000))).toMatchObject({ kind: 'message' });
    expect(long('x'.repeat(16_001))).toMatchObject({
      kind: 'unreadable',
      reply_to: { channel: DIRECT },
      notice: TEXTS.too_long,
    });
    // The limit counts visible characters, so an escape counts as one.
    expect(long('&amp;'.repeat(16_000))).toMatchObject({ kind: 'message' });
  });

  it('that somebody else has edited is not taken for the words of its author', () => {
    const { event, ...delivery } = sample('message-changed') as { event: Sample };
    const message = { ...(event.message as Sample), edited: { user: 'U0ADMIN', ts: '1' } };
    expect(parse({ ...delivery, event: { ...event, message } }, null)).toMatchObject({ kind: 'nothing' });
  });

  it('with another text is an edit, also without a member that says who edited it', () => {
    const { event } = sample('message-changed') as { event: Sample };
    const { edited: _, ...message } = event.message as Sample;
    const changed = { ...sample('message-changed'), event: { ...event, message } };
    expect(parse(changed, null)).toMatchObject({ kind: 'edit', edited: { text: 'hello @U061F7AUR' } });
  });

  it('with an edit that leaves no usable text is ignored', () => {
    const edit = (text: unknown) => {
      const { event } = sample('message-changed') as { event: Sample };
      const message = { ...(event.message as Sample), text };
      return parse({ ...sample('message-changed'), event: { ...event, message } }, null);
    };
    for (const text of ['', ' ', '<@U0LAN0Z89>', 'x'.repeat(16_001), 7, null])
      expect(edit(text)).toMatchObject(ignored);
  });

  it.each([
    ['user', 'a:b'],
    ['user', 'a\u0000'],
    ['user', 'U'.repeat(65)],
    ['user', 7],
    ['user', { toString: 1 }],
    ['user', undefined],
    ['channel', 'C1:2'],
    ['channel', null],
    ['ts', '1'],
    ['ts', 1.5],
    ['ts', '1e9.0'],
    ['ts', `${'9'.repeat(30)}.0`],
    ['thread_ts', 'x'],
    ['thread_ts', ['1.2']],
    ['text', { length: 3 }],
    ['bot_id', ''],
    ['bot_id', 0],
  ])('is not parsed as a message if its %s is %j', (field, value) => {
    const parsed = parse(with_(sample('message-im'), { [field]: value }), null);
    expect(parsed.kind).not.toBe('message');
  });
});

function with_(delivery: Sample, members: Sample): Sample {
  return { ...delivery, event: { ...(delivery.event as Sample), ...members } };
}

describe('any input', () => {
  const hostile = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.constantFrom<unknown>(
      '__proto__',
      'constructor',
      '\ud800',
      '\u0000',
      '<@U0LAN0Z89>',
      Number.POSITIVE_INFINITY,
      -0,
      [],
      {},
      [[]],
    ),
    fc.string({ unit: 'binary', maxLength: 300 }),
  );
  const anySample = fc.constantFrom(...sampleNames()).map(sample);

  /** Checks that the daemon accepts the result. */
  function check(parsed: Parsed): void {
    const wrong = (problem: string) => {
      throw new Error(`${problem}: ${JSON.stringify(parsed)}`);
    };
    if (parsed.kind === 'message') expect(checkMessage(parsed.message, teamchat, 'm')).toEqual([]);
    if (parsed.kind === 'edit') checkText(parsed.edited.text, wrong);
    if (parsed.kind === 'unreadable') {
      checkText(parsed.notice.default, wrong);
      checkReplyTo(parsed.reply_to, wrong);
    }
  }

  it('is parsed without an error, and the result is valid', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), hostile), fc.option(fc.string()), (payload, self) =>
        check(parse(payload, self)),
      ),
    );
  });

  it('is also parsed if it replaces any part of a delivery', () => {
    fc.assert(
      fc.property(anySample, fc.nat(), hostile, (delivery, nth, value) => {
        const text = JSON.stringify(delivery);
        let seen = 0;
        const parts = countParts(delivery);
        const altered: unknown = JSON.parse(text, (_key, part) => (seen++ === nth % parts ? value : part));
        if (typeof altered === 'object' && altered !== null) check(parse(altered as Sample, null));
      }),
      { numRuns: effort(700, 2000) },
    );
  });

  it('is also parsed as an undocumented member of a delivery', () => {
    fc.assert(
      fc.property(anySample, fc.string(), hostile, (delivery, key, value) => {
        const json = `{${JSON.stringify(key)}:${JSON.stringify(value) ?? 'null'},"__proto__":{"type":"message","bot_id":1},${JSON.stringify(delivery).slice(1)}`;
        check(parse(JSON.parse(json) as Sample, null));
      }),
    );
  });
});

function countParts(value: unknown): number {
  let parts = 0;
  JSON.parse(JSON.stringify(value), (_key, part) => {
    parts++;
    return part;
  });
  return parts;
}

describe('a reaction', () => {
  const changed = (members: object) => {
    const payload = sample('reaction-added') as { event: object };
    return parse({ ...payload, event: { ...payload.event, ...members } }, null);
  };

  it.each([
    ['thumbsup', 1],
    ['+1::skin-tone-4', 1],
    ['-1', -1],
    ['thumbsdown::skin-tone-2', -1],
  ])('%s is the rating %i', (reaction, rating) => {
    expect(changed({ reaction })).toMatchObject({ kind: 'reaction', reaction: { rating } });
  });

  it.each([
    ['another emoji', { reaction: 'heart' }],
    ['a reaction to a file', { item: { type: 'file', file: 'F1' } }],
    ['ids of another form', { item: { type: 'message', channel: 'C:1', ts: '1.2' } }],
    ['no user', { user: null }],
  ])('%s is ignored', (_, members) => {
    expect(changed(members)).toMatchObject({ kind: 'nothing' });
  });
});
