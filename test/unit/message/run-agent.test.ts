import { beforeEach, describe, expect, it } from 'vitest';
import type { AgentTurn } from '../../../src/agent/index.ts';
import type { ChannelLinking } from '../../../src/channel/index.ts';
import { AgentFailure } from '../../../src/daemon/agent/agent.ts';
import type { RequestContext } from '../../../src/daemon/agent/context.ts';
import {
  type MemoryOwner,
  ownerOfPerson,
  ownerOnPlatform,
  type Principal,
} from '../../../src/daemon/identity/identity.ts';
import { runAgent } from '../../../src/daemon/message/run-agent.ts';
import type { Session } from '../../../src/daemon/session/session.ts';
import type { Action } from '../../../src/daemon/store/actions/actions.ts';
import { ClaimLost } from '../../../src/daemon/store/failures.ts';
import { Cancellation } from '../../../src/daemon/time/time-limit.ts';
import { createRegistry, fixedSource } from '../../../src/daemon/tools/registry.ts';
import type { Sent, ToolCall } from '../../../src/daemon/tools/tool.ts';
import { aSession } from '../../contract/fixtures.ts';
import { keepTurn, saveSession } from '../../contract/store-writes.ts';
import { endsWith } from '../../support/cancellation.ts';
import {
  aMessage,
  aTurnOf,
  NOTHING_BEGUN,
  nothingWaits,
  ON_PLATFORM,
  person,
  runStep,
  type StepWorld,
  stepWorld,
} from '../../support/step.ts';
import { accessTo, sourceOf, toolOf } from '../../support/tools.ts';

const NOBODY: Principal = { person: null, reason: 'no_token' };
const ADA: Principal = {
  person: person('ada'),
  claims: { sub: 'ada', email: 'ada@example.com', exp: 1, name: 'Ada' },
};

let world: StepWorld;
/** The behavior of the runtime. */
let run: (turn: AgentTurn) => AsyncIterable<string>;
let seen: AgentTurn | undefined;

beforeEach(async () => {
  seen = undefined;
  run = async function* () {
    yield 'Hello ';
    yield 'there.';
  };
  const agent = {
    apiVersion: 1 as const,
    run: (turn: AgentTurn) => {
      seen = turn;
      return run(turn);
    },
  };
  world = await stepWorld({ agent, env: { AGENT_CONCURRENCY: '1', AGENT_TIMEOUT_SECONDS: '60' } });
});

function resolved(principal = NOBODY, members: object = {}) {
  const session = aSession(world.clock.now(), { session_id: 's' });
  return aTurnOf(world, {
    ...nothingWaits(world),
    counted_in: null,
    key: null,
    claim: { session_tag: 's', owner: 'owner' },
    begun: NOTHING_BEGUN,
    has_started: true,
    found: null,
    session_tag: 's',
    session,
    session_origin: 'new' as const,
    principal,
    changes: { session },
    ...members,
  });
}
const tick = () => new Promise(setImmediate);
/** Yields no text. Throws when its signal aborts, and never ends without a signal. */
async function* hanging(signal?: AbortSignal): AsyncGenerator<string> {
  await new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
  yield 'too late';
}

