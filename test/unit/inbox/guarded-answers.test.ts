import { beforeEach, describe, expect, it } from 'vitest';
import { ConfirmationWorld } from '../../support/confirmation-world.ts';

/* agentd-message(7), "Loop guard": answers and presses on platforms, where the guard judges messages as they arrive. */

let world: ConfirmationWorld;

async function guarded(limits: Record<string, string>): Promise<void> {
  world = await ConfirmationWorld.open({ env: { LOOP_GUARD_ENABLED: 'true', ...limits } });
}
async function ask(text: string): Promise<string> {
  await world.write(text);
  return world.asked;
}
const done = () => world.calls.map(({ args }) => args.id);

describe('a burst', () => {
  beforeEach(() => guarded({ LOOP_GUARD_MAX_MESSAGES: '2', LOOP_GUARD_REPEAT_THRESHOLD: '100' }));

  it('does not contain the press of a button', async () => {
    await ask('cancel 1');
    await world.write('why?');
    expect(await world.press({ id: world.asked, approve: true })).toEqual({ outcome: 'enqueued' });
    expect(done()).toEqual(['1']);
    // The next message is one too many.
    expect(await world.write('thanks')).toEqual([]);
  });

  it.each(['yes', 'no', 'only 1', 'not 2'])('does not contain the answer %j to a list', async (answer) => {
    await ask('cancel 1 and 2');
    await world.write('why?');
    expect(await world.write(answer)).toHaveLength(1);
    expect(await world.store.actions.pendingIn('telex:room')).toEqual([]);
    expect(await world.write('thanks')).toEqual([]);
  });
});

describe('a burst of answers', () => {
  it('contains all of them but the first, because only that one answers the question', async () => {
    await guarded({ LOOP_GUARD_MAX_MESSAGES: '3', LOOP_GUARD_REPEAT_THRESHOLD: '100' });
    await ask('cancel 1');
    world.clock.moveTo(world.clock.now() + 1);
    for (let count = 0; count < 20; count++) await world.post(count % 2 ? 'yes' : 'ok');
    await world.settle();
    expect(done()).toEqual(['1']);
    // The request, the answer, and the two further messages that the limit allows.
    expect(world.turns).toHaveLength(4);
  });
});

describe('repetition', () => {
  beforeEach(() => guarded({ LOOP_GUARD_MAX_MESSAGES: '100', LOOP_GUARD_REPEAT_THRESHOLD: '2' }));

  it('is not found in presses of buttons', async () => {
    for (const id of ['1', '2', '3']) await world.press({ id: await ask(`cancel ${id}`), approve: true });
    expect(done()).toEqual(['1', '2', '3']);
  });

  it('is not found in equal answers to lists', async () => {
    for (const list of ['1 and 2', '3 and 4', '5 and 6']) {
      await ask(`cancel ${list}`);
      await world.write('only 1');
    }
    expect(done()).toEqual(['1', '3', '5']);
  });

  it('is found in the same words if no question is open', async () => {
    expect(await world.write('only 1')).toHaveLength(1);
    expect(await world.write('only 1')).toEqual([]);
  });
});
