import { describe, expect, it } from 'vitest';
import type { ChannelPlugin, ChannelRequest } from '../../../src/channel/index.ts';
import { createChannel, createPushScope } from '../../../src/daemon/channels/scope.ts';
import { personKey } from '../../../src/daemon/identity/identity.ts';
import { DeliveryFailed } from '../../../src/daemon/inbox/outcome.ts';
import { InboxWorker } from '../../../src/daemon/inbox/work.ts';
import { Texts } from '../../../src/daemon/texts/texts.ts';
import { systemClock } from '../../../src/daemon/time/clock.ts';
import { laterServices, TELEX } from '../../support/later-services.ts';
import { token } from '../../support/tokens.ts';
import { openAt, stateDirectory } from '../store/state-directory.ts';

async function doorsOf(texts = new Texts(), store = openAt(`${stateDirectory()}/agentd.db`)) {
  const { services: usual } = await laterServices(store, systemClock);
  const services = { ...usual, texts };
  return { services, worker: new InboxWorker(services) };
}

const pushScope = async (...given: Parameters<typeof doorsOf>) =>
  createPushScope(TELEX, {}, await doorsOf(...given));

const PUSH = ['deliveryFailed', 'edit', 'enqueue', 'notify', 'press', 'rate', 'sendParts'];

// A web client only claims its user and its session. The daemon trusts both on a channel whose platform signs them.
it.each([
  ['response', ['converse', 'readMessage']],
  ['stream', ['converse', 'readMessage', 'streams']],
  ['push', PUSH],
] as const)(
  'the scope of a channel with delivery %s has only the entry points for it',
  async (delivery, members) => {
    const scopes: object[] = [];
    const create = (scope: object) => {
      scopes.push(scope);
      return { routes: [], send: async () => undefined };
    };
    createChannel({ ...TELEX, delivery, create } as ChannelPlugin, {}, await doorsOf());
    const others = [...PUSH, 'converse', 'readMessage', 'streams'].filter(
      (member) => member in (scopes[0] ?? {}),
    );
    expect(others.sort()).toEqual([...members].sort());
  },
);

it('the scope stores the answer to a link as data of its person, so that an erasure deletes it', async () => {
  const store = openAt(`${stateDirectory()}/agentd.db`);
  const { links } = await pushScope(new Texts(), store);
  const jwt = await token({ sub: 'ada' });
  expect(await links.link('t1', jwt, { message_id: 'm1' })).toMatchObject({ linked: true });
  const erased = await store.persons?.erase({ person: personKey({ sub: 'ada' }), link_keys: [] });
  expect(erased?.others.answers).toBe(1);
});

describe('a chat whose link was', () => {
  async function chat() {
    const doors = await doorsOf();
    const privateChat = (user_id: string) => ({ to: user_id });
    doors.worker.add(TELEX, { routes: [], send: async () => {}, privateChat });
    const { links } = createPushScope(TELEX, {}, doors);
    const told = async () =>
      (await doors.services.store.inbox.list({ states: ['replied'], limit: 10 })).map(({ reply }) => reply);
    return { links, told };
  }

  it('replaced from elsewhere does not learn whose the earlier link was', async () => {
    const { links, told } = await chat();
    for (const sub of ['ada', 'bob']) await links.link('t1', await token({ sub }));
    expect(await told()).toEqual([
      expect.stringMatching(/^This chat is no longer connected with the earlier account: [^@]*$/),
    ]);
  });

  it('ended from elsewhere is told so, once, and only if it was ended', async () => {
    const { links, told } = await chat();
    const ada = await token();
    await links.link('t1', ada);
    expect(await links.unlinkPerson('t1', await token({ sub: 'bob' }))).toEqual({ outcome: 'none' });
    expect(await told()).toEqual([]);
    expect(await links.unlinkPerson('t1', ada)).toEqual({ outcome: 'removed' });
    expect(await links.unlinkPerson('t1', ada)).toEqual({ outcome: 'none' });
    expect(await told()).toEqual([
      expect.stringMatching(/^This chat is no longer connected with your account: [^@]*$/),
    ]);
  });
});

