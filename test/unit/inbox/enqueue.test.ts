import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { IncomingMessage } from '../../../src/channel/index.ts';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { edit, enqueue } from '../../../src/daemon/inbox/enqueue.ts';
import { InboxWorker } from '../../../src/daemon/inbox/work.ts';
import type { Services } from '../../../src/daemon/message/services.ts';
import type { InboxMessage, InboxState, InboxStore } from '../../../src/daemon/store/inbox/inbox.ts';
import { systemClock } from '../../../src/daemon/time/clock.ts';
import { laterServices, TELEX } from '../../support/later-services.ts';
import type { LogLine } from '../../support/log-lines.ts';
import { token } from '../../support/tokens.ts';
import { openAt, stateDirectory } from '../store/state-directory.ts';

const OPEN: readonly InboxState[] = ['waiting', 'running', 'replied'];

let services: Services;
let lines: LogLine[];
let worker: InboxWorker;

beforeEach(async () => {
  ({ services, lines } = await laterServices(openAt(join(stateDirectory(), 'agentd.db')), systemClock));
  // The worker is not started, so that accepted messages stay in the inbox for the test.
  worker = new InboxWorker(services);
});

function aMessage(members: Partial<IncomingMessage> = {}): IncomingMessage {
  return {
    platform: 'telex',
    user_id: 'u1',
    channel_id: 'c1',
    thread_id: 'telex:c1',
    text: 'hello',
    metadata: {},
    ...members,
  };
}

async function kept(): Promise<InboxMessage[]> {
  return (await services.store.inbox.list({ states: OPEN, limit: 100 })).reverse();
}

const take = (...messages: IncomingMessage[]) => enqueue(TELEX, services, worker, messages);