describe('run-agent', () => {
  it('passes on each piece of text as it arrives, and joins the pieces to form the reply', async () => {
    const { turn, line } = await runStep(world, runAgent, resolved());
    expect(turn).toMatchObject({ reply: 'Hello there.', stopped: false });
    expect(turn.outlet.told.join('')).toBe('text Hello text there.');
    expect(line).toMatchObject({ step: 'run-agent', verdict: 'ok', detail: { characters: 12 } });
  });

  it('gives the agent the sender, the claims of the person, and whether a sign-in has expired', async () => {
    await runStep(world, runAgent, resolved(ADA));
    expect(seen).toMatchObject({
      text: 'Hello',
      history: [],
      person: { email: 'ada@example.com', name: 'Ada' },
      speaker: 'visitor',
      shared: false,
      sign_in_expired: false,
    });
    await runStep(
      world,
      runAgent,
      resolved({ person: null, reason: 'invalid_token', token_reason: 'Token Expired' }),
    );
    expect(seen).toMatchObject({ person: null, sign_in_expired: true });
    const notified: Principal = {
      person: null,
      reason: 'invalid_token',
      token_reason: 'Token Expired',
      expiry_notified: true,
    };
    await runStep(world, runAgent, resolved(notified));
    expect(seen?.sign_in_expired).toBe(false);
  });

  it('gives the tools only the context of their own message', async () => {
    let context: ToolCall['context'] = null;
    const tool = toolOf({
      send: async (_args, call) => {
        context = call.context;
        return { outcome: 'answered', status: null, result: null };
      },
    });
    world.services.tools = createRegistry([fixedSource(tool.source, [tool])], {
      access: accessTo(undefined),
      log: world.services.log,
    });
    run = async function* (turn) {
      await turn.tools[0]?.call({});
      yield 'ok';
    };
    const { turn } = await runStep(world, runAgent, resolved(ADA));
    expect(context).toMatchObject({ session_id: 's', user_id: 'visitor', acts_for: person('ada') });
    // The session is stored with the turn, so it cannot be found in the store yet.
    expect(await (context as RequestContext | null)?.readSession()).toBe(turn.session);
    // Afterward it may end at any time, for example by an operator's command.
    const owned = aSession(world.clock.now(), { session_id: 's', owner: person('ada') });
    await runStep(world, runAgent, resolved(NOBODY, { session: owned, changes: {} }));
    expect(context).toMatchObject({ acts_for: null });
    expect(await (context as RequestContext | null)?.readSession()).toBeNull();
  });

  describe('the memory of a run', () => {
    const LINKING = { idsOf: (id: string) => (id.startsWith('+') ? ['+5511', '+55911'] : [id]) };
    const phone = (members: object = {}) => ({
      ...ON_PLATFORM,
      message: aMessage({ platform: 'telex', user_id: 'U1', ...members }),
    });
    const remember = (owner: MemoryOwner, text = 'I like tea') =>
      world.store.memories?.add(owner, { text, turn_id: 't', tainted: false });
    /** The memories at the beginning of the run, and its memory tools. */
    const runWith = async (principal: Principal, members: object = {}) => {
      await runStep(
        world,
        runAgent,
        resolved(principal, { message: aMessage({ text: 'tea?' }), ...members }),
      );
      const others = ['get_user', 'my_actions'];
      const tools = seen?.tools.map(({ name }) => name).filter((name) => !others.includes(name));
      return { texts: seen?.memories.map(({ text }) => text), tools };
    };
    const NOTHING = { texts: [], tools: [] };
    const TEA = { texts: ['I like tea'], tools: ['remember', 'recall', 'forget'] };

    it('belongs to the person for whom the message acts', async () => {
      await remember(ownerOfPerson(person('ada')));
      expect(await runWith(ADA)).toEqual(TEA);
      expect(await runWith(ADA, { ...phone({ text: 'tea?' }) })).toEqual(TEA);
      const bob = { ...ADA, person: person('bob') } as Principal;
      expect(await runWith(bob)).toEqual({ ...TEA, texts: [] });
    });

    it('belongs to the platform user if there is no person, and to nobody on a web channel', async () => {
      await remember(ownerOnPlatform('telex', 'U1'));
      expect(await runWith(NOBODY, phone({ text: 'tea?' }))).toEqual(TEA);
      expect(await runWith(NOBODY, phone({ text: 'tea?', user_id: 'U2' }))).toEqual({ ...TEA, texts: [] });
      expect(await runWith(NOBODY, { message: aMessage({ user_id: 'U1', text: 'tea?' }) })).toEqual(NOTHING);
      expect(await runWith(NOBODY, { message: aMessage({ user_id: 'ada', text: 'tea?' }) })).toEqual(NOTHING);
    });

    it('is empty as soon as a message of the user has a different alias', async () => {
      await remember(ownerOnPlatform('telex', 'U1', 'one'));
      expect(await runWith(NOBODY, phone({ text: 'tea?', alias_id: 'one' }))).toEqual(TEA);
      expect(await runWith(NOBODY, phone({ text: 'tea?', alias_id: 'two' }))).toEqual({ ...TEA, texts: [] });
      expect(await runWith(NOBODY, phone({ text: 'tea?', alias_id: 'one' }))).toEqual({ ...TEA, texts: [] });
    });

    it('is the same for all spellings of a user id', async () => {
      await remember(ownerOnPlatform('telex', '+5511'));
      const channel = { ...ON_PLATFORM.channel, linking: LINKING as unknown as ChannelLinking };
      const written = { ...phone({ text: 'tea?', user_id: '+55911' }), channel };
      expect(await runWith(NOBODY, written)).toEqual(TEA);
    });

    it('is neither read nor offered if others can read the conversation', async () => {
      await remember(ownerOfPerson(person('ada')));
      await remember(ownerOnPlatform('telex', 'U1'));
      expect(await runWith(ADA, phone({ text: 'tea?', shared: true }))).toEqual(NOTHING);
      expect(await runWith(NOBODY, phone({ text: 'tea?', shared: true }))).toEqual(NOTHING);
      expect(await runWith(ADA, { message: aMessage({ text: 'tea?', shared: true }) })).toEqual(NOTHING);
      // Neither is the journal.
      expect(seen?.tools.map(({ name }) => name)).not.toContain('my_actions');
      await runWith(ADA);
      expect(seen?.tools.map(({ name }) => name)).toContain('my_actions');
    });
  });

  it('ends the run at the deadline, even if the runtime ignores its signal', async () => {
    run = () => hanging();
    const asked = runStep(world, runAgent, resolved());
    await tick();
    world.clock.moveTo(world.clock.now() + 60_000);
    await expect(asked).rejects.toMatchObject({ code: 'agent_timeout' });
    // The run slot is free again.
    run = async function* () {
      yield 'next';
    };
    expect((await runStep(world, runAgent, resolved())).turn.reply).toBe('next');
  });

  it('ends the run with the text so far if the person stops it', async () => {
    const stop = new Cancellation();
    let hasLeft = false;
    run = async function* ({ signal }) {
      try {
        yield 'So far, ';
        yield* hanging(signal);
      } finally {
        hasLeft = true;
      }
    };
    const asked = runStep(world, runAgent, resolved(NOBODY, { stopped: stop }));
    await tick();
    stop.end(() => new Error('stopped'));
    const { turn, line } = await asked;
    expect(turn).toMatchObject({ reply: turn.outlet.told.join('').replace('text ', ''), stopped: true });
    expect([line.reason, hasLeft]).toEqual(['stopped', true]);
  });

  it('starts no run if the person has already stopped it', async () => {
    const { turn } = await runStep(
      world,
      runAgent,
      resolved(NOBODY, { stopped: endsWith(AbortSignal.abort()) }),
    );
    expect([turn.reply, turn.stopped, seen]).toEqual(['', true, undefined]);
  });

  it('ends the run without a result if a claim of the turn is lost', async () => {
    run = ({ signal }) => hanging(signal);
    const turn = resolved();
    const asked = runStep(world, runAgent, turn);
    await tick();
    turn.lost.end(() => new ClaimLost());
    await expect(asked).rejects.toBeInstanceOf(ClaimLost);
    expect(turn.trace.lines.at(-1)).toMatchObject({ verdict: 'failed', reason: 'claim_lost' });
  });

  it('ends the run when the daemon stops', async () => {
    run = ({ signal }) => hanging(signal);
    const turn = resolved();
    const asked = runStep(world, runAgent, turn);
    await tick();
    world.stopping.abort(new Error('stopping'));
    await expect(asked).rejects.toMatchObject({ code: 'unavailable' });
    expect(turn.trace.lines.at(-1)?.reason).toBe('stopping');
  });

  it.each([
    ['fails with a code', () => new AgentFailure('model_refused', 'no'), 'model_refused'],
    ['throws', () => new TypeError('no such thing'), 'runtime_threw'],
  ])('fails with a fixed text if the runtime %s', async (_case, error, reason) => {
    // biome-ignore lint/correctness/useYield: it fails before it says anything
    run = async function* () {
      throw error();
    };
    const turn = resolved();
    await expect(runStep(world, runAgent, turn)).rejects.toMatchObject({
      code: 'agent_failed',
      message: 'The agent could not answer.',
    });
    expect(turn.trace.lines.at(-1)).toMatchObject({ verdict: 'failed', reason });
  });

  it('fails with the wait that the runtime requests before the next run', async () => {
    // biome-ignore lint/correctness/useYield: it fails before it says anything
    run = async function* () {
      throw Object.assign(new Error('busy'), { passing: true, retryAfterSeconds: 120 });
    };
    await expect(runStep(world, runAgent, resolved())).rejects.toMatchObject({
      code: 'agent_failed',
      retryAfter: 120,
    });
  });

  it('fails if the runtime ends without any text', async () => {
    run = async function* () {
      yield ' ';
    };
    await expect(runStep(world, runAgent, resolved())).rejects.toMatchObject({ code: 'agent_failed' });
  });

  it('fails if the runtime yields something that is not a text', async () => {
    run = async function* () {
      yield { text: 'Hello' } as unknown as string;
    };
    await expect(runStep(world, runAgent, resolved())).rejects.toMatchObject({
      code: 'agent_failed',
      cause: expect.objectContaining({ message: 'the runtime yielded an object instead of a text' }),
    });
  });

  it('truncates a reply that does not end', async () => {
    run = async function* () {
      for (;;) yield 'word '.repeat(1000);
    };
    const { turn, line } = await runStep(world, runAgent, resolved());
    expect([turn.reply.length, line.reason]).toEqual([100_000, 'reply_cut']);
  });

  it('masks text that looks like a token, even if it arrives in several pieces', async () => {
    run = async function* () {
      for (const piece of ['It is eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOi', 'JhZGEifQ.c2lnbmF0dXJlLW9mLWl0', ' ok'])
        yield piece;
    };
    const { turn } = await runStep(world, runAgent, resolved());
    expect(turn.reply).toBe('It is [token] ok');
  });
});

