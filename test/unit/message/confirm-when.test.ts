import { beforeEach, describe, expect, it } from 'vitest';
import type { AgentTurn } from '../../../src/agent/index.ts';
import type { Sent } from '../../../src/daemon/tools/tool.ts';
import { ConfirmationWorld } from '../../support/confirmation-world.ts';
import { token } from '../../support/tokens.ts';
import { sourceOf } from '../../support/tools.ts';

/* When to ask: agentd-agent(7), "When to ask". */

const MINUTE = 60_000;
const REFUSED: Sent = { outcome: 'answered', status: 409, result: {} };
const BROKEN: Sent = { outcome: 'failed', reached: true, reason: 'broken', message: 'It broke.' };

let world: ConfirmationWorld;
let ada: string;

beforeEach(async () => {
  world = await ConfirmationWorld.open({
    tool: {
      source: sourceOf({}),
      confirm: { when: [{ argument: 'id', over: 100 }] },
      parameters: { type: 'object', properties: { id: { type: 'number' } } },
    },
  });
  ada = await token({ sub: 'ada' });
  world.otherwise = async function* (turn) {
    for (const id of turn.text.split(' and ')) await pay(turn, Number(id));
    yield 'So.';
  };
});

const pay = ({ tools }: AgentTurn, id: number) =>
  tools.find(({ name }) => name === 'cancel_order')?.call({ id });
/** The agent pays each of the amounts. @returns whether the reply asks for a confirmation */
const asks = async (text: string, session = 'room') =>
  (await world.say(text, { token: ada, session })).confirmation !== null;
const paid = () => world.calls.map(({ args }) => args.id);

describe('a tool that asks under a condition', () => {
  it('asks if the condition holds, and makes the call otherwise', async () => {
    expect(await asks('101')).toBe(true);
    expect(paid()).toEqual([]);
    expect(await asks('100', 'another')).toBe(false);
    expect(paid()).toEqual([100]);
    expect(world.turns[0]?.tools.find(({ name }) => name === 'cancel_order')).toMatchObject({
      confirm: 'when',
    });
  });

  it('asks after it wrote in the same session, within 10 minutes, so that nobody splits an amount', async () => {
    expect(await asks('60')).toBe(false);
    expect(await asks('61', 'another')).toBe(false);
    world.clock.moveTo(world.clock.now() + 9 * MINUTE);
    expect(await asks('62')).toBe(true);
    expect(await asks('no')).toBe(false);
    world.clock.moveTo(world.clock.now() + MINUTE);
    expect(await asks('63')).toBe(false);
    expect(paid()).toEqual([60, 61, 63]);
  });

  it('asks after a write that was confirmed, too', async () => {
    await asks('101');
    expect(await asks('yes')).toBe(false);
    expect(paid()).toEqual([101]);
    expect(await asks('60')).toBe(true);
  });

  it('asks after a write with an unknown outcome, but not after one that failed', async () => {
    world.answer = async () => REFUSED;
    await asks('60');
    expect(await asks('61')).toBe(false);
    world.answer = async () => BROKEN;
    await asks('62');
    expect(await asks('63')).toBe(true);
  });

  it('lets only one of several calls through that are made at the same time', async () => {
    world.otherwise = async function* (turn) {
      await Promise.all([60, 61, 62].map((id) => pay(turn, id)));
      yield 'So.';
    };
    expect(await asks('all')).toBe(true);
    expect(paid()).toHaveLength(1);
  });
});
