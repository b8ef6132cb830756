import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { runOnce } from '../../../src/daemon/linking/run-once.ts';
import { systemClock } from '../../../src/daemon/time/clock.ts';
import { laterServices } from '../../support/later-services.ts';
import { openAt, stateDirectory } from '../store/state-directory.ts';

const DAY = 86_400_000;

/** `ask` requests an effect for a message. Its answer contains the number of effects so far. */
async function open(directory = stateDirectory()) {
  const store = openAt(join(directory, 'agentd.db'));
  const { services, lines } = await laterServices(store, systemClock);
  let count = 0;
  const ask = (message_id: string | undefined, members: { user_id?: string; what?: 'unlink' } = {}) =>
    runOnce(
      services,
      { platform: 'telex', user_id: 'ada', what: 'link', message_id, ...members },
      async () => ({ answer: { count: ++count }, person: null }),
    );
  return { store, services, lines, ask };
}

it('runOnce runs an effect once per message, and repeated messages get the first answer and are logged', async () => {
  const { ask, lines } = await open();
  expect(await ask('m1')).toEqual({ count: 1 });
  expect(await ask('m2')).toEqual({ count: 2 });
  expect(await ask('m1')).toEqual({ count: 1 });
  expect(lines).toMatchObject([{ msg: '[LoopGuard] DUPLICATE platform=telex user=ada message_id=m1' }]);
});

it('runOnce runs an effect again for the same message id of another person or for another purpose', async () => {
  const { ask } = await open();
  expect(await ask('m1')).toEqual({ count: 1 });
  expect(await ask('m1', { user_id: 'bob' })).toEqual({ count: 2 });
  expect(await ask('m1', { what: 'unlink' })).toEqual({ count: 3 });
});

it('runOnce runs an effect each time if there is no message id', async () => {
  const { ask } = await open();
  expect(await ask(undefined)).toEqual({ count: 1 });
  expect(await ask(undefined)).toEqual({ count: 2 });
});

it('runOnce remembers an effect for seven days, even across a restart', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
  onTestFinished(() => void vi.useRealTimers());
  const directory = stateDirectory();
  const first = await open(directory);
  await first.ask('m1');
  await first.store.close();
  const second = await open(directory);
  await second.ask('m2');
  vi.setSystemTime(Date.now() + 7 * DAY - 1000);
  expect(await second.ask('m1')).toEqual({ count: 1 });
  vi.setSystemTime(Date.now() + 1000);
  expect(await second.ask('m1')).toEqual({ count: 2 });
});

it('runOnce refuses a repeated message while the first is in progress, so that the platform delivers it again', async () => {
  const { services } = await open();
  const asked = { platform: 'telex', user_id: 'ada', what: 'link', message_id: 'm1' } as const;
  const { promise, resolve } = Promise.withResolvers<{ answer: string; person: null }>();
  const first = runOnce(services, asked, () => promise);
  const second = runOnce(services, asked, async () => ({ answer: 'twice', person: null }));
  await expect(second).rejects.toMatchObject({ code: 'unavailable', retryAfter: 1 });
  resolve({ answer: 'once', person: null });
  expect(await first).toBe('once');
  expect(await runOnce(services, asked, async () => ({ answer: 'twice', person: null }))).toBe('once');
});

it('runOnce runs an effect again if the first attempt failed or its outcome could not be stored', async () => {
  const { services, store, ask } = await open();
  const asked = { platform: 'telex', user_id: 'ada', what: 'link', message_id: 'm1' } as const;
  const fails = () => Promise.reject(new StoreUnavailable(new Error('disk full')));
  await expect(runOnce(services, asked, fails)).rejects.toBeInstanceOf(StoreUnavailable);
  const finish = vi
    .spyOn(store.idempotency, 'finish')
    .mockRejectedValueOnce(new StoreUnavailable(new Error('disk full')));
  await expect(ask('m1')).rejects.toBeInstanceOf(StoreUnavailable);
  expect(finish).toHaveBeenCalledOnce();
  expect(await ask('m1')).toEqual({ count: 2 });
  expect(await ask('m1')).toEqual({ count: 2 });
});

it('runOnce refuses an invalid message id', async () => {
  const { ask } = await open();
  await expect(ask('')).rejects.toMatchObject({ code: 'invalid_request' });
});
