import { describe, expect, it } from 'vitest';
import { readPress as readTelegramPress } from '../../../plugins/msgbot/parse.ts';
import { renderParts as telegramParts } from '../../../plugins/msgbot/render.ts';
import phonechat from '../../../plugins/phonechat/index.ts';
import { parse as parseWhatsApp } from '../../../plugins/phonechat/parse.ts';
import { renderMessages as whatsAppMessages } from '../../../plugins/phonechat/render.ts';
import { readPress as readSlackPress } from '../../../plugins/teamchat/parse.ts';
import { renderParts as slackParts } from '../../../plugins/teamchat/render.ts';
import { deliver } from '../../../src/channel/conformance/open-channel.ts';
import { pressPayload, readPressPayload } from '../../../src/channel/index.ts';
import { recordingScope } from '../../support/channel-scope.ts';
import { settingsOf } from '../../support/fake-platform.ts';
import { PLATFORMS } from '../../support/platforms.ts';

const ID = 'AAAAAAAAAAAAAAAAAAAAAA';
const YES = pressPayload(ID, true);
const question = (text: string) => ({
  id: ID,
  lead: 'Lead.',
  question: text,
  confirm: 'Confirm',
  decline: 'Cancel',
});

describe('the payload of a button', () => {
  it('contains the answer, in at most 64 ASCII characters', () => {
    for (const approve of [true, false]) {
      expect(readPressPayload(pressPayload(ID, approve))).toEqual({ id: ID, approve });
      expect(pressPayload('x'.repeat(52), approve).length).toBeLessThanOrEqual(64);
    }
  });

  it.each([
    undefined,
    null,
    7,
    '',
    'yes',
    'agentd:maybe:x',
    'agentd:yes:',
    `${YES} `,
    `agentd:yes:${'x'.repeat(53)}`,
  ])('is ignored if it is not from a question: %j', (payload) =>
    expect(readPressPayload(payload)).toBeNull(),
  );
});

describe('a question that is too long to have buttons', () => {
  const long = (characters: number) => 'x'.repeat(characters - 1);

  it('is sent as text in Slack, beyond 3,000 characters', async () => {
    expect((await slackParts({ text: 'all', confirmation: question(long(3000)) })).at(-1)).toHaveProperty(
      'blocks',
    );
    expect(await slackParts({ text: 'all', confirmation: question(long(3002)) })).toEqual([{ text: 'all' }]);
  });

  it('is sent as text in WhatsApp, beyond 1,024 characters', async () => {
    expect(
      (await whatsAppMessages({ text: 'all', confirmation: question(long(1024)) })).at(-1),
    ).toHaveProperty('interactive');
    expect(await whatsAppMessages({ text: 'all', confirmation: question(long(1026)) })).toMatchObject([
      { text: { body: 'all' } },
    ]);
  });

  it('is sent as text in Telegram, if it does not fit into one message', async () => {
    expect((await telegramParts({ text: 'all', confirmation: question(long(4096)) })).at(-1)).toHaveProperty(
      'reply_markup',
    );
    expect(await telegramParts({ text: 'all', confirmation: question(long(4098)) })).toEqual([
      { text: 'all' },
    ]);
  });
});

describe('a question with buttons in Slack', () => {
  it('does not turn names between colons into pictures, or addresses into links', async () => {
    const [part] = await slackParts({
      text: 'all',
      confirmation: { ...question('reason: ":tada: :x:"'), lead: '' },
    });
    expect(part?.text).not.toMatch(/:[\w]+:/);
    expect(part?.blocks?.[0]).toMatchObject({ text: { verbatim: true } });
  });
});

