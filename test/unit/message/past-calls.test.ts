import { beforeEach, describe, expect, it } from 'vitest';
import type { AgentTurn, SummaryRequest } from '../../../src/agent/index.ts';
import { KeptCalls, SESSION_CALLS_BYTES } from '../../../src/daemon/message/run/record.ts';
import { generateSessionId } from '../../../src/daemon/session/session.ts';
import { createRegistry, fixedSource } from '../../../src/daemon/tools/registry.ts';
import { aSession } from '../../contract/fixtures.ts';
import { saveSession } from '../../contract/store-writes.ts';
import { type Sender, say } from '../../support/say.ts';
import { person, type StepWorld, stepWorld } from '../../support/step.ts';
import { accessTo, toolOf } from '../../support/tools.ts';

const ADA: Sender = { sub: 'ada' };
const BOB: Sender = { sub: 'bob' };
const KEY = Buffer.alloc(32, 7).toString('base64');

let world: StepWorld;
let seen: AgentTurn[];
let asked: SummaryRequest[];
/** What the runtime does; the next message does nothing again. */
let act: (turn: AgentTurn) => Promise<void> | void;
/** The result of the tool `look`. */
let result: unknown;

beforeEach(async () => {
  [seen, asked, act, result] = [[], [], () => {}, { order: 7, total: 'secret-total' }];
  const agent = {
    apiVersion: 1 as const,
    async *run(turn: AgentTurn) {
      seen.push(turn);
      await act(turn);
      act = () => {};
      yield 'Fine.';
    },
    summarize: async (request: SummaryRequest) => {
      asked.push(request);
      return 'In short.';
    },
  };
  world = await stepWorld({
    agent,
    env: { AGENT_HISTORY_TOKENS: '2000', RATE_LIMIT_TOKEN_MAX: '1000' },
    sealKey: KEY,
  });
  const parameters = { type: 'object', properties: { id: {} }, additionalProperties: false };
  const look = toolOf({
    parameters,
    source: { ...toolOf().source, kind: 'module' },
    public: 'all',
    send: async () => ({ outcome: 'answered', status: 200, result }),
  });
  world.services.tools = createRegistry(
    [look, ...world.services.tools.tools()].map((tool) => fixedSource(tool.source, [tool])),
    { access: accessTo(undefined), log: world.services.log },
  );
});

const call =
  (name = 'look', args: object = { id: 7 }) =>
  async (turn: AgentTurn) => {
    await turn.tools.find((tool) => tool.name === name)?.call(args);
  };
const doing = (work: typeof act, sender?: Sender) => {
  act = work;
  return say(world, 'Hello', sender);
};
const past = () => seen.at(-1)?.history.map(({ calls }) => calls);
async function generatedSession(): Promise<string> {
  const session_id = generateSessionId('webchat', 'visitor');
  const members = { session_id, generated: true, user_id: 'visitor', platform: 'webchat' };
  await saveSession(world.store, aSession(world.clock.now(), members));
  return session_id;
}

