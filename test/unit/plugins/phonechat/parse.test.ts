import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import phonechat from '../../../../plugins/phonechat/index.ts';
import { type Hint, type Parsed, parse } from '../../../../plugins/phonechat/parse.ts';
import {
  checkMessage,
  checkMessageId,
  checkReplyTo,
  checkText,
} from '../../../../src/channel/check-message.ts';
import { fillIn } from '../../../../src/channel/index.ts';
import { effort } from '../../../support/effort.ts';

const SAMPLES = resolve(import.meta.dirname, '../../../fixtures/phonechat');
const OURS = new Set(['106540352242922']);
const BSUID = 'US.13491208655302741918';
const WAMID = 'wamid.HBgLMTY1MDM4Nzk0MzkVAgASGBQzQTRBNjU5OUFFRTAzODEwMTQ0RgA=';
const GROUP = 'Y2FwaV9ncm91cDoxNzA1NTU1MDEzOToxMjAzNjM0MDQ2OTQyMzM4MjAZD';

/** The English text of a hint. */
function saidBy({ text, what }: Pick<Hint, 'text' | 'what'>): string {
  return fillIn(text.default, { max: '16,000', what: what?.default ?? '' });
}

function sample(name: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(SAMPLES, `${name}.json`), 'utf8'));
}

/** The result for a sample, without empty members. */
function outcome(name: string): Record<string, unknown> {
  const { messages, hints, edits, statuses, elsewhere, ignored, errors } = parse(sample(name), OURS);
  const found = {
    texts: messages.map(({ text }) => text),
    hints: hints.map(saidBy),
    edits: edits.map(({ user_id, thread_id, text }) => [user_id, thread_id, text]),
    statuses: statuses.map(({ status, error }) => (error ? { status, ...error } : status)),
    elsewhere: [...elsewhere],
    ignored: [...ignored],
    errors,
  };
  return Object.fromEntries(Object.entries(found).filter(([, list]) => list.length > 0));
}

const EDITOR = ['+16505551234', 'phonechat:106540352242922:+16505551234'];
const NOTHING = { ignored: [['nothing to answer', 1]] };
const ANOTHER_FIELD = { ignored: [['another field', 1]] };
const cannotRead = (what: string) => ({
  hints: [`I can only read text, not ${what}. Please describe it in words.`],
});
const captioned = (text: string, what: string) => ({
  texts: [text],
  hints: [`I can only read the text of your message, not ${what}.`],
});

const EXPECTED: Record<string, Record<string, unknown>> = {
  text: { texts: ['Does it come in another color?'] },
  'text-quoting': { texts: ['Yes, the blue one.'] },
  'text-about-a-product': { texts: ['Is this in stock?'] },
  'text-from-an-ad': { texts: ['Can I get more info about this?'] },
  'text-forwarded': { texts: ['Look at this'] },
  'text-with-bsuid': { texts: ['Hello'] },
  'text-with-parent-bsuid': { texts: ['Hello'] },
  'text-with-bsuid-alone': { texts: ['Hello, it is me.'] },
  'text-with-bsuid-in-contact': { texts: ['Hello, it is me.'] },
  'text-with-identity-hash': { texts: ['Hi'] },
  'brazilian-without-the-ninth-digit': { texts: ['Oi'] },
  'mexican-with-the-one': { texts: ['Hola'] },
  button: { texts: ['Unsubscribe'] },
  'interactive-button': { texts: ['Cancel'] },
  'interactive-list': { texts: ['Priority Mail Express'] },
  'interactive-form': cannotRead('forms'),
  image: cannotRead('pictures'),
  'image-with-caption': captioned('Taj Mahal', 'pictures'),
  video: cannotRead('videos'),
  'video-with-caption': captioned('Is this normal?', 'videos'),
  audio: cannotRead('voice messages or audio'),
  'document-with-caption': captioned('Is this invoice right?', 'documents'),
  sticker: cannotRead('stickers'),
  location: cannotRead('locations'),
  contacts: cannotRead('contacts'),
  'contacts-requested': cannotRead('contacts'),
  order: cannotRead('orders'),
  reaction: NOTHING,
  'reaction-removed': NOTHING,
  'system-changed-number': NOTHING,
  'system-changed-bsuid': NOTHING,
  unsupported: NOTHING,
  unknown: NOTHING,
  'welcome-requested': NOTHING,
  revoke: NOTHING,
  edit: { edits: [[...EDITOR, 'Does it come in blue?']] },
  'edit-of-a-caption': { edits: [[...EDITOR, 'The Taj Mahal']] },
  'group-text': { texts: ['What do you all think about this?'] },
  'group-image': { ignored: [['no text to read, in a group', 1]] },
  'status-sent': { statuses: ['sent'] },
  'status-delivered': { statuses: ['delivered'] },
  'status-read': { statuses: ['read'] },
  'status-played': { statuses: ['played'] },
  'status-in-a-group': { statuses: ['delivered'] },
  'status-failed': { statuses: [{ status: 'failed', code: 131047, title: 'Re-engagement message' }] },
  'account-error': { errors: ['130429: Rate limit hit'] },
  'echo-of-the-business-app': ANOTHER_FIELD,
  'template-status': ANOTHER_FIELD,
  page: { ignored: [['another object', 1]] },
  'another-number': { elsewhere: ['209876543210987'] },
  many: {
    texts: ['one', 'two', 'three', 'four'],
    hints: ['I can only read text, not pictures. Please describe it in words.'],
    statuses: ['sent', 'read'],
  },
};

