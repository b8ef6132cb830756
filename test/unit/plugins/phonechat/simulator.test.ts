import { describe, expect, it } from 'vitest';
import phonechat from '../../../../plugins/phonechat/index.ts';
import { parse } from '../../../../plugins/phonechat/parse.ts';
import { simulator } from '../../../../plugins/phonechat/simulator.ts';
import { isSigned } from '../../../../plugins/phonechat/webhook-routes.ts';
import type { SimulatedEvent } from '../../../../src/channel/index.ts';
import { settingsOf } from '../../../support/fake-platform.ts';
import { sample } from '../../../support/phonechat.ts';

const env = simulator.devSettings((name) => `secret-${name}`, 'http://127.0.0.1:1');
const settings = settingsOf(phonechat, env);
const NUMBERS = new Set([env.PHONECHAT_PHONE_NUMBER_ID ?? '']);
const EVENT: SimulatedEvent = {
  kind: 'message',
  user: '+16505551234',
  text: 'hello',
  place: 'direct',
  number: 1,
  sent_at: 1_749_416_383_000,
};

const deliver = (event: Partial<SimulatedEvent>) => simulator.delivery({ ...EVENT, ...event }, settings);
const parsed = (event: Partial<SimulatedEvent>) =>
  parse(JSON.parse(deliver(event).body) as Record<string, unknown>, NUMBERS);

/** The paths of all members, so that two payloads can be compared by their shape. */
function shapeOf(value: unknown, at = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => shapeOf(item, `${at}[]`));
  if (typeof value !== 'object' || value === null) return [`${at}: ${typeof value}`];
  return Object.entries(value).flatMap(([name, member]) => shapeOf(member, `${at}.${name}`));
}

const shape = (text: string) => [...new Set(shapeOf(JSON.parse(text)))].sort();

describe('a simulated delivery', () => {
  it.each<[string, Partial<SimulatedEvent>, string]>([
    ['a text', {}, 'text-with-bsuid'],
    ['a text of somebody who hides the number', { user: 'US.13491208655302741918' }, 'text-with-bsuid-alone'],
    ['a status', { kind: 'status', text: '' }, 'status-delivered'],
    ['a failure', { kind: 'status', text: 'failed' }, 'status-failed'],
  ])('has the documented shape: %s', (_title, event, name) => {
    expect(shape(deliver(event).body)).toEqual(shape(sample(name)));
  });

  it.each<[string, Partial<SimulatedEvent>, string]>([
    ['a picture', { kind: 'other', text: 'Taj Mahal' }, 'image-with-caption'],
    ['an edit', { kind: 'edit' }, 'edit'],
    ['a group', { place: 'group' }, 'group-text'],
  ])('has the documented shape, and also the id of the person: %s', (_title, event, name) => {
    const own = shape(deliver(event).body).filter((path) => !/\.(from_user_id|user_id): /.test(path));
    expect(own).toEqual(shape(sample(name)));
  });

  it('is signed with the secret of the settings, or with a wrong secret for `bad_signature`', () => {
    const { headers, body } = deliver({});
    const bad = deliver({ bad_signature: true });
    const secret = env.PHONECHAT_APP_SECRET ?? '';
    expect(isSigned(Buffer.from(body), headers['X-Hub-Signature-256'], secret)).toBe(true);
    expect(isSigned(Buffer.from(bad.body), bad.headers['X-Hub-Signature-256'], secret)).toBe(false);
  });

  it('has a message id that depends only on its number, and an edit has the id of its message', () => {
    const ids = [{}, {}, { number: 2 }].map((event) => parsed(event).messages[0]?.message_id);
    expect([ids[0] === ids[1], ids[0] === ids[2]]).toEqual([true, false]);
    const { user_id, thread_id } = parsed({}).messages[0] ?? {};
    expect(parsed({ kind: 'edit', text: 'new' }).edits).toEqual([
      { message_id: ids[0], user_id, thread_id, text: 'new' },
    ]);
  });

  it('has a phone number as its sender, even if the event names the person by a word', () => {
    expect(parsed({ user: 'ada' }).messages[0]?.user_id).toMatch(/^\+1650555\d{4}$/);
    for (const user of simulator.who()) expect(parsed({ user }).messages[0]?.user_id).toBe(user);
  });
});

describe('the simulated API', () => {
  const call = (
    body: object,
    { token = env.PHONECHAT_ACCESS_TOKEN, path = '/v25.0/106540352242922/messages' } = {},
  ) =>
    simulator.startApi(settings).answer({
      method: 'POST',
      path,
      headers: { authorization: `Bearer ${token}` },
      body: Buffer.from(JSON.stringify({ messaging_product: 'whatsapp', ...body })),
    });
  const text = { type: 'text', text: { body: 'Hello' } };

  it('accepts a text, and returns its recipient', () => {
    expect(call({ to: '16505551234', ...text })).toMatchObject({
      status: 200,
      body: {
        messaging_product: 'whatsapp',
        contacts: [{ input: '16505551234', wa_id: '16505551234' }],
        messages: [{ id: expect.stringMatching(/^wamid\./) }],
      },
      shown: [{ what: 'message', to: '16505551234', text: 'Hello' }],
    });
    expect(call({ recipient: 'US.1', ...text }).body).toMatchObject({
      contacts: [{ input: 'US.1', user_id: 'US.1' }],
    });
  });

  it('accepts a business-scoped id in `to`, but does not deliver that message', () => {
    expect(call({ to: 'US.1', ...text })).toMatchObject({ status: 200, shown: [] });
  });

  it.each<[string, object, { token?: string; path?: string }, number, object]>([
    [
      'a different token',
      { to: '1', ...text },
      { token: 'wrong' },
      401,
      { type: 'OAuthException', code: 190 },
    ],
    [
      'a different number',
      { to: '1', ...text },
      { path: '/v25.0/7/messages' },
      400,
      { code: 100, error_subcode: 33 },
    ],
    ['a different path', { to: '1', ...text }, { path: '/v25.0/106540352242922/media' }, 400, { code: 2500 }],
    ['no address', text, {}, 400, { code: 100 }],
    [
      'a text that is too long',
      { to: '1', type: 'text', text: { body: 'x'.repeat(4097) } },
      {},
      400,
      { code: 100 },
    ],
    ['a read mark without a message', { status: 'read' }, {}, 400, { code: 100 }],
  ])('answers %s with the error of the real platform', (_title, body, options, status, error) => {
    expect(call(body, options)).toMatchObject({
      status,
      body: { error: { message: expect.any(String), fbtrace_id: expect.any(String), ...error } },
      shown: [],
    });
  });
});