describe('a run that has ended', () => {
  /** Gives the runtime a tool that counts its calls. @returns the number of calls so far */
  function countedTool(send: () => Promise<Sent> = async () => DONE): () => number {
    let calls = 0;
    const tool = toolOf({
      send: () => {
        calls++;
        return send();
      },
    });
    world.services.tools = createRegistry([fixedSource(tool.source, [tool])], {
      access: accessTo(undefined),
      log: world.services.log,
    });
    return () => calls;
  }
  const DONE = { outcome: 'answered', status: 200, result: {} } as const;

  it('has tools that reject, also in the run of the next message', async () => {
    const calls = countedTool();
    await runStep(world, runAgent, resolved(ADA));
    const kept = seen?.tools[0];
    expect(calls()).toBe(0);
    await expect(kept?.call({})).rejects.toThrow(
      'the run of this message has ended, so its tools can no longer be called',
    );
    run = async function* () {
      await expect(kept?.call({})).rejects.toThrow('the run of this message has ended');
      yield 'of Bob';
    };
    const bob: Principal = { ...ADA, person: person('bob') };
    expect((await runStep(world, runAgent, resolved(bob))).turn.reply).toBe('of Bob');
    expect(calls()).toBe(0);
  });

  it('cancels a call that the runtime did not wait for', async () => {
    const sending = Promise.withResolvers<void>();
    countedTool(() => {
      sending.resolve();
      return new Promise(() => {});
    });
    let kept: Promise<unknown> | undefined;
    run = async function* (turn) {
      kept = turn.tools[0]?.call({});
      await sending.promise;
      yield 'Done.';
    };
    await runStep(world, runAgent, resolved(ADA));
    await expect(kept).rejects.toThrow('the run of this message has ended');
  });

  it('has tools that reject if the runtime failed', async () => {
    const calls = countedTool();
    // biome-ignore lint/correctness/useYield: it fails before it says anything
    run = async function* () {
      throw new Error('broken');
    };
    await expect(runStep(world, runAgent, resolved(ADA))).rejects.toThrow();
    await expect(seen?.tools[0]?.call({})).rejects.toThrow('the run of this message has ended');
    expect(calls()).toBe(0);
  });

  it('has a meter that rejects', async () => {
    await runStep(world, runAgent, resolved(ADA));
    await expect(seen?.meter.begin({ model: 'm', prompt_tokens: 1 })).rejects.toThrow('has ended');
  });
});