describe('parse', () => {
  it.each(readdirSync(SAMPLES).filter((file) => file.endsWith('.json')))('reads %s as documented', (file) => {
    const name = file.slice(0, -'.json'.length);
    expect(outcome(name)).toEqual(EXPECTED[name]);
  });

  it('reads all fields of a text message', () => {
    expect(parse(sample('text'), OURS).messages).toEqual([
      {
        platform: 'phonechat',
        user_id: '+16505551234',
        channel_id: '+16505551234',
        thread_id: 'phonechat:106540352242922:+16505551234',
        text: 'Does it come in another color?',
        metadata: { phone_number: '+16505551234', user_name: 'Sheena Nelson' },
        message_id: WAMID,
        sent_at: 1_749_416_383_000,
        shared: false,
        reply_to: { number_id: '106540352242922', to: '16505551234', message_id: WAMID },
      },
    ]);
  });

  it.each(['text-with-bsuid', 'text-with-parent-bsuid'])(
    'reads the business-scoped id of the sender as an alias: %s',
    (name) => {
      expect(parse(sample(name), OURS).messages[0]).toMatchObject({
        user_id: '+16505551234',
        alias_id: BSUID,
        thread_id: 'phonechat:106540352242922:+16505551234',
        reply_to: { to: '16505551234' },
      });
    },
  );

  it.each(['text-with-bsuid-alone', 'text-with-bsuid-in-contact'])(
    'identifies a sender without a number by the business-scoped id, and addresses the reply to that id: %s',
    (name) => {
      const [message] = parse(sample(name), OURS).messages;
      expect(message).toMatchObject({
        user_id: BSUID,
        channel_id: BSUID,
        thread_id: `phonechat:106540352242922:${BSUID}`,
        metadata: { user_name: 'Sheena Nelson' },
        reply_to: { recipient: BSUID },
      });
      expect(message?.metadata.phone_number).toBeUndefined();
      expect(message?.alias_id).toBeUndefined();
      expect(message?.reply_to).not.toHaveProperty('to');
    },
  );

  it('treats a group as a thread that others can read, and the person as the sender', () => {
    expect(parse(sample('group-text'), OURS).messages[0]).toMatchObject({
      user_id: '+16505551234',
      channel_id: GROUP,
      thread_id: `phonechat:106540352242922:group:${GROUP}`,
      shared: true,
      reply_to: { group: GROUP },
    });
  });

  it('assigns each message of a delivery to its sender, in order', () => {
    const { messages, hints } = parse(sample('many'), OURS);
    expect(
      messages.map(({ user_id, metadata, message_id }) => [user_id, metadata.user_name, message_id]),
    ).toEqual([
      ['+16505551234', 'Ada', 'wamid.MQ=='],
      ['+16505555678', 'Bob', 'wamid.Mg=='],
      ['+16505551234', 'Ada', 'wamid.Mw=='],
      ['+16505551234', 'Ada', 'wamid.NQ=='],
    ]);
    expect(hints[0]).toMatchObject({ user_id: '+16505555678', message_id: 'wamid.NA==' });
  });

  it('never uses the contact of one person for another person', () => {
    const [first] = parse(
      withContacts([{ wa_id: '16505555678', user_id: BSUID, profile: { name: 'Bob' } }]),
      OURS,
    ).messages;
    expect(first).toMatchObject({ user_id: '+16505551234', metadata: { phone_number: '+16505551234' } });
    expect(first?.alias_id).toBeUndefined();
    expect(first?.metadata.user_name).toBeUndefined();
  });

  it('ignores a message if several people could have written it', () => {
    const two = [{ wa_id: '16505555678' }, { wa_id: '16505551234' }];
    expect(parse(withContacts(two, { from: undefined }), OURS)).toMatchObject({
      messages: [],
      ignored: new Map([['malformed', 1]]),
    });
  });

  const delivery = (value: object) => ({ entry: [{ changes: [{ value }] }] });
  const least = { from: '16505551234', id: WAMID, type: 'text', text: { body: 'Hi' } };

  it('reads a message without optional fields', () => {
    const { messages } = parse(delivery({ messages: [least] }), OURS);
    expect(messages).toMatchObject([
      { user_id: '+16505551234', thread_id: 'phonechat:106540352242922:+16505551234', text: 'Hi' },
    ]);
  });

  it('does not guess which of several business numbers a message is for', () => {
    const several = new Set([...OURS, '2']);
    expect(parse(delivery({ messages: [least] }), several).messages).toEqual([]);
    expect(parse(delivery({ metadata: {}, messages: [least] }), OURS).messages).toEqual([]);
  });

  it('accepts ids that are JSON numbers', () => {
    const { messages } = parse(
      delivery({
        metadata: { phone_number_id: 106540352242922 },
        contacts: [{ profile: { name: 'Ada' }, wa_id: 16505551234 }],
        messages: [{ ...least, from: 16505551234 }],
      }),
      OURS,
    );
    expect(messages).toMatchObject([{ user_id: '+16505551234', metadata: { user_name: 'Ada' } }]);
  });

  it('treats an invalid error code as absent', () => {
    const odd = { code: { toString: 1, valueOf: 1 } };
    const metadata = { phone_number_id: '106540352242922' };
    const statuses = [{ id: 'w', status: 'failed', errors: [odd] }];
    const parsed = parse(delivery({ metadata, statuses, errors: [odd] }), OURS);
    expect(parsed.statuses).toEqual([
      { status: 'failed', message_id: 'w', error: { code: Number.NaN, title: '' } },
    ]);
    expect(parsed.errors).toEqual(['NaN: ']);
  });

  it('does not answer messages of the business itself', () => {
    expect(parse(withContacts([], { from: '15550783881' }), OURS).ignored).toEqual(
      new Map([['our own number', 1]]),
    );
  });

  it('answers a text that is too long with a hint, and accepts the longest allowed text', () => {
    const hint = 'Your message is too long: I can read up to 16,000 characters. Please send it in parts.';
    const long = parse(withContacts([], { text: { body: 'x'.repeat(16_001) } }), OURS);
    expect([long.messages, long.hints.map(saidBy)]).toEqual([[], [hint]]);
    const longest = parse(withContacts([], { text: { body: ` ${'😀'.repeat(16_000)} ` } }), OURS);
    expect([longest.messages.length, longest.hints]).toEqual([1, []]);
  });

  it.each([
    ['with a control character', { id: 'wamid.\u0000' }],
    ['with half a surrogate pair', { id: 'wamid.\ud800' }],
    ['too long', { id: `wamid.${'x'.repeat(600)}` }],
    ['missing', { id: undefined }],
    ['a number', { id: 7 }],
  ])('ignores a message whose id is %s', (_title, change) => {
    expect(parse(withContacts([], change), OURS)).toMatchObject({
      messages: [],
      ignored: new Map([['malformed', 1]]),
    });
  });

  it.each([
    ['16505551234; DROP', undefined],
    ['+16505551234', '+16505551234'],
    ['us.123', undefined],
    [BSUID, BSUID],
    ['', undefined],
  ])('reads a `from` of %j as the user id %j', (from, user_id) => {
    expect(parse(withContacts([], { from }), OURS).messages[0]?.user_id).toBe(user_id);
  });

  it('repairs the text, and ignores a time that is invalid', () => {
    const message = { text: { body: ' a\ud800b ' }, timestamp: '99999999999999999999' };
    const [first] = parse(withContacts([], message), OURS).messages;
    expect(first?.text).toBe('a\ufffdb');
    expect(first?.sent_at).toBeUndefined();
  });

  it('treats message types as plain words, never as inherited members of objects', () => {
    for (const type of ['constructor', '__proto__', 'toString', 'hasOwnProperty'])
      expect(parse(withContacts([], { type }), OURS).hints).toHaveLength(1);
  });
});

