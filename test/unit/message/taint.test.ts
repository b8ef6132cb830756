import { beforeEach, describe, expect, it } from 'vitest';
import type { AgentTurn } from '../../../src/agent/index.ts';
import { ownerOfPerson } from '../../../src/daemon/identity/identity.ts';
import { createRegistry, fixedSource } from '../../../src/daemon/tools/registry.ts';
import { aSession } from '../../contract/fixtures.ts';
import { keepTurn, saveSession } from '../../contract/store-writes.ts';
import { type Sender, say } from '../../support/say.ts';
import { person, type StepWorld, stepWorld } from '../../support/step.ts';
import { accessTo, sourceOf, toolOf } from '../../support/tools.ts';

const API = 'https://api.example.com';
const ADA: Sender = { sub: 'ada' };

let world: StepWorld;
/** What the runtime does. */
let act: (turn: AgentTurn) => Promise<void>;

beforeEach(async () => {
  act = async () => {};
  const agent = {
    apiVersion: 1 as const,
    async *run(turn: AgentTurn) {
      await act(turn);
      yield 'x'.repeat(200);
    },
    summarize: async () => 'In short.',
  };
  world = await stepWorld({ agent, env: { API_BASE_URL: API, AGENT_HISTORY_TOKENS: '350' } });
  const docs = toolOf({ name: 'docs', source: sourceOf({ base_url: 'https://docs.example.com' }, API) });
  const shop = toolOf({ name: 'shop', source: sourceOf({ base_url: API }, API) });
  const builtIn = world.services.tools.tools();
  world.services.tools = createRegistry(
    [docs, shop, ...builtIn].map((tool) => fixedSource(tool.source, [tool])),
    { access: accessTo(API), log: world.services.log },
  );
});

async function call(turn: AgentTurn, name: string, args: object = {}): Promise<void> {
  const answer = await turn.tools.find((tool) => tool.name === name)?.call(args);
  expect(answer).toMatchObject({ ok: true });
}

async function doing(work: (turn: AgentTurn) => Promise<void>, sender: Sender = ADA): Promise<string> {
  act = work;
  const { session_id } = await say(world, 'Which account?'.padEnd(200), sender);
  await world.services.summaries.idle();
  return session_id;
}
const webSession = (session_id: string) =>
  aSession(world.clock.now(), { session_id, owner: person('ada'), user_id: 'visitor', platform: 'webchat' });
const remember = (turn: AgentTurn) => call(turn, 'remember', { text: 'pay to account 7' });
const isMemoryTainted = async () =>
  (await world.store.memories?.list(ownerOfPerson(person('ada'))))?.map(({ tainted }) => tainted);
const givenUnasked = async () => {
  let given: unknown;
  await doing(
    async ({ memories }) => {
      given = memories.map(({ text }) => text);
    },
    { ...ADA, session_id: 'another' },
  );
  return given;
};

describe('what a tool of another origin said', () => {
  it('taints the memories of the next turn, which got it from the history', async () => {
    await doing((turn) => call(turn, 'docs'));
    await doing(remember);
    expect(await isMemoryTainted()).toEqual([true]);
    expect(await givenUnasked()).toEqual([]);
  });

  it('taints every later turn that is given a tainted one', async () => {
    await doing((turn) => call(turn, 'docs'));
    await doing(async () => {});
    const turns = await world.store.sessions.turns('s');
    expect(turns.map(({ tainted }) => tainted)).toEqual([true, true]);
  });

  it('taints a run that is given a summary of such turns', async () => {
    await doing((turn) => call(turn, 'docs'));
    for (let turns = 0; turns < 3; turns++) await doing(async () => {});
    expect(await world.store.summaries.find('s', person('ada'))).toMatchObject({ tainted: true });
    // The turns after the summary are marked as well. This shows the effect of the summary alone.
    const session = webSession('summed');
    await saveSession(world.store, session);
    const token = await world.store.summaries.begin('summed', 1000);
    const summary = { principal: person('ada'), text: 'x', through_turn: 't', through_at: 1 };
    await world.store.summaries.keep('summed', token ?? '', { ...summary, tainted: true });
    await doing(remember, { ...ADA, session_id: 'summed' });
    expect(await isMemoryTainted()).toEqual([true]);
  });

  it('taints a run that is given a turn of which it is not known, because an older version stored it', async () => {
    const session = webSession('s');
    await saveSession(world.store, session);
    await keepTurn(world.store, session, { person: person('ada') });
    await doing(remember);
    expect(await isMemoryTainted()).toEqual([true]);
  });

  it('taints a run that reads a tainted memory, and the turns after it', async () => {
    await world.store.memories?.add(ownerOfPerson(person('ada')), {
      text: 'account 7',
      turn_id: 'before',
      tainted: true,
    });
    await doing((turn) => call(turn, 'recall', { query: 'account' }));
    await doing(remember);
    expect(await isMemoryTainted()).toEqual([true, true]);
  });

  it('does not taint the turns of another session', async () => {
    await doing((turn) => call(turn, 'docs'));
    await doing(remember, { ...ADA, session_id: 'other' });
    expect(await isMemoryTainted()).toEqual([false]);
  });
});

describe('what the API said', () => {
  it('taints neither the turn, nor its summary, nor later memories', async () => {
    await doing((turn) => call(turn, 'shop'));
    for (let turns = 0; turns < 4; turns++) await doing(async () => {});
    await doing(remember);
    expect(await world.store.summaries.find('s', person('ada'))).toMatchObject({ tainted: false });
    expect(await isMemoryTainted()).toEqual([false]);
    expect(await givenUnasked()).toEqual(['pay to account 7']);
  });
});