describe('the writes of a run', () => {
  beforeEach(() => {
    world.services.settings = { ...world.services.settings, RECEIPTS: false };
  });

  it.each([
    ['done', { outcome: 'answered', status: 200, result: {} }, '7 – done'],
    ['failed', { outcome: 'answered', status: 409, result: {} }, '7 – failed (status 409)'],
  ] as const)('are all listed in the reply if the agent cannot report them (%s)', async (_, sent, words) => {
    const { reply } = await runWith(sent, {}, (turn) => turn.reportWrites());
    expect(reply).toBe(`Cancelled!\n\nCancel \\*order\\* ${words}`);
  });

  it('are listed if their outcome is unknown, even if the person stopped the run before any text', async () => {
    const stop = new Cancellation();
    const { reply, stopped } = await runWith(UNKNOWN, { stopped: stop }, () => stop.end(() => null));
    expect([reply, stopped]).toEqual([
      'Cancel \\*order\\* 7 – unknown: it is not known whether this happened',
      true,
    ]);
  });

  const write = (sent: Sent) =>
    toolOf({
      name: 'shop_cancelOrder',
      summary: 'Cancel *order* {id}',
      parameters: { type: 'object', properties: { id: { type: 'integer' } } },
      source: sourceOf({}),
      effect: 'write',
      send: async () => sent,
    });
  const UNKNOWN = { outcome: 'failed', reached: true, reason: 'broken', message: 'x' } as const;
  const DONE = { outcome: 'answered', status: 200, result: {} } as const;

  /** Runs an agent that makes one write. `before` runs after the call and before the run ends. */
  async function runWith(sent: Sent, members: object = {}, before: (turn: AgentTurn) => void = () => {}) {
    const tool = write(sent);
    world.services.tools = createRegistry([fixedSource(tool.source, [tool])], {
      access: accessTo(undefined),
      log: world.services.log,
    });
    run = async function* (turn) {
      await turn.tools[0]?.call({ id: 7 });
      before(turn);
      yield 'Cancelled!';
    };
    const begun = await world.store.beginTurn('s', 's', 'turn-1');
    if (!begun) throw new Error('the session was already claimed');
    const { claim } = begun;
    const ran = await runStep(world, runAgent, resolved(ADA, { claim, begun, ...ON_PLATFORM, ...members }));
    await world.store.sessions.release(claim);
    return ran.turn;
  }

  it('are recorded for the person, under the turn of the message', async () => {
    await runWith(DONE);
    expect(await world.store.actions.ofTurn('turn-1')).toMatchObject([
      { state: 'done', person: person('ada'), session_tag: 's', user_id: 'visitor' },
    ]);
  });

  it('are given to the next run of the same message', async () => {
    await runWith(DONE);
    expect(seen?.already_done).toEqual([]);
    await runWith(DONE);
    expect(seen?.already_done).toMatchObject([{ summary: 'Cancel *order* 7', outcome: 'done' }]);
    expect(await world.store.actions.list({ limit: 10 })).toHaveLength(1);
  });

  it('taint the next run of the same message, because nobody knows what the earlier run has read', async () => {
    const taintOf = async (earlier: readonly Action[]) => {
      const begun = { ...NOTHING_BEGUN, earlier };
      return (await runStep(world, runAgent, resolved(ADA, { begun, ...ON_PLATFORM }))).turn.run_record
        .tainted;
    };
    await runWith(DONE);
    run = async function* () {
      yield 'Hello.';
    };
    expect(await taintOf([])).toBe(false);
    expect(await taintOf(await world.store.actions.ofTurn('turn-1'))).toBe(true);
  });

  it('with an unknown outcome are listed at the end of the reply, whatever the agent says', async () => {
    const turn = await runWith(UNKNOWN);
    const end = 'Cancel \\*order\\* 7 – unknown: it is not known whether this happened';
    expect(turn.reply).toBe(`Cancelled!\n\n${end}`);
    // The lines leave with the complete reply, and the receipts that clients show instead.
    expect(turn.outlet.told.at(-1)).toBe('text Cancelled!');
    run = async function* () {
      yield 'Fine.';
    };
    const begun = await world.store.beginTurn('s', 's', 'turn-1');
    const again = await runStep(world, runAgent, resolved(ADA, { begun, ...ON_PLATFORM }));
    expect(again.turn.reply).toBe(`Fine.\n\n${end}`);
  });
});