describe('any input', () => {
  const members = [
    'from',
    'from_user_id',
    'id',
    'timestamp',
    'type',
    'text',
    'body',
    'group_id',
    'image',
    'caption',
  ]
    .concat([
      'interactive',
      'button_reply',
      'title',
      'edit',
      'message',
      'contacts',
      'messages',
      'statuses',
      'errors',
    ])
    .concat([
      'wa_id',
      'user_id',
      'profile',
      'name',
      'metadata',
      'phone_number_id',
      '__proto__',
      'constructor',
    ]);
  const words = fc.oneof(
    fc.constantFrom(
      'text',
      'image',
      'edit',
      'interactive',
      'button_reply',
      'failed',
      '106540352242922',
      BSUID,
    ),
    fc.constantFrom('16505551234', 'wamid.1', '\u0000', '\ud800', '', ' '),
    fc.string({ unit: 'binary' }),
    fc.string({ maxLength: 600, minLength: 400 }),
  );
  const anything = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      words,
      fc.constantFrom(null, true, 0, -1, 1e21, Number.MAX_SAFE_INTEGER),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...members), tie('value'), { maxKeys: 6 }),
    ),
  })).value;
  /** Mostly valid values, so that some messages have a single error. */
  const mostly = <T>(right: fc.Arbitrary<T>) =>
    fc.oneof(
      { weight: 8, arbitrary: right },
      { weight: 1, arbitrary: words },
      { weight: 1, arbitrary: anything },
    );
  const message = fc.record(
    {
      from: mostly(fc.constantFrom('16505551234', BSUID)),
      from_user_id: mostly(fc.constant(BSUID)),
      id: mostly(fc.constant('wamid.1')),
      timestamp: mostly(fc.constant('1749416383')),
      type: mostly(fc.constantFrom('text', 'image', 'button', 'interactive', 'edit', 'location')),
      group_id: mostly(fc.constantFrom(null, GROUP)),
      text: mostly(fc.record({ body: words })),
      image: mostly(fc.record({ caption: words })),
      button: mostly(fc.record({ text: words })),
      interactive: mostly(
        fc.record({ type: fc.constant('list_reply'), list_reply: fc.record({ title: words }) }),
      ),
      edit: anything,
    },
    { requiredKeys: ['id', 'type', 'text'] },
  );
  const value = fc.record({
    metadata: mostly(
      fc.constant({ phone_number_id: '106540352242922', display_phone_number: '15550783881' }),
    ),
    contacts: mostly(fc.constant([{ wa_id: '16505551234', user_id: BSUID, profile: { name: 'Ada' } }])),
    messages: mostly(fc.array(message, { maxLength: 3 })),
    statuses: anything,
    errors: anything,
  });
  const change = fc.record({ field: mostly(fc.constant('messages')), value: mostly(value) });
  const entry = fc.record({ changes: mostly(fc.array(change, { maxLength: 2 })) });
  const payload = fc.record({
    object: mostly(fc.constant('whatsapp_business_account')),
    entry: mostly(fc.array(entry, { maxLength: 2 })),
  });

  it('never makes `parse` throw, and never causes a result that the daemon refuses', () => {
    let taken = 0;
    fc.assert(
      fc.property(payload, (sent) => {
        const parsed = parse(JSON.parse(JSON.stringify(sent)) as Record<string, unknown>, OURS);
        expect(refusals(parsed)).toEqual([]);
        taken += parsed.messages.length;
      }),
      { numRuns: effort(700, 2000) },
    );
    // The property is meaningful only if some messages are valid.
    expect(taken).toBeGreaterThan(10);
  });
});

