import { beforeEach, describe, expect, it } from 'vitest';
import { ConfirmationWorld, type WebMessage } from '../../support/confirmation-world.ts';
import { token } from '../../support/tokens.ts';

/* Questions about several actions that are not answered at once (agentd-agent(7), "Confirmation"). */

const MINUTE = 60_000;
const LIST = '1. Cancel order "1"\n2. Cancel order "2"\n3. Cancel order "3"';

let world: ConfirmationWorld;
let ada: string;

beforeEach(async () => {
  world = await ConfirmationWorld.open();
  ada = await token({ sub: 'ada' });
});

const say = (text: string, message: WebMessage = {}) => world.say(text, { token: ada, ...message });
async function ask(text = 'cancel 1 and 2 and 3'): Promise<string> {
  const { confirmation } = await say(text);
  if (confirmation === null) throw new Error('nothing is asked');
  return confirmation.id;
}
const statesOf = async (id: string) => (await world.store.actions.ofQuestion(id)).map(({ state }) => state);
const made = () => world.calls.map(({ args }) => args.id);

describe('a question in between', () => {
  it('leaves the whole list open: the agent has all of it in view, and the same list is asked again', async () => {
    const id = await ask();
    const { response, confirmation } = await say('what does the second one cost?');
    expect(world.turns.at(-1)?.waiting.map(({ summary }) => summary)).toEqual([
      'Cancel order "1"',
      'Cancel order "2"',
      'Cancel order "3"',
    ]);
    expect([confirmation?.id, confirmation?.summary]).toEqual([id, LIST]);
    expect(response).toContain(`Please confirm these 3 actions:\n\n${LIST}`);
    await say('only 2');
    expect(made()).toEqual(['2']);
    expect(await statesOf(id)).toEqual(['declined', 'done', 'declined']);
  });

  it('may be asked twice. The third withdraws the whole list, and says so', async () => {
    const id = await ask();
    expect((await say('why?')).confirmation?.id).toBe(id);
    expect((await say('really?')).confirmation?.id).toBe(id);
    const third = await say('hm');
    expect(third.response).toContain(
      'I’ve withdrawn my question, because it wasn’t answered, and nothing was done: Cancel order "1"; Cancel order "2"; Cancel order "3"',
    );
    expect(third.confirmation).toBeNull();
    expect(await statesOf(id)).toEqual(['withdrawn', 'withdrawn', 'withdrawn']);
    expect((await say('only 1')).response).toBe('You said: only 1');
    expect(made()).toEqual([]);
  });

  it('that leads to another list withdraws the whole earlier list, and says so', async () => {
    const id = await ask();
    const { response, confirmation } = await say('cancel 4 and 5');
    expect(response).toContain(
      'I’ve withdrawn my earlier question, and nothing was done: Cancel order "1"; Cancel order "2"; Cancel order "3"',
    );
    expect(confirmation?.summary).toBe('1. Cancel order "4"\n2. Cancel order "5"');
    expect(await statesOf(id)).toEqual(['withdrawn', 'withdrawn', 'withdrawn']);
    await say('only 2');
    expect(made()).toEqual(['5']);
  });

  it('that leads to a part of the list keeps the list', async () => {
    const id = await ask();
    expect((await say('cancel 2')).confirmation?.id).toBe(id);
    expect(await statesOf(id)).toEqual(['pending', 'pending', 'pending']);
  });
});

describe('what was declined of a list', () => {
  it('is not asked again by the run that carries out the rest, nor is the same tool', async () => {
    await ask();
    world.afterwards = async function* (turn) {
      const tool = turn.tools.find(({ name }) => name === 'cancel_order');
      for (const id of ['2', '9']) yield (await tool?.call({ id }))?.ok ? 'asked ' : 'refused ';
    };
    const { response, confirmation } = await say('only 1');
    expect(response).toContain('refused refused');
    expect(confirmation).toBeNull();
  });

  it.each([
    [9, [false, false]],
    [11, [true, true]],
  ])('is asked again by the run of an earlier message after %i minutes: %j', async (minutes, asks) => {
    world = await ConfirmationWorld.open({ env: { INBOX_MAX_ATTEMPTS: '1' } });
    await world.write('cancel 1 and 2 and 3', 'ada');
    const id = world.asked;
    world.fails = true;
    for (const order of ['2', '3']) await world.write(`cancel ${order}`, 'ada', { message_id: order });
    world.fails = false;
    await world.press({ id, approve: [1] });
    expect(made()).toEqual(['1']);
    world.clock.moveTo(world.clock.now() + minutes * MINUTE);
    const asked: boolean[] = [];
    for (const failed of await world.store.inbox.list({ states: ['failed'], limit: 2 })) {
      await world.store.inbox.retry(failed.id);
      await world.settle();
      asked.push(world.sent.at(-1)?.confirmation !== undefined);
    }
    expect(asked).toEqual(asks);
  });
});

describe('a late answer to a list', () => {
  it.each(['yes', 'no', 'only 1 and 3', 'not 2'])('is told when the question ended: %j', async (answer) => {
    const id = await ask();
    world.clock.moveTo(world.clock.now() + 15 * MINUTE + 1);
    world.turns.length = 0;
    expect((await say(answer)).response).toMatch(/^That question ended at \d\d:\d\d\. Nothing was done\.$/);
    expect([world.turns, made()]).toEqual([[], []]);
    expect(await statesOf(id)).toEqual(['expired', 'expired', 'expired']);
  });

  it('counts the 15 minutes from the first question, although it was repeated', async () => {
    await ask();
    world.clock.moveTo(world.clock.now() + 10 * MINUTE);
    await say('why?');
    world.clock.moveTo(world.clock.now() + 5 * MINUTE + 1);
    expect((await say('only 1')).response).toMatch(/^That question ended at /);
    expect(made()).toEqual([]);
  });

  it('counts them from the first question on a platform, too', async () => {
    await world.write('cancel 1 and 2', 'ada');
    world.clock.moveTo(world.clock.now() + 10 * MINUTE);
    expect(await world.write('why?', 'ada')).toEqual([expect.stringContaining('Please confirm')]);
    world.clock.moveTo(world.clock.now() + 5 * MINUTE + 1);
    expect(await world.write('only 1', 'ada')).toEqual([expect.stringMatching(/^That question ended at /)]);
    expect(made()).toEqual([]);
  });

  it('by a button tells what became of each action, to the person who was asked only', async () => {
    await world.write('cancel 1 and 2', 'ada');
    const id = world.asked;
    await world.write('only 2', 'ada');
    const press = (user: string) => world.press({ id, approve: true }, user);
    expect(await press('ada')).toEqual({
      outcome: 'refused',
      text: '1: This was declined, and not done. 2: This was done.',
    });
    expect(await press('bob')).toEqual({
      outcome: 'refused',
      text: 'Only the person who was asked can answer this.',
    });
    expect(made()).toEqual(['2']);
  });
});