describe('the history that the agent gets', () => {
  let session: Session;
  async function shownTo(principal: Principal, members: Partial<Session>, on: object = {}) {
    session = aSession(world.clock.now(), { session_id: 's', ...members });
    await saveSession(world.store, session);
    await keepTurn(world.store, session, { text: 'of nobody', reply: 'a' });
    await keepTurn(world.store, session, { text: 'of Ada', reply: 'b', person: person('ada') });
    await keepTurn(world.store, session, { text: 'of Bob', reply: 'c', person: person('bob') });
    const begun = { ...NOTHING_BEGUN, turns: await world.store.sessions.turns('s') };
    await runStep(
      world,
      runAgent,
      resolved(principal, { session, session_origin: 'found', begun, changes: {}, ...on }),
    );
    return seen?.history.map(({ user, before_sign_in }) => (before_sign_in ? `(${user})` : user));
  }

  it.each<[string, Principal, generated: boolean, object, string[]]>([
    ['of the same person, and marks those from before the sign-in', ADA, true, {}, ['(of nobody)', 'of Ada']],
    ['of a person alone, if the client chose the session id', ADA, false, {}, ['of Ada']],
    ['of nobody, for a sender without sign-in', NOBODY, true, {}, ['of nobody']],
    ['on a platform without marks: it verifies senders', ADA, false, ON_PLATFORM, ['of nobody', 'of Ada']],
  ])('has the turns %s', async (_what, principal, generated, on, shown) => {
    expect(await shownTo(principal, { generated }, on)).toEqual(shown);
  });
});
