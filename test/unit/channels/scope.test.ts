import { expect, it } from 'vitest';
import type { ChannelPlugin, ChannelRequest } from '../../../src/channel/index.ts';
import { createScope } from '../../../src/daemon/channels/scope.ts';
import { personKey } from '../../../src/daemon/identity/identity.ts';
import { DeliveryFailed } from '../../../src/daemon/inbox/outcome.ts';
import { InboxWorker } from '../../../src/daemon/inbox/work.ts';
import { Texts } from '../../../src/daemon/texts/texts.ts';
import { systemClock } from '../../../src/daemon/time/clock.ts';
import { laterServices, TELEX } from '../../support/later-services.ts';
import { token } from '../../support/tokens.ts';
import { openAt, stateDirectory } from '../store/state-directory.ts';

async function scopeOf(
  plugin: ChannelPlugin,
  texts = new Texts(),
  store = openAt(`${stateDirectory()}/agentd.db`),
) {
  const { services: usual } = await laterServices(store, systemClock);
  const services = { ...usual, texts };
  return createScope(plugin, {}, services, new InboxWorker(services));
}

it('the scope of a channel that answers in the response refuses calls to the inbox', async () => {
  const scope = await scopeOf({ ...TELEX, capabilities: { ...TELEX.capabilities, delivery: 'response' } });
  const problem = (member: string) =>
    `the channel telex has capabilities.delivery 'response': ${member} needs 'push'`;
  await expect(scope.enqueue([])).rejects.toThrow(problem('enqueue'));
  await expect(scope.notify({}, 'text')).rejects.toThrow(problem('notify'));
  await expect(scope.edit({ message_id: 'm1', user_id: 'u', thread_id: 't', text: 'text' })).rejects.toThrow(
    problem('edit'),
  );
});

it('the scope of a channel whose platform identifies the sender refuses calls to the entry points for web clients', async () => {
  const scope = await scopeOf(TELEX);
  const message = {
    platform: 'telex',
    user_id: 'ada',
    channel_id: 'ada',
    thread_id: 'telex:ada',
    text: 'Hi',
  };
  const request = {} as ChannelRequest;
  const problem = (member: string) =>
    `the channel telex has capabilities.delivery 'push': ${member} needs 'response' or 'stream'`;
  expect(() => scope.converse({ ...message, metadata: {} }, request)).toThrow(problem('converse'));
  const { start, open, stop } = scope.streams;
  await expect(start({ ...message, metadata: {} }, request, { ttl_ms: 1 })).rejects.toThrow(
    problem('streams.start'),
  );
  await expect(open('s', request, { tokens: [] } as never)).rejects.toThrow(problem('streams.open'));
  await expect(stop('s', request, { tokens: [] } as never)).rejects.toThrow(problem('streams.stop'));
});

it('the scope stores the answer to a link as data of its person, so that an erasure deletes it', async () => {
  const store = openAt(`${stateDirectory()}/agentd.db`);
  const { links } = await scopeOf(TELEX, new Texts(), store);
  const jwt = await token({ sub: 'ada' });
  expect(await links.link('t1', jwt, { message_id: 'm1' })).toMatchObject({ linked: true });
  const erased = await store.persons?.erase({ person: personKey({ sub: 'ada' }), link_keys: [] });
  expect(erased?.others.answers).toBe(1);
});

it('the scope returns the texts of a channel in the language of their reader', async () => {
  const text = { name: 'telex_signed_in', sentence: 'Confirms it.', default: 'Signed in as {email}.' };
  const german = new Texts(new Map([['de', { telex_signed_in: '{email} ist angemeldet.' }]]), 'fr');
  const scope = await scopeOf(TELEX, german);
  expect(scope.say(text, { email: 'ada' }, 'de-CH')).toBe('ada ist angemeldet.');
  expect(scope.say(text, { email: '{email}' }, null)).toBe('Signed in as {email}.');
  expect(scope.translations([text])).toEqual({
    languages: { de: { telex_signed_in: '{email} ist angemeldet.' } },
    default_locale: 'fr',
  });
});

it('the scope makes errors for failed deliveries, and the daemon understands these errors', async () => {
  const scope = await scopeOf(TELEX);
  const failure = scope.deliveryFailed('channel_not_found', { final: true });
  expect(failure).toBeInstanceOf(DeliveryFailed);
  expect(failure).toMatchObject({ message: 'channel_not_found', final: true, retryAfterSeconds: 0 });
  const later = scope.deliveryFailed('busy', { final: false, retryAfterSeconds: 3 });
  expect(later).toMatchObject({ final: false, retryAfterSeconds: 3 });
});