it('a message that ends a link ends no later one, however often it is delivered', async () => {
  const { links } = createPushScope(TELEX, {}, await doorsOf());
  const ada = await token();
  await links.link('t1', ada, { message_id: 'm1' });
  expect(await links.unlink('t1', { message_id: 'm2' })).toBe(true);
  await links.link('t1', ada, { message_id: 'm3' });
  expect(await links.unlink('t1', { message_id: 'm2' })).toBe(true);
  expect(await links.unlinkPerson('t1', ada)).toEqual({ outcome: 'removed' });
});

it('the log lines about a link have the id of the request that changed it', async () => {
  const { services: usual, lines } = await laterServices(
    openAt(`${stateDirectory()}/agentd.db`),
    systemClock,
  );
  const scope = createPushScope(TELEX, {}, { services: usual, worker: new InboxWorker(usual) });
  const { links } = scope;
  const ask = (id: string) => ({ message_id: id, request: { id, headers: {} } as ChannelRequest });
  await links.link('t1', await token(), ask('r1'));
  await links.link('t1', 'no token', ask('r2'));
  await links.link('t1', 'no token', ask('r2'));
  await links.unlink('t1', ask('r3'));
  await scope.edit({ message_id: 'm1', user_id: 't1', thread_id: 'telex:t1', text: 'hi' }, ask('r4').request);
  expect(lines.map(({ request_id, msg }) => `${request_id} ${msg.split(':')[0]}`)).toEqual([
    'r1 linked',
    'r2 token refused',
    'r2 [LoopGuard] DUPLICATE platform=telex user=t1 message_id=r2',
    'r3 unlinked',
    'r4 edit ignored',
  ]);
});

it('the log says which member of a message does not fit the contract, since only the platform gets the refusal', async () => {
  const { services, lines } = await laterServices(openAt(`${stateDirectory()}/agentd.db`), systemClock);
  const scope = createPushScope(TELEX, {}, { services, worker: new InboxWorker(services) });
  const message = { platform: 'telex', user_id: 't1', channel_id: 't1', thread_id: 'other:t1', text: 'hi' };
  const request = { id: 'r1', headers: {} } as ChannelRequest;
  const enqueued = scope.enqueue(
    [{ ...message, metadata: {}, shared: 'yes' as unknown as boolean }],
    request,
  );
  await expect(enqueued).rejects.toMatchObject({ code: 'invalid_request' });
  expect(lines).toMatchObject([
    {
      level: 'warn',
      request_id: 'r1',
      channel: 'telex',
      errors: [
        { field: 'messages[0].thread_id', message: 'must begin with telex:' },
        { field: 'messages[0].shared', message: 'must be true or false' },
      ],
    },
  ]);
});

it('the scope returns the texts of a channel in the language of their reader', async () => {
  const text = { name: 'telex_signed_in', sentence: 'Confirms it.', default: 'Signed in as {email}.' };
  const german = new Texts(new Map([['de', { telex_signed_in: '{email} ist angemeldet.' }]]), 'fr');
  const scope = await pushScope(german);
  expect(scope.say(text, { email: 'ada' }, 'de-CH')).toBe('ada ist angemeldet.');
  expect(scope.say(text, { email: '{email}' }, null)).toBe('Signed in as {email}.');
  expect(scope.translations([text])).toEqual({
    languages: { de: { telex_signed_in: '{email} ist angemeldet.' } },
    default_locale: 'fr',
  });
});

it('the scope makes errors for failed deliveries, and the daemon understands these errors', async () => {
  const scope = await pushScope();
  const failure = scope.deliveryFailed('channel_not_found', { final: true });
  expect(failure).toBeInstanceOf(DeliveryFailed);
  expect(failure).toMatchObject({ message: 'channel_not_found', final: true, retry_after_seconds: 0 });
  const later = scope.deliveryFailed('busy', { final: false, retry_after_seconds: 3 });
  expect(later).toMatchObject({ final: false, retry_after_seconds: 3 });
});
