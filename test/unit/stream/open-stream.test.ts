import { expect, it } from 'vitest';
import type { ChannelPlugin, ChannelRequest } from '../../../src/channel/index.ts';
import { openStream } from '../../../src/daemon/stream/open-stream.ts';
import { Readers } from '../../../src/daemon/stream/readers.ts';
import { stopStream } from '../../../src/daemon/stream/stop-stream.ts';
import type { StreamServices } from '../../../src/daemon/stream/stream-services.ts';
import { Tickets } from '../../../src/daemon/time/tickets.ts';
import { collectLog } from '../../support/log-lines.ts';

const WAITING = {
  stream_id: 's',
  state: 'waiting',
  idempotency_key: null,
  fingerprint: '',
  owner: null,
  reader: null,
  token: null,
  last_event: 0,
  start: { session_id: 't', token_given: false, message: { metadata: {} }, trace: [] },
};
const TOKENS = { ambient: [], explicit: undefined, required: false };
const REQUEST = { method: 'GET', id: 'r', headers: {}, address: 'a', signal: AbortSignal.any([]) };

/** Services that find the stream in these states, one after the other, and can never claim the stream. */
function servicesWith(found: unknown[]) {
  const sequencer = new Tickets();
  const readers = new Readers();
  const asked: string[] = [];
  const streams = {
    find: async () => found.shift() ?? null,
    claim: async () => null,
    subscribe: () => () => {},
    hintsMayBeLost: false,
    requestStop: async (stream_id: string) => void asked.push(stream_id),
  };
  const settings = { WEBCHAT_ALLOWED_ORIGINS: [] };
  const services = { sequencer, settings, readers, store: { streams } } as unknown as StreamServices;
  return { services, sequencer, readers, asked };
}

function open(services: StreamServices): Promise<unknown> {
  return openStream({ name: 'sse' } as ChannelPlugin, services, 's', REQUEST as ChannelRequest, {
    tokens: TOKENS,
    after: 0,
  });
}

it('opening a stream that expires at the same moment fails, because no event would ever arrive', async () => {
  const { services, sequencer, readers } = servicesWith([WAITING, null]);
  await expect(open(services)).rejects.toMatchObject({ code: 'stream_not_found' });
  await new Promise(setImmediate);
  expect([sequencer.size, readers.size]).toEqual([0, 0]);
});

it('a reader is refused if another reader with a token becomes the owner of the stream at the same moment', async () => {
  const { services, sequencer, readers } = servicesWith([
    WAITING,
    { ...WAITING, state: 'running', reader: 'them' },
  ]);
  await expect(open(services)).rejects.toMatchObject({ code: 'forbidden' });
  await new Promise(setImmediate);
  expect([sequencer.size, readers.size]).toEqual([0, 0]);
});

it('a request to stop a stream is refused if a reader with a token becomes the owner of the stream at the same moment', async () => {
  const { services, asked } = servicesWith([WAITING, { ...WAITING, state: 'running', reader: 'them' }]);
  const stopping = stopStream(services, 's', { ...REQUEST, method: 'DELETE' } as ChannelRequest, TOKENS);
  await expect(stopping).rejects.toMatchObject({ code: 'forbidden' });
  expect(asked).toEqual([]);
});

it.each([
  ['of another reader', { ...WAITING, state: 'running', reader: 'them' }, {}],
  ['from a page', { ...WAITING, state: 'running' }, { 'sec-fetch-mode': 'navigate' }],
])('a request %s to stop a stream is refused', async (_whose, stream, headers) => {
  const { services, asked } = servicesWith([stream]);
  const request = { ...REQUEST, method: 'DELETE', headers } as unknown as ChannelRequest;
  await expect(stopStream(services, 's', request, TOKENS)).rejects.toMatchObject({ code: 'forbidden' });
  expect(asked).toEqual([]);
});

it('a stream that is stopped before it is opened is a message that was stopped', async () => {
  const { services } = servicesWith([
    { ...WAITING, start: { ...WAITING.start, message: { ...WAITING.start.message, platform: 'sse' } } },
  ]);
  const stored: unknown[] = [];
  const streams = {
    ...services.store.streams,
    claim: async () => ({ stream_id: 's', owner: 'me' }),
    append: async (_claim: unknown, events: { event: string }[]) => {
      stored.push(...events.map(({ event }) => event));
      return true;
    },
    release: async () => {},
  };
  const ended: unknown[] = [];
  const observer = { messageEnded: (...of: unknown[]) => void ended.push(of) };
  const parts = { store: { streams }, observer, log: collectLog().log } as unknown as StreamServices;
  await stopStream(
    { ...services, ...parts },
    's',
    { ...REQUEST, method: 'DELETE' } as ChannelRequest,
    TOKENS,
  );
  expect([stored, ended]).toEqual([['stream_start', 'complete', 'stream_complete'], [['sse', 'stopped']]]);
});

it('a stream that would replay the answer for a reader with a token is refused to others', async () => {
  const { services } = servicesWith([{ ...WAITING, idempotency_key: 'k' }]);
  const answer = { session_id: 't', response: 'all', reader: 'them' };
  const store = { ...services.store, idempotency: { look: async () => ({ outcome: 'done', answer }) } };
  const opening = open({ ...services, store } as unknown as StreamServices);
  await expect(opening).rejects.toMatchObject({ code: 'session_forbidden' });
});