/** The problems that the daemon would report. */
function refusals({ messages, hints, edits }: Parsed): unknown[] {
  const wrong: unknown[] = messages.flatMap((message) => checkMessage(message, phonechat, 'message'));
  const note = (problem: string) => void wrong.push(problem);
  for (const { reply_to, message_id, ...hint } of hints) {
    checkReplyTo(reply_to, note);
    checkText(saidBy(hint), note);
    checkMessageId(`hint:${message_id}`, note);
  }
  for (const { text, message_id } of edits) {
    checkText(text, note);
    checkMessageId(message_id, note);
  }
  return wrong;
}

/** The sample of a text message with these contacts and other changes to the message. */
function withContacts(contacts: object[], change: object = {}): Record<string, unknown> {
  const text = sample('text') as {
    entry: { changes: { value: { contacts: object[]; messages: object[] } }[] }[];
  };
  const value = text.entry[0]?.changes[0]?.value;
  if (!value) throw new Error('the sample has no change');
  value.contacts = contacts;
  value.messages = [{ ...value.messages[0], ...change }];
  return JSON.parse(JSON.stringify(text));
}

it('a forwarded message is marked, so that a link code in it does not count', () => {
  const forwarded = JSON.stringify(sample('text-forwarded'));
  for (const member of ['forwarded', 'frequently_forwarded']) {
    const delivery = JSON.parse(forwarded.replace('"forwarded"', `"${member}"`));
    expect(parse(delivery, OURS).messages).toMatchObject([{ forwarded: true }]);
  }
  expect(parse(sample('text'), OURS).messages[0]?.forwarded).toBe(undefined);
});
