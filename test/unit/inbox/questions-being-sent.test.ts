import { expect, it } from 'vitest';
import { ConfirmationWorld } from '../../support/confirmation-world.ts';

it('an answer counts as later than the question even if it arrives while the question is being sent', async () => {
  const world = await ConfirmationWorld.open();
  let posted: Promise<void> | undefined;
  // The person answers the question before the daemon knows that the platform has accepted it.
  world.take = () => {
    posted ??= world.post('yes');
  };
  await world.write('cancel 1004');
  await posted;
  await world.settle();
  expect(world.sent.map(({ text }) => text.slice(0, 7))).toEqual(['I need ', 'Result:']);
  expect(world.calls).toHaveLength(1);
});

it('an answer waits at most 100 ms for a slow platform, and after that counts as earlier than the question', async () => {
  const world = await ConfirmationWorld.open();
  const { promise: taken, resolve } = Promise.withResolvers<void>();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  world.take = () => {
    begin();
    return taken;
  };
  const asked = world.write('cancel 1004');
  await begun;
  const posted = world.post('yes');
  await new Promise(setImmediate);
  world.clock.moveTo(world.clock.now() + 100);
  await posted;
  world.take = () => {};
  world.clock.moveTo(world.clock.now() + 1);
  resolve();
  await asked;
  await world.settle();
  expect(world.sent.map(({ text }) => text.slice(0, 8))).toEqual(['I need y', 'You said']);
  expect(world.calls).toEqual([]);
});