describe('a press of a button in Slack', () => {
  const payload = {
    type: 'block_actions',
    user: { id: 'U1', team_id: 'T1' },
    team: { id: 'T1' },
    channel: { id: 'C1' },
    // The bot has written the message with the button.
    message: { user: 'UBOT', ts: '2.0', thread_ts: '1.0' },
    actions: [{ value: YES, action_ts: '3.000001' }],
  };
  const read = (members: object = {}) => {
    const press = readSlackPress({ ...payload, ...members });
    return typeof press === 'string' ? press : press.message;
  };

  it('comes from the person who pressed it, in the thread of the question', () => {
    expect(read()).toEqual({
      platform: 'teamchat',
      user_id: 'U1',
      channel_id: 'C1',
      thread_id: 'teamchat:T1:C1:1.0',
      text: '',
      confirm: { id: ID, approve: true },
      metadata: {},
      message_id: 'press:C1:U1:3.000001',
      sent_at: 3000,
      shared: true,
      workspace: 'T1',
      reply_to: { channel: 'C1', thread_ts: '1.0' },
    });
  });

  it('names the person as Slack does', () => {
    expect(read({ user: { id: 'U1', team_id: 'T1', name: 'ada' } })).toMatchObject({
      metadata: { user_name: 'ada' },
    });
  });

  it('in a direct message belongs to the conversation, not to a thread', () => {
    expect(read({ channel: { id: 'D1' }, message: { ts: '2.0' } })).toMatchObject({
      thread_id: 'teamchat:T1:D1',
      shared: false,
      reply_to: { channel: 'D1' },
    });
  });

  it('without a time always has the same message id', () => {
    const press = read({ actions: [{ value: YES }] });
    expect(press).toMatchObject({ confirm: { id: ID, approve: true }, message_id: `press:C1:U1:${YES}` });
    expect(press).not.toHaveProperty('sent_at');
  });

  it('at a whole second may leave out the fraction of its time', () => {
    expect(read({ actions: [{ value: YES, action_ts: '1663966382' }] })).toMatchObject({
      sent_at: 1_663_966_382_000,
    });
  });

  it('by a user of another company has the workspace in the user id', () => {
    expect(read({ user: { id: 'U1', team_id: 'T2' } })).toMatchObject({ user_id: 'T2:U1' });
    expect(read({ user: { id: 'U1', team_id: 'T2' }, enterprise: { id: 'E1' } })).toMatchObject({
      user_id: 'U1',
    });
  });

  it.each([
    [{ type: 'view_submission' }],
    [{ actions: [] }],
    [{ actions: [{ value: 'other', action_ts: '3.0' }] }],
    [{ actions: [{ value: YES, action_ts: 'x' }] }],
    [{ user: { id: 'U1:evil' } }],
    [{ channel: null, container: null }],
  ])('is ignored if it has %j', (members) => expect(read(members)).toEqual(expect.any(String)));
});

describe('a press of a button in Telegram', () => {
  const update = (members: object = {}) => ({
    update_id: 1,
    callback_query: {
      id: '438',
      from: { id: 7, is_bot: false, first_name: 'Ada', language_code: 'de' },
      message: {
        message_id: 9,
        from: { id: 1, is_bot: true },
        chat: { id: -100, type: 'supergroup' },
        date: 5,
      },
      data: YES,
      ...members,
    },
  });

  it('comes from the person who pressed it, not from the bot whose message has the button', () => {
    expect(readTelegramPress(update())).toEqual({
      query_id: '438',
      message: expect.objectContaining({
        user_id: '7',
        thread_id: 'msgbot:-100',
        text: '',
        confirm: { id: ID, approve: true },
        message_id: 'press:438',
        shared: true,
        locale: 'de',
      }),
    });
  });

  it.each(['cb.1', 'a/b=', 'x'.repeat(64)])('may have the id %s', (id) => {
    expect(readTelegramPress(update({ id }))?.query_id).toBe(id);
  });

  it.each(['', 'a b', 'x\n', 'x'.repeat(65), 7])('is ignored if it has the id %j', (id) => {
    expect(readTelegramPress(update({ id }))).toBeNull();
  });

  it('of a different button is acknowledged, but causes no message', () => {
    expect(readTelegramPress(update({ data: 'other' }))).toEqual({ query_id: '438', message: null });
    expect(readTelegramPress(update({ message: undefined }))).toEqual({ query_id: '438', message: null });
    expect(readTelegramPress({ update_id: 1, message: {} })).toBeNull();
  });
});

