import { join } from 'node:path';
import { expect, it } from 'vitest';
import { aStream } from '../../contract/fixtures.ts';
import { openAt, stateDirectory } from './state-directory.ts';

it('a new process ends the streams whose runs died with the old process', async () => {
  const path = join(stateDirectory(), 'agentd.db');
  const first = { id: 1, event: 'stream_start', data: '{}' } as const;
  const before = openAt(path);
  await before.streams.create(aStream({ stream_id: 's1', idempotency_key: 'k' }));
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