describe('enqueue', () => {
  it('stores messages in order with their session ids and trimmed texts before it resolves', async () => {
    await take(aMessage({ text: ' one ', reply_to: { to: 'c1' } }), aMessage({ text: 'two' }));
    expect(await kept()).toMatchObject([
      {
        platform: 'telex',
        queue: 'telex:c1',
        session_id: 'telex:c1',
        state: 'waiting',
        reply_to: { to: 'c1' },
        message: { text: 'one' },
      },
      { message: { text: 'two' }, reply_to: {} },
    ]);
  });

  it('stores each message as it was given, although the channel changes it before it is stored', async () => {
    const message = aMessage({ metadata: { user_name: 'One' }, reply_to: { to: 'c1' } });
    const first = take(message);
    Object.assign(message, { user_id: 'u2', thread_id: 'telex:c2', text: 'for u2' });
    message.metadata.user_name = 'Two';
    Object.assign(message.reply_to ?? {}, { to: 'c2' });
    await Promise.all([first, take(message)]);
    expect(await kept()).toMatchObject([
      {
        session_id: 'telex:c1',
        message: { user_id: 'u1', text: 'hello', metadata: { user_name: 'One' } },
        reply_to: { to: 'c1' },
      },
      { session_id: 'telex:c2', message: { user_id: 'u2', text: 'for u2' }, reply_to: { to: 'c2' } },
    ]);
  });

  it('stores no members that the contract does not have: nothing limits or masks them', async () => {
    await take({ ...aMessage({ shared: false }), raw: { jwt: await token() } } as IncomingMessage);
    const [stored] = await kept();
    expect(stored?.message).toEqual(aMessage({ shared: false }));
  });

  it('answers what became of each message, in their order', async () => {
    const { settings } = services;
    services = {
      ...services,
      settings: { ...settings, LOOP_GUARD_ENABLED: true, LOOP_GUARD_MAX_MESSAGES: 2 },
    };
    const of = (message_id: string) => aMessage({ message_id, text: `text of ${message_id}`, sent_at: 1000 });
    expect(await take(of('a'))).toEqual(['kept']);
    expect(await take(of('a'), of('b'), of('c'))).toEqual(['repeated', 'kept', 'blocked']);
    expect(await take()).toEqual([]);
  });

  it('stores the alias id of the sender with the message', async () => {
    await take(aMessage({ alias_id: 'US.1234' }));
    expect(await kept()).toMatchObject([{ message: { user_id: 'u1', alias_id: 'US.1234' } }]);
  });

  it('stores the time that the platform gives, in whole ms, and never a time in the future', async () => {
    await take(
      aMessage({ sent_at: 5.678 }),
      aMessage({ sent_at: Date.now() + 1e9 }),
      aMessage(),
      aMessage({ sent_at: -1e300 }),
    );
    const [old, future, none, absurd] = await kept();
    expect(old?.sent_at).toBe(5);
    expect(absurd?.sent_at).toBe(0);
    expect(future?.sent_at).toBeLessThanOrEqual(Date.now());
    expect(none?.sent_at).toBeLessThanOrEqual(Date.now());
  });

  it('stores no token that is in the metadata or that a person typed, however deeply nested', async () => {
    const secret = await token();
    await take(
      aMessage({
        text: `a\n${secret}`,
        metadata: { jwt_token: secret, page_url: `https://x/?t=${secret}`, other: { deep: [`\n${secret}`] } },
      }),
    );
    const [message] = await kept();
    expect(message?.message).toMatchObject({
      text: 'a\n[token]',
      metadata: { page_url: 'https://x/?t=[token]', other: { deep: ['\n[token]'] } },
    });
    expect(message?.message?.metadata).not.toHaveProperty('jwt_token');
  });

  it.each<[string, Partial<IncomingMessage>, string, string]>([
    ['another platform', { platform: 'mail' }, 'platform', 'must be telex'],
    ['no session id', { thread_id: null }, 'thread_id', 'must be a string'],
    ['the session id of another channel', { thread_id: 'mail:c1' }, 'thread_id', 'must begin with telex:'],
    [
      'a session id that is too long',
      { thread_id: `telex:${'x'.repeat(512)}` },
      'thread_id',
      'must have at most 512 characters',
    ],
    ['an empty user id', { user_id: '' }, 'user_id', 'must not be empty'],
    ['half of a surrogate pair', { user_id: '\ud800' }, 'user_id', 'must be well-formed Unicode'],
    ['an empty alias', { alias_id: '' }, 'alias_id', 'must not be empty'],
    [
      'an alias that is too long',
      { alias_id: 'x'.repeat(257) },
      'alias_id',
      'must have at most 256 characters',
    ],
    ['a control character', { message_id: 'a\u0000' }, 'message_id', 'must not contain control characters'],
    ['a text of white space only', { text: ' \n' }, 'text', 'must not be empty'],
    ['a text that is too long', { text: 'x'.repeat(16_001) }, 'text', 'must have at most 16000 characters'],
    [
      'too much metadata',
      { metadata: { x: 'x'.repeat(70_000) } },
      'metadata',
      'must have at most 65536 characters as JSON',
    ],
    ['metadata that is not JSON', { metadata: { x: 1n } }, 'metadata', 'must be JSON'],
    [
      'a reply_to that is too long',
      { reply_to: { x: 'x'.repeat(9000) } },
      'reply_to',
      'must have at most 8192 characters as JSON',
    ],
    ['an invalid time', { sent_at: Number.NaN }, 'sent_at', 'must be a number, ms since the epoch'],
  ])('refuses %s, and then stores nothing from the delivery', async (_title, members, field, message) => {
    await expect(take(aMessage(), aMessage(members))).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'A message cannot be accepted.',
      errors: [{ field: `messages[1].${field}`, message }],
    });
    expect(await kept()).toEqual([]);
  });

  it('accepts a text of 16,000 characters, and counts an emoji as one character', async () => {
    await take(aMessage({ text: '👍'.repeat(16_000) }));
    expect(await kept()).toHaveLength(1);
  });

  it('logs each repeated message, and stores the message only once', async () => {
    await take(aMessage({ message_id: 'm1' }));
    await take(aMessage({ message_id: 'm1' }), aMessage({ message_id: 'm2' }));
    expect(await kept()).toHaveLength(2);
    expect(lines.filter(({ msg }) => msg.startsWith('[LoopGuard]')).map(({ msg }) => msg)).toEqual([
      '[LoopGuard] DUPLICATE platform=telex user=u1 message_id=m1',
    ]);
  });

  it('fails with 503 if the store is unreachable or too many messages wait', async () => {
    const failing = (enqueue: InboxStore['enqueue']): Services => ({
      ...services,
      store: { ...services.store, inbox: { enqueue } as InboxStore },
    });
    const unreachable = failing(() => Promise.reject(new StoreUnavailable(new Error('disk full'))));
    await expect(enqueue(TELEX, unreachable, worker, [aMessage()])).rejects.toMatchObject({
      status: 503,
      code: 'unavailable',
      message: 'The store cannot be reached at the moment.',
    });
    const full = failing(async () => null);
    await expect(enqueue(TELEX, full, worker, [aMessage()])).rejects.toMatchObject({
      status: 503,
      code: 'unavailable',
      message: 'Too many messages are waiting.',
      retryAfter: 30,
    });
  });

  it('shows the typing indicator at once, and ignores its failure', async () => {
    const shown: unknown[] = [];
    const channel = {
      routes: [],
      send: async () => {},
      typing: async (reply_to: unknown) => {
        shown.push(reply_to);
        throw new Error('not today');
      },
    };
    worker.add(TELEX, channel);
    await worker.start();
    await take(aMessage({ reply_to: { to: 'c1' } }));
    expect(shown[0]).toEqual({ to: 'c1' });
    await worker.stop();
  });
});

describe('edit', () => {
  it('replaces the text of a waiting message with tokens masked, and logs an edit that is too late', async () => {
    const { user_id, thread_id } = aMessage();
    const change = (text: string) =>
      edit(TELEX, services, { message_id: 'm1', user_id, thread_id: thread_id ?? '', text });
    await take(aMessage({ message_id: 'm1' }));
    expect(await change(`new ${await token()} `)).toBe(true);
    expect((await kept())[0]?.message?.text).toBe('new [token]');
    await services.store.inbox.claim('run', ['telex'], 1);
    expect(await change('too late')).toBe(false);
    expect(lines.at(-1)?.msg).toBe(
      'edit ignored: the turn of the message has begun, or it is another user’s or of another thread',
    );
  });
});