describe('a press of a button in WhatsApp', () => {
  const webhook = (reply: object) => ({
    entry: [
      {
        changes: [
          {
            value: {
              metadata: { phone_number_id: '1' },
              messages: [
                {
                  from: '4915100000',
                  id: 'wamid.1',
                  timestamp: '5',
                  type: 'interactive',
                  interactive: { type: 'button_reply', button_reply: reply },
                },
              ],
            },
          },
        ],
      },
    ],
  });

  it('comes from the sender of the message, and a press of any other button becomes a message with the title of the button', () => {
    const { messages } = parseWhatsApp(webhook({ id: YES, title: 'Confirm' }), new Set(['1']));
    expect(messages).toMatchObject([
      { user_id: '+4915100000', text: '', confirm: { id: ID, approve: true } },
    ]);
    const other = parseWhatsApp(webhook({ id: 'other', title: 'Confirm' }), new Set(['1']));
    expect(other.messages.map(({ text, confirm }) => [text, confirm])).toEqual([['Confirm', undefined]]);
  });

  it('keeps its place among the other messages of a delivery', async () => {
    const simulator = await phonechat.simulator?.();
    if (!simulator) throw new Error('the channel has no simulator');
    const settings = settingsOf(
      phonechat,
      simulator.devSettings((name) => name.padEnd(43, 'x'), 'http://127.0.0.1:9'),
    );
    const came: string[] = [];
    const scope = recordingScope(settings, {
      async enqueue(messages) {
        came.push(...messages.map(({ text }) => text));
        return messages.map(() => 'kept');
      },
      async press() {
        came.push('a press');
        return { outcome: 'enqueued' };
      },
    });
    const event = { user: '+16505551234', place: 'direct', sent_at: Date.now() } as const;
    const messages = ['one', 'two', YES, 'three'].map((text, number) => {
      const kind = text === YES ? 'press' : 'message';
      return JSON.parse(simulator.delivery({ ...event, kind, text, number }, settings).body);
    });
    const [first, ...others] = messages;
    first.entry.push(...others.flatMap(({ entry }) => entry));
    const given = simulator.delivery({ ...event, kind: 'message', text: '', number: 9 }, settings);
    const signed = simulator.sign?.({ ...given, body: JSON.stringify(first) }, settings);
    expect(await deliver(phonechat.create(scope), signed ?? given)).toMatchObject({ status: 200 });
    expect(came).toEqual(['one', 'two', 'a press', 'three']);
  });

  it.each(['direct', 'group'] as const)(
    'that is refused is answered only where nobody else reads it: %s',
    async (place) => {
      const simulator = await phonechat.simulator?.();
      if (!simulator) throw new Error('the channel has no simulator');
      const settings = settingsOf(
        phonechat,
        simulator.devSettings((name) => name.padEnd(43, 'x'), 'http://127.0.0.1:9'),
      );
      const scope = recordingScope(settings, {
        press: async () => ({ outcome: 'refused', text: 'Not yours.' }),
      });
      const press = { kind: 'press', user: '+16505551234', text: YES, place, number: 1 } as const;
      const given = simulator.delivery({ ...press, sent_at: Date.now() }, settings);
      expect(await deliver(phonechat.create(scope), given)).toMatchObject({ status: 200 });
      expect(scope.notices.map(({ text }) => text)).toEqual(place === 'direct' ? ['Not yours.'] : []);
    },
  );
});

it.each(PLATFORMS.map(({ plugin }) => [plugin.name, plugin] as const))(
  'a press on %s is accepted only with the signature of the platform',
  async (_, plugin) => {
    const simulator = await plugin.simulator?.();
    if (!simulator) throw new Error('the channel has no simulator');
    const settings = settingsOf(
      plugin,
      simulator.devSettings((name) => name.padEnd(43, 'x'), 'http://127.0.0.1:9'),
    );
    const scope = recordingScope(settings);
    const channel = plugin.create(scope);
    const [user = ''] = simulator.who();
    const press = {
      kind: 'press',
      user,
      text: YES,
      place: 'direct',
      number: 1,
      sent_at: Date.now(),
    } as const;
    const forged = simulator.delivery({ ...press, bad_signature: true }, settings);
    await expect(deliver(channel, forged)).rejects.toMatchObject({ code: 'invalid_signature' });
    expect(scope.pressed).toEqual([]);
    expect(await deliver(channel, simulator.delivery(press, settings))).toMatchObject({ status: 200 });
    expect(scope.pressed).toMatchObject([{ confirm: { id: ID, approve: true } }]);
  },
);
