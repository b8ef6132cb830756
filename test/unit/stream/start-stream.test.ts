import { expect, it } from 'vitest';
import sse from '../../../plugins/sse/index.ts';
import { personKey } from '../../../src/daemon/identity/identity.ts';
import { startStream } from '../../../src/daemon/stream/start-stream.ts';
import { ConfirmationWorld } from '../../support/confirmation-world.ts';
import { token } from '../../support/tokens.ts';

/* agentd-message(7), "Whose stream it is": the cookie of the message, with which that of the reader is compared. */

const ada = await token({ sub: 'ada' });

it.each([
  ['one cookie', [ada], {}, personKey({ sub: 'ada' })],
  ['a cookie that is not valid', ['no token'], {}, null],
  ['several cookies', [ada, ada], {}, null],
  ['a cookie beside a sign-out', [ada], { jwt_token: null }, null],
])('a stream knows the person of %s', async (_what, ambient, metadata, person) => {
  const { services, store } = await ConfirmationWorld.open();
  const message = {
    ...{ platform: 'sse', user_id: 'u', channel_id: 'u', thread_id: null, text: 'hello', metadata },
  };
  const origin = { request_id: 'r', address: '192.0.2.1', validated: null, ticket: null };
  const { stream_id } = await startStream(sse, services, message, origin, { ttl_ms: 60_000, ambient });
  expect((await store.streams.find(stream_id))?.start.cookie_person).toBe(person);
});
