import { expect, it } from 'vitest';
import { Lifecycle } from '../../../src/daemon/process/lifecycle.ts';
import type { Log } from '../../../src/daemon/process/log.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

it('a part that does not stop delays the parts before it for 10 seconds', async () => {
  const clock = new VirtualClock(0);
  const stopped: string[] = [];
  const errors: object[] = [];
  const life = new Lifecycle(clock);
  life.started('store', () => void stopped.push('store'));
  const hangs = Promise.withResolvers<void>();
  life.started('channel telex', () => {
    hangs.resolve();
    return new Promise<never>(() => {});
  });
  life.started('inbox', () => void stopped.push('inbox'));
  const log = { error: (fields: object, msg: string) => void errors.push({ ...fields, msg }) };
  const all = life.stop(log as unknown as Log);
  await hangs.promise;
  clock.moveTo(9_999);
  expect(stopped).toEqual(['inbox']);
  clock.moveTo(10_000);
  await all;
  expect(stopped).toEqual(['inbox', 'store']);
  expect(errors).toMatchObject([{ part: 'channel telex', msg: 'a part did not stop cleanly' }]);
});
