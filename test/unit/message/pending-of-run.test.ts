import { beforeEach, describe, expect, it } from 'vitest';
import type { AgentTurn } from '../../../src/agent/index.ts';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import type { Session } from '../../../src/daemon/session/session.ts';
import { Cancellation } from '../../../src/daemon/time/time-limit.ts';
import { closeActionText } from '../../../src/daemon/tools/journal/action-record.ts';
import { createRegistry, fixedSource } from '../../../src/daemon/tools/registry.ts';
import type { Sent } from '../../../src/daemon/tools/tool.ts';
import { aPendingAction, aTrace } from '../../contract/fixtures.ts';
import { claimSession, saveSession } from '../../contract/store-writes.ts';
import { endsWith } from '../../support/cancellation.ts';
import { type Sender, say } from '../../support/say.ts';
import { person, type StepWorld, stepWorld } from '../../support/step.ts';
import { accessTo, sourceOf, toolOf } from '../../support/tools.ts';

/* What a run leaves behind with the actions that it asks about: whether it was stopped, or tainted. */

const API = 'https://api.example.com';
const ADA: Sender = { sub: 'ada' };
const QUESTION = 'Please confirm: Pay "7"';

let world: StepWorld;
/** What the runtime does. */
let act: (turn: AgentTurn) => Promise<void>;
let paid: unknown[];
/** How the business API answers a payment. */
let answer: () => Promise<Sent>;
const DONE: Sent = { outcome: 'answered', status: 200, result: {} };

beforeEach(async () => {
  act = async () => {};
  paid = [];
  answer = async () => DONE;
  const agent = {
    apiVersion: 1 as const,
    async *run(turn: AgentTurn) {
      await act(turn);
      yield 'So far.';
    },
  };
  world = await stepWorld({ agent, env: { API_BASE_URL: API } });
  const docs = toolOf({ name: 'docs', source: sourceOf({ base_url: 'https://docs.example.com' }, API) });
  const pay = toolOf({
    name: 'pay',
    summary: 'Pay {to}',
    parameters: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
    source: sourceOf({ base_url: API }, API),
    effect: 'write',
    confirm: 'always',
    send: async (args) => {
      paid.push(args);
      return answer();
    },
  });
  world.services.tools = createRegistry(
    [docs, pay].map((tool) => fixedSource(tool.source, [tool])),
    { access: accessTo(API), log: world.services.log },
  );
});

const call = (turn: AgentTurn, name: string, args: object = {}) =>
  turn.tools.find((tool) => tool.name === name)?.call(args);
const pay = async (turn: AgentTurn) => call(turn, 'pay', { to: '7' });
const doing = (work: (turn: AgentTurn) => Promise<unknown>, sender: Sender = ADA, text = 'Please.') => {
  act = async (turn) => {
    await work(turn);
  };
  return say(world, text, sender);
};
const pending = () => world.store.actions.pendingIn('s');

