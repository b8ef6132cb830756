import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openAt, stateDirectory } from './state-directory.ts';

it('a new process ends the streams whose runs died with the old process', async () => {
  const path = join(stateDirectory(), 'agentd.db');
  const first = { id: 1, event: 'stream_start', data: '{}' } as const;
  const stream = {
    stream_id: 's1',
    idempotency_key: 'k',
    fingerprint: 'body',
    owner: null,
    token: null,
    start: {
      request_id: 'r1',
      session_id: 's1',
      session_is_generated: true,
      counted_in: null,
      message: { platform: 'p', user_id: 'u', channel_id: 'u', thread_id: null, text: 'Hi', metadata: {} },
      address: null,
      token_given: false,
      cookie_person: null,
      trace: [],
    },
    ttl_ms: 1000,
  };
  const before = openAt(path);
  await before.streams.create(stream);
  const claim = await before.streams.claim('s1', { owner: null, reader: null });
  if (!claim) throw new Error('the stream is claimed by another caller');
  await before.streams.append(claim, [first]);
  await before.close();

  const after = openAt(path);
  expect(await after.streams.reap({ event: 'error', data: '{"code":"interrupted"}' })).toBe(1);
  expect(await after.streams.read('s1', 0)).toEqual([
    first,
    { id: 2, event: 'error', data: '{"code":"interrupted"}' },
  ]);
  expect(await after.streams.findByKey('k')).toBeNull();
  await after.close();
});
