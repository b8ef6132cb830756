import { expect, it } from 'vitest';
import type { ChannelPlugin, ChannelRequest } from '../../../src/channel/index.ts';
import type { House } from '../../../src/daemon/house.ts';
import { Arrivals } from '../../../src/daemon/http/arrivals.ts';
import { openStream } from '../../../src/daemon/stream/open.ts';
import { Readers } from '../../../src/daemon/stream/readers.ts';

it('of a stream whose time passes at that very moment, opening ends: nothing would ever come', async () => {
  const waiting = {
    stream_id: 's',
    state: 'waiting',
    idempotency_key: null,
    fingerprint: '',
    owner: null,
    reader: null,
    token: null,
    last_event: 0,
    start: { session_id: 't', token_given: false, message: { metadata: {} } },
  };
  const found = [waiting, null];
  const arrivals = new Arrivals();
  const readers = new Readers();
  const house = {
    arrivals,
    settings: { WEBCHAT_ALLOWED_ORIGINS: [] },
    readers,
    store: { streams: { find: async () => found.shift() ?? null, claim: async () => false } },
  } as unknown as House;
  const opening = openStream(
    {} as ChannelPlugin,
    house,
    's',
    { method: 'GET', id: 'r', headers: {}, address: 'a', signal: AbortSignal.any([]) } as ChannelRequest,
    {
      tokens: { ambient: [], explicit: undefined, required: false },
      after: 0,
    },
  );
  await expect(opening).rejects.toMatchObject({ code: 'stream_not_found' });
  await new Promise(setImmediate);
  expect([arrivals.size, readers.size]).toEqual([0, 0]);
});