describe('an answer that the person stops', () => {
  it('asks nothing, so that no action waits that the person was not shown', async () => {
    const stop = new Cancellation();
    const { reply } = await doing(
      async (turn) => {
        await pay(turn);
        stop.end(() => null);
      },
      { ...ADA, stopped: stop },
    );
    expect(reply).not.toContain('Please confirm');
    expect(await pending()).toEqual([]);
  });

  it('leaves an earlier question open, but does not repeat it, so that a word does not answer it', async () => {
    expect((await doing(pay)).reply).toContain(QUESTION);
    const stop = new Cancellation();
    const { reply } = await doing(async () => stop.end(() => null), { ...ADA, stopped: stop });
    expect(reply).not.toContain(QUESTION);
    expect(await pending()).toHaveLength(1);
    await doing(async () => {}, ADA, 'yes');
    expect([paid, (await pending()).length]).toEqual([[], 1]);
    // The reply to that word has repeated the question.
    await doing(async () => {}, ADA, 'yes');
    expect([paid, (await pending()).length]).toEqual([[{ to: '7' }], 0]);
  });

  it('is empty if it would have been a text of the daemon, which does not repeat the question either', async () => {
    await doing(pay);
    // In a session with an id that the daemon generated, the stored sign-in acts without a token.
    const session = await world.store.sessions.find('s');
    await saveSession(world.store, { ...(session as Session), generated: true }, 'changed');
    const stopped = endsWith(AbortSignal.abort());
    expect(await doing(async () => {}, { stopped }, 'yes')).toMatchObject({ reply: '', was_stopped: true });
    await doing(async () => {}, ADA, 'yes');
    expect([paid, (await pending()).length]).toEqual([[], 1]);
    expect(await doing(async () => {}, { ...ADA, stopped }, 'no')).toMatchObject({
      reply: '',
      was_stopped: true,
    });
    expect([paid, await pending()]).toEqual([[], []]);
  });

  it('does not end before its reply, from the moment when it begins to carry out an action', async () => {
    await doing(pay);
    const { told } = await doing(async () => {}, ADA, 'yes');
    const about = told.filter((line) => /^(?:must|tool)/.test(line));
    expect(about).toEqual(['must report', 'tool pay started', 'tool pay completed']);
  });

  it('carries out nothing if it was stopped before the calls that it confirms', async () => {
    await doing(pay);
    await doing(async () => {}, { ...ADA, stopped: endsWith(AbortSignal.abort()) }, 'yes');
    expect([paid, (await pending()).length]).toEqual([[], 1]);
  });

  it.each([
    ['the only call', ['7'], []],
    ['the first of several calls', ['7', '8'], ['8']],
  ])('says what became of %s that it has sent', async (_, all, left_out) => {
    await doing((turn) => Promise.all(all.map((to) => call(turn, 'pay', { to }))));
    const stop = new Cancellation();
    answer = () => {
      stop.end(() => null);
      return new Promise(() => {});
    };
    const { reply } = await doing(async () => {}, { ...ADA, stopped: stop }, 'yes');
    expect(reply.split('\n\n')).toEqual([
      ...left_out.map((to) => `Pay "${to}" – not done, because an earlier action failed or may have failed`),
      'Pay "7" – unknown: it is not known whether this happened',
    ]);
    expect([paid, (await pending()).length]).toEqual([[{ to: '7' }], 0]);
  });

  it('says that a call was not made if it was stopped before the call was sent', async () => {
    await doing(pay);
    const stop = new Cancellation();
    const { actions } = world.store;
    const { answer } = actions;
    actions.answer = (...given) => {
      stop.end(() => null);
      return answer(...given);
    };
    const { reply } = await doing(async () => {}, { ...ADA, stopped: stop }, 'yes');
    expect([reply, paid, (await pending()).length]).toEqual(['Pay "7" – failed', [], 0]);
  });

  it('says that the outcome is not known if the store fails while it records that a call begins', async () => {
    await doing(pay);
    const stop = new Cancellation();
    const { actions } = world.store;
    const { answer } = actions;
    actions.answer = async (...given) => {
      await answer(...given);
      stop.end(() => null);
      throw new StoreUnavailable('no answer');
    };
    const { reply } = await doing(async () => {}, { ...ADA, stopped: stop }, 'yes');
    expect([reply, paid]).toEqual(['Pay "7" – unknown: it is not known whether this happened', []]);
  });

  it('says that no call was made if it was stopped while the answer to a question about several was stored', async () => {
    await doing((turn) => Promise.all(['7', '8'].map((to) => call(turn, 'pay', { to }))));
    const stop = new Cancellation();
    const { actions } = world.store;
    const { answer } = actions;
    actions.answer = (...given) => {
      stop.end(() => null);
      return answer(...given);
    };
    const { reply, was_stopped } = await doing(async () => {}, { ...ADA, stopped: stop }, 'yes');
    const leftOut = 'Pay "8" – not done, because an earlier action failed or may have failed';
    expect([reply.split('\n\n'), was_stopped]).toEqual([[leftOut, 'Pay "7" – failed'], true]);
    expect([paid, (await pending()).length]).toEqual([[], 0]);
  });
});

describe('a pending action', () => {
  it.each([
    ['is tainted if a tool of another origin may have dictated it', true],
    ['is not tainted otherwise', undefined],
  ])('%s', async (_, tainted) => {
    await doing(async (turn) => {
      if (tainted) await call(turn, 'docs');
      await pay(turn);
    });
    expect((await pending()).map((action) => action.tainted)).toEqual([tainted]);
  });

  it('that is tainted taints a run that has it in view, whatever else the run is given', async () => {
    await doing(async () => {});
    const session = await world.store.sessions.find('s');
    if (session === null) throw new Error('there is no session');
    const { seal, store } = world.services;
    const [action_id, ada] = ['tainted', person('ada')];
    const claim = await claimSession(store, 's');
    const action = aPendingAction(session, {
      ...{ action_id, tool: 'pay', principal: ada, person: ada, user_id: session.user_id, tainted: true },
      args: closeActionText(seal, action_id, 'args', '{"to":"7"}'),
      summary: closeActionText(seal, action_id, 'summary', 'Pay "7"'),
    });
    await store.commitTurn(claim, { trace: aTrace(session), pending: [action] });
    await store.sessions.release(claim);
    expect((await doing(async () => {}, ADA, 'what?')).reply).toContain(QUESTION);
    expect((await store.sessions.turns('s')).map(({ tainted }) => tainted)).toEqual([false, true]);
  });
});