describe('the calls of earlier runs', () => {
  it('are in the history with the arguments and the answers that the agent got', async () => {
    await doing(call(), ADA);
    await doing(call('look', { none: 1 }), ADA);
    await say(world, 'And?', ADA);
    expect(past()).toEqual([
      [{ tool: 'look', args: { id: 7 }, answer: { ok: true, result: { order: 7, total: 'secret-total' } } }],
      [
        {
          tool: 'look',
          args: { none: 1 },
          answer: { ok: false, message: 'There is no argument `none`.' },
        },
      ],
    ]);
  });

  it('are stored sealed, and nothing is stored if nothing was called', async () => {
    await say(world, 'Hi', ADA);
    await doing(call(), ADA);
    const [first, second] = await world.store.sessions.turns('s');
    expect(Object.keys(first ?? {})).not.toContain('calls');
    expect(Object.keys(first ?? {})).not.toContain('calls_bytes');
    expect(second?.calls).toMatch(/^sealed\.v1\./);
    expect(JSON.stringify(second)).not.toContain('secret-total');
  });

  it.each([
    ['the turn of another person', 'bob', BOB, {}],
    ['another turn of the person', 'ada', ADA, { turn_id: 'another' }],
  ] as const)('cannot be opened in %s', async (_, sub, sender, others) => {
    await doing(call(), ADA);
    const [stored] = await world.store.sessions.turns('s');
    const session = aSession(world.clock.now(), {
      ...{ session_id: 'other', owner: person(sub), user_id: 'visitor', platform: 'webchat' },
    });
    await saveSession(world.store, session);
    const claim = await world.store.sessions.claim('other');
    if (!claim || !stored) throw new Error('there is no claim');
    const record = { ...stored, person: person(sub), ...others };
    const trace = { ...(await world.store.traces.find('s'))[0], turn_id: record.turn_id };
    await world.store.commitTurn(claim, { turn: { record, ttl_ms: 60_000 }, trace } as never);
    await world.store.sessions.release(claim);
    await say(world, 'And?', { ...sender, session_id: 'other' });
    expect(past()).toEqual([undefined]);
  });

  it('are not given to a person who signs in afterward, although the person sees the words', async () => {
    const session_id = await generatedSession();
    await doing(call(), { session_id });
    await say(world, 'Still nobody', { session_id });
    expect(past()).toMatchObject([[{ tool: 'look' }]]);
    await say(world, 'Now Ada', { session_id, ...ADA });
    expect(seen.at(-1)?.history).toMatchObject([{ before_sign_in: true }, { before_sign_in: true }]);
    expect(past()).toEqual([undefined, undefined]);
  });

  it('are not given to another user of a shared thread', async () => {
    const thread = { platform: true, shared: true, session_id: 'thread' };
    await doing(call(), { ...thread, user_id: 'U1' });
    await say(world, 'And?', { ...thread, user_id: 'U2' });
    expect(past()).toEqual([undefined]);
    await say(world, 'And?', { ...thread, user_id: 'U1' });
    expect(past()).toMatchObject([[{ tool: 'look' }], undefined]);
  });

  it('of memory and of the journal are not kept, because a person may have deleted what they returned', async () => {
    await doing(async (turn) => {
      await call('remember', { text: 'I like tea' })(turn);
      await call('recall', { query: 'tea' })(turn);
      await call('my_actions', {})(turn);
    }, ADA);
    await say(world, 'And?', ADA);
    expect(past()).toEqual([undefined]);
  });

  it('are given to the runtime that summarizes them', async () => {
    result = 'x'.repeat(3_000);
    for (let turns = 0; turns < 4; turns++) await doing(call('look', { id: turns }), ADA);
    await world.services.summaries.idle();
    expect(asked[0]?.exchanges[0]?.calls).toMatchObject([{ tool: 'look', args: { id: 0 } }]);
  });
});

describe('the size of the calls that are kept', () => {
  it('is 4 KiB for each answer, and a longer answer is marked as cut', async () => {
    result = Array.from({ length: 100 }, (_, id) => ({ id, text: 'x'.repeat(100) }));
    await doing(call(), ADA);
    await say(world, 'And?', ADA);
    const [[kept] = []] = past() ?? [];
    expect(kept).toMatchObject({ cut: true });
    expect(JSON.stringify(kept?.answer)).toMatch(/\[… \d+ more\]/);
    expect(JSON.stringify(kept).length).toBeLessThan(4_500);
  });

  it('is 16 KiB for each turn', async () => {
    result = 'x'.repeat(3_900);
    await doing(async (turn) => {
      for (let id = 0; id < 8; id++) await call('look', { id })(turn);
    }, ADA);
    await say(world, 'And?', ADA);
    const isCut = past()?.[0]?.map(({ cut }) => cut ?? false);
    expect(isCut?.slice(0, 5)).toEqual([false, false, false, false, true]);
    expect(JSON.stringify(past()).length).toBeLessThan(16_500);
  });

  it('is 1 MiB for each session and principal, and the latest turn always has room', async () => {
    await doing(call(), ADA);
    await say(world, 'No call', ADA);
    await doing(call('look', { id: 8 }), ADA);
    const [first, none, last] = await world.store.sessions.turns('s');
    expect(none?.calls_bytes).toBe(first?.calls_bytes);
    expect(last?.calls_bytes).toBe(2 * (first?.calls_bytes ?? 0));
    let used = 0;
    for (let turns = 0; turns < 300; turns++) {
      const calls = new KeptCalls(used);
      const before = used;
      for (let id = 0; id < 5; id++)
        calls.add({
          tool: toolOf({ source: { ...toolOf().source, kind: 'module' } }),
          args: {},
          answer: { ok: true, result: 'x'.repeat(5_000) },
        });
      used = calls.bytes;
      expect(used).toBeGreaterThan(before);
    }
    expect(used).toBeLessThanOrEqual(SESSION_CALLS_BYTES);
    expect(used).toBeGreaterThan(SESSION_CALLS_BYTES * 0.9);
  });
});

describe('the state of a runtime', () => {
  const set = (value: unknown) => (turn: AgentTurn) => turn.state.set(value);
  const state = () => seen.at(-1)?.state.value;

  it('is null at first, and later runs of the same principal get what was set', async () => {
    await doing(set({ step: 1 }), ADA);
    expect(state()).toBeNull();
    await say(world, 'And?', ADA);
    expect(state()).toEqual({ step: 1 });
    await doing(set(null), ADA);
    await say(world, 'And?', ADA);
    expect(state()).toBeNull();
  });

  it('is not given to nobody, to another person, or to another user, and is not lost through them', async () => {
    const thread = { platform: true, shared: true, session_id: 'thread' };
    await doing(set('of U1'), { ...thread, user_id: 'U1' });
    await doing(set('of U2'), { ...thread, user_id: 'U2' });
    await say(world, 'And?', { ...thread, user_id: 'U3' });
    expect(state()).toBeNull();
    await say(world, 'And?', { ...thread, user_id: 'U1' });
    expect(state()).toBe('of U1');
    const session_id = await generatedSession();
    await doing(set('of nobody'), { session_id });
    const { session_id: renamed } = await doing(set('of Ada'), { session_id, ...ADA });
    expect(state()).toBeNull();
    await say(world, 'And?', { session_id: renamed, ...ADA });
    expect(state()).toBe('of Ada');
  });

  it('of a person is not given to nobody in a session whose id the client chose', async () => {
    await doing(set('of Ada'), ADA);
    await say(world, 'And?');
    expect([seen.at(-1)?.principal, state()]).toEqual([null, null]);
  });

  it('may have 8 KiB; a larger state is an error that is thrown to the runtime', async () => {
    await doing((turn) => {
      turn.state.set('x'.repeat(8_190));
      expect(() => turn.state.set('x'.repeat(8_191))).toThrow(
        'the state of a runtime may have 8192 bytes of JSON, and this one has 8193',
      );
      expect(() => turn.state.set(undefined)).toThrow('must be a JSON value');
    }, ADA);
    await say(world, 'And?', ADA);
    expect(state()).toBe('x'.repeat(8_190));
  });

  it('is stored sealed, and only by a run that set it', async () => {
    await doing(set('secret-step'), ADA);
    await say(world, 'And?', ADA);
    const [first, second] = await world.store.sessions.turns('s');
    expect(first?.state).toMatch(/^sealed\.v1\./);
    expect(Object.keys(second ?? {})).not.toContain('state');
  });

  it('is not stored if the run fails', async () => {
    await doing(set(1), ADA);
    const failed = doing((turn) => {
      turn.state.set(2);
      throw new Error('broken');
    }, ADA);
    await expect(failed).rejects.toThrow();
    act = () => {};
    await say(world, 'And?', ADA);
    expect(state()).toBe(1);
  });

  it('remains although its turn leaves the history', async () => {
    await doing(set('kept'), ADA);
    for (let turns = 0; turns < 120; turns++) await say(world, 'And?', ADA);
    expect(state()).toBe('kept');
    const stored = (await world.store.sessions.turns('s')).filter((turn) => turn.state !== undefined);
    expect(stored.length).toBeLessThanOrEqual(5);
  });

  it('cannot be set after the run has ended', async () => {
    await say(world, 'Hi', ADA);
    expect(() => seen[0]?.state.set(1)).toThrow('the run of this message has ended');
  });
});

it('a runtime gets the id of the session, and who the principal is without the token', async () => {
  const { session_id } = await say(world, 'Hi', ADA);
  expect(seen[0]?.session_id).toBe(session_id);
  expect(seen[0]?.principal).toEqual({ sub: 'ada', tenant_id: null, roles: [] });
  expect(JSON.stringify(seen[0])).not.toContain('token-of-ada');
});
