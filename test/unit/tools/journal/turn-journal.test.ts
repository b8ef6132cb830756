import { beforeEach, describe, expect, test } from 'vitest';
import type { ToolAnswer } from '../../../../src/agent/index.ts';
import { StoreUnavailable } from '../../../../src/daemon/errors.ts';
import { createSeal, SEALED } from '../../../../src/daemon/identity/seal.ts';
import { Secret } from '../../../../src/daemon/settings/secret.ts';
import { type ActionOrigin, isUnknown } from '../../../../src/daemon/store/actions/actions.ts';
import { CLAIM_MS, type KeyClaim, type SessionClaim } from '../../../../src/daemon/store/claims/claims.ts';
import { MemoryState } from '../../../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../../../src/daemon/store/kernels/memory/store.ts';
import type { Store } from '../../../../src/daemon/store/store.ts';
import { TurnJournal } from '../../../../src/daemon/tools/journal/turn-journal.ts';
import type { Sent, Tool, ToolCall } from '../../../../src/daemon/tools/tool.ts';
import { ada, bob } from '../../../contract/fixtures.ts';
import { claimSession } from '../../../contract/store-writes.ts';
import { bindOne, type RunOptions, sourceOf, toolOf } from '../../../support/tools.ts';

const MESSAGE: ActionOrigin = {
  ...{ session_tag: 's', session_id: 's', turn_key: 'turn' },
  ...{ platform: 'chat', user_id: 'u1', alias_id: null, person: ada },
};
const seal = createSeal(new Secret(Buffer.alloc(32, 1).toString('base64')));
const parameters = {
  type: 'object',
  properties: { id: { type: 'integer' }, why: { type: 'string' } },
  additionalProperties: false,
};
const answered = (status: number, result: unknown): Sent => ({ outcome: 'answered', status, result });
const broken: Sent = { outcome: 'failed', reached: true, reason: 'broken', message: 'The connection broke.' };
const unsent: Sent = { outcome: 'failed', reached: false, reason: 'unreachable', message: 'Out of reach.' };

let now: number;
let store: Store;
let peer: Store;
let claim: SessionClaim;
/** The requests that were sent: the arguments and the idempotency key. */
let sent: { args: object; key: string | null }[];
/** The answers of the API, in order. After the last of them, the API answers `{ ok: true }`. */
let answers: Sent[];

beforeEach(async () => {
  now = Date.UTC(2030, 0, 1);
  const state = new MemoryState();
  const clock = { now: () => now };
  store = openMemoryStore(state, { clock });
  peer = openMemoryStore(state, { clock });
  claim = await claimSession(store, 's');
  sent = [];
  answers = [];
});

const cancel: Tool = toolOf({
  name: 'shop_cancelOrder',
  title: 'Cancel an order',
  summary: 'Cancel order {id}',
  parameters,
  effect: 'write',
  source: sourceOf({ credentials: 'none' }),
  async send(args, { idempotency_key }: ToolCall) {
    sent.push({ args, key: idempotency_key });
    return answers.shift() ?? answered(200, { cancelled: true });
  },
});

/** Begins a run of the message. */
async function begin(
  { key = null, ...members }: Partial<ActionOrigin> & { key?: KeyClaim | null } = {},
  tool = cancel,
  rest: RunOptions = {},
) {
  const origin = { ...MESSAGE, ...members };
  const earlier = await store.actions.ofTurn(origin.turn_key);
  const journal = new TurnJournal(
    { origin, earlier, claims: { session: claim, key } },
    { actions: store.actions, seal, clock: { now: () => now } },
  );
  const { bound, lines } = bindOne(tool, { journal, ...rest });
  const call = (args: unknown): Promise<ToolAnswer> => bound.call(args);
  return { journal, call, lines };
}

const unknownIn = ({ written }: TurnJournal) => written.filter(isUnknown);
const listed = () => store.actions.list({ limit: 10 });

describe('a write', () => {
  test('is recorded before it is sent, and its outcome afterwards', async () => {
    const states: unknown[] = [];
    const tool: Tool = {
      ...cancel,
      async send(_args, { idempotency_key }) {
        states.push(await peer.actions.find(idempotency_key ?? ''));
        return answered(201, { cancelled: true });
      },
    };
    const { call } = await begin({}, tool);
    expect(await call({ id: 7, why: 'late' })).toEqual({ ok: true, result: { cancelled: true } });
    expect(states).toMatchObject([{ state: 'started', tool: 'shop_cancelOrder', turn_key: 'turn' }]);
    expect(await listed()).toMatchObject([
      {
        ...{ state: 'done', status: 201, person: ada, platform: 'chat', user_id: 'u1' },
        ...{ session_id: 's', session_tag: 's', operator: null, finished_at: now },
      },
    ]);
  });

  test('has an unknown outcome if it is still running when the reply ends', async () => {
    const tool: Tool = { ...cancel, send: () => new Promise(() => undefined) };
    const { call, journal } = await begin({}, tool);
    void call({ id: 7 });
    await new Promise(setImmediate);
    expect(unknownIn(journal)).toHaveLength(1);
  });

  test('is not sent if it cannot be recorded', async () => {
    const { call, lines } = await begin();
    store.actions.start = () => Promise.reject(new StoreUnavailable(new Error('full')));
    expect(await call({ id: 7 })).toEqual({
      ok: false,
      message: 'This was not done: it could not be recorded. Try again later.',
    });
    expect(sent).toEqual([]);
    expect(lines()).toEqual([['failed', 'not_recorded']]);
  });

  test('is not sent, and is recorded as failed, if it is unknown whether its start was recorded', async () => {
    const { call, journal } = await begin();
    const { start } = store.actions;
    store.actions.start = async (...given) => {
      await start(...given);
      throw new StoreUnavailable(new Error('nobody knows'));
    };
    expect(await call({ id: 7 })).toMatchObject({ ok: false });
    await journal.recordAgain();
    expect(await listed()).toMatchObject([{ state: 'failed', status: null }]);
    expect([sent, unknownIn(journal)]).toEqual([[], []]);
  });

  test('is not sent, and is recorded as failed, if the run ends while the write is being recorded', async () => {
    const run = new AbortController();
    const { call, journal } = await begin({}, cancel, { signal: run.signal });
    const { start } = store.actions;
    store.actions.start = async (...given) => {
      const started = await start(...given);
      run.abort(new Error('stopped'));
      await journal.recordAgain();
      expect(await listed()).toMatchObject([{ state: 'started' }]);
      return started;
    };
    await expect(call({ id: 7 })).rejects.toThrow('stopped');
    expect(sent).toEqual([]);
    expect(await listed()).toMatchObject([{ state: 'failed', status: null }]);
  });

  test('is not sent by a run that has lost its session', async () => {
    const { call, lines } = await begin();
    await call({ id: 1 });
    now += CLAIM_MS;
    await claimSession(peer, 's');
    expect(await call({ id: 2 })).toMatchObject({ ok: false });
    expect(sent).toMatchObject([{ args: { id: 1 } }]);
    expect(lines().at(-1)).toEqual(['failed', 'claim_lost']);
  });

  test('is not sent by a run that has lost its idempotency key, even if no other run has claimed the session', async () => {
    const found = await store.idempotency.claim('k', 'body');
    if (found.outcome !== 'new') throw new Error('the key is taken');
    const { call } = await begin({ key: found.claim });
    now += CLAIM_MS;
    await peer.idempotency.claim('k', 'body');
    expect(await call({ id: 2 })).toMatchObject({ ok: false });
    expect(sent).toEqual([]);
  });

  test('returns its answer even if its outcome cannot be recorded, and the next run reports the outcome as unknown', async () => {
    const first = await begin();
    const { finish } = store.actions;
    store.actions.finish = () => Promise.reject(new StoreUnavailable(new Error('full')));
    expect(await first.call({ id: 7 })).toMatchObject({ ok: true });
    expect(unknownIn(first.journal)).toEqual([]);
    store.actions.finish = finish;
    const { call } = await begin();
    expect(await call({ id: 7 })).toMatchObject({ ok: false, message: expect.stringMatching('not known') });
    expect(sent).toHaveLength(1);
  });

  test('gets its outcome recorded before the reply, if the first attempt to record the outcome failed', async () => {
    const { call, journal } = await begin();
    const { finish } = store.actions;
    store.actions.finish = () => Promise.reject(new StoreUnavailable(new Error('full')));
    await call({ id: 7 });
    await expect(journal.recordAgain()).rejects.toThrow(StoreUnavailable);
    await call({ id: 8 });
    store.actions.finish = finish;
    await journal.recordAgain();
    expect((await listed()).map(({ state }) => state)).toEqual(['done', 'done']);
  });

  test('gets its own idempotency key and record, even if it equals an earlier write of the run', async () => {
    const { call } = await begin();
    await call({ id: 7 });
    await call({ id: 7 });
    expect(new Set(sent.map(({ key }) => key)).size).toBe(2);
    expect(await listed()).toHaveLength(2);
  });

  test('is not repeated even in the same run while its outcome is unknown', async () => {
    answers = [broken];
    const { call, lines } = await begin();
    await call({ id: 7 });
    expect(await call({ id: 7 })).toMatchObject({ ok: false, message: expect.stringMatching('not known') });
    expect(sent).toHaveLength(1);
    expect(lines().at(-1)).toEqual(['failed', 'outcome_unknown']);
  });

  test('is stored sealed, and contains no token', async () => {
    const token = `${Buffer.from('{"alg":"HS256"}').toString('base64url')}.e30.c2ln`;
    const { call } = await begin();
    await call({ id: 7, why: token });
    const [action] = await listed();
    const texts = [action?.args, action?.summary, action?.answer];
    for (const text of texts) expect(text).toMatch(new RegExp(`^${SEALED}`));
    expect((await begin()).journal.alreadyDone).toMatchObject([
      { summary: 'Cancel order 7 (why: "[token]")' },
    ]);
  });

  test.each([
    ['a read', { effect: 'read' as const }],
    ["a write to the daemon's own data", { source: toolOf().source }],
  ])('is recorded as an action, but %s is not', async (_what, members) => {
    const { call } = await begin({}, { ...cancel, ...members });
    await call({ id: 7 });
    await call({ id: 7 });
    expect(sent).toHaveLength(2);
    expect(await listed()).toEqual([]);
  });
});

describe('a repeated run', () => {
  test('learns what earlier runs of its turn have written', async () => {
    answers = [answered(200, {}), answered(404, {}), broken];
    const first = await begin();
    for (const id of [1, 2, 3]) await first.call({ id });
    const tool = 'shop_cancelOrder';
    const { journal } = await begin();
    expect(journal.alreadyDone).toEqual([
      { tool, summary: 'Cancel order 1', outcome: 'done', status: 200 },
      { tool, summary: 'Cancel order 2', outcome: 'failed', status: 404 },
      { tool, summary: 'Cancel order 3', outcome: 'unknown', status: null },
    ]);
    expect(unknownIn(journal)).toMatchObject([{ summary: 'Cancel order 3' }]);
    expect(first.journal.alreadyDone).toEqual([]);
  });

  test.each([
    ['done', answered(200, { cancelled: 7 })],
    ['failed', answered(409, { error: 'shipped' })],
    ['failed before it was sent', unsent],
  ])('gets the outcome of an earlier call (%s), and makes no second call', async (_what, answer) => {
    answers = [answer];
    const told = await (await begin()).call({ id: 7, why: 'late' });
    const { call, lines } = await begin();
    expect(await call({ why: 'late', id: 7 })).toEqual(told);
    expect(sent).toHaveLength(1);
    expect(lines()).toEqual([[told.ok ? 'ok' : 'failed', 'made_before']]);
  });

  test('gets the answers to equal calls in the order of the first run', async () => {
    answers = [answered(200, { n: 1 }), answered(200, { n: 2 })];
    const first = await begin();
    const told = [await first.call({ id: 7 }), await first.call({ id: 7 })];
    const { call } = await begin();
    expect([await call({ id: 7 }), await call({ id: 7 })]).toEqual(told);
    expect(sent).toHaveLength(2);
  });

  test('compares all arguments of calls, including the bound arguments', async () => {
    const tool: Tool = {
      ...cancel,
      async send() {
        throw new Error('not reached');
      },
    };
    const { journal } = await begin();
    const known = (args: Record<string, unknown>) => journal.known({ tool, args });
    const first = await known({ id: 7, customer: 'ada' });
    if (first.state !== 'new') throw new Error('the write is known');
    await journal.start(first.action_id, {
      tool,
      args: { id: 7, customer: 'ada' },
      again: false,
    });
    const next = (await begin()).journal;
    expect(await next.known({ tool, args: { id: 7, customer: 'bob' } })).toMatchObject({
      state: 'new',
    });
    expect(await next.known({ tool, args: { customer: 'ada', id: 7 } })).toMatchObject({
      state: 'unknown',
    });
  });

  test('records an unknown outcome for a write whose run has died', async () => {
    const { journal } = await begin();
    const write = await journal.known({ tool: cancel, args: { id: 7 } });
    if (write.state !== 'new') throw new Error('the write is known');
    await journal.start(write.action_id, { tool: cancel, args: { id: 7 }, again: false });
    expect(await listed()).toMatchObject([{ state: 'started' }]);
    await (await begin()).journal.recordAgain();
    expect(await listed()).toMatchObject([{ state: 'unknown', attempt: 1 }]);
    // The first process was only slow, not dead.
    await journal.finish(write.action_id, { state: 'done', status: 200, answer: null });
    expect(await listed()).toMatchObject([{ state: 'done' }]);
  });

  test('reports that the outcome of an earlier write is unknown, and does not repeat the write', async () => {
    answers = [broken];
    await (await begin()).call({ id: 7 });
    const { call, journal, lines } = await begin();
    for (let n = 0; n < 2; n++)
      expect(await call({ id: 7 })).toMatchObject({ ok: false, message: expect.stringMatching('not known') });
    expect(sent).toHaveLength(1);
    expect(lines()[0]).toEqual(['failed', 'outcome_unknown']);
    expect(unknownIn(journal)).toMatchObject([{ summary: 'Cancel order 7' }]);
  });

  test('repeats a write with an unknown outcome if the tool allows it, under the same key and without asking again', async () => {
    answers = [broken, answered(200, { cancelled: 7 })];
    const tool = { ...cancel, idempotent: true };
    await (await begin({}, tool)).call({ id: 7 });
    const { call, journal } = await begin({}, { ...tool, confirm: 'always' });
    expect(await call({ id: 7 })).toEqual({ ok: true, result: { cancelled: 7 } });
    expect(sent.map(({ key }) => key)).toEqual([sent[0]?.key, sent[0]?.key]);
    expect(await listed()).toMatchObject([{ state: 'done', attempt: 2 }]);
    expect(unknownIn(journal)).toEqual([]);
    expect(await (await begin({}, tool)).call({ id: 7 })).toEqual({ ok: true, result: { cancelled: 7 } });
    expect(sent).toHaveLength(2);
  });

  test('does not send a write again after it has lost its session', async () => {
    answers = [broken];
    const tool = { ...cancel, idempotent: true };
    await (await begin({}, tool)).call({ id: 7 });
    const { call } = await begin({}, tool);
    now += CLAIM_MS;
    await claimSession(peer, 's');
    expect(await call({ id: 7 })).toMatchObject({ ok: false });
    expect(sent).toHaveLength(1);
  });

  test('gets the outcome of an earlier write even if it was recorded only after the new run began', async () => {
    let answer: (sent: Sent) => void = () => undefined;
    const slow: Tool = { ...cancel, send: () => new Promise((resolve) => (answer = resolve)) };
    const first = (await begin({}, slow)).call({ id: 7 });
    await new Promise(setImmediate);
    const { call, journal } = await begin();
    expect(journal.alreadyDone).toMatchObject([{ outcome: 'unknown' }]);
    answer(answered(200, { cancelled: 7 }));
    await first;
    expect(await call({ id: 7 })).toEqual({ ok: true, result: { cancelled: 7 } });
    expect(unknownIn(journal)).toEqual([]);
    expect(sent).toEqual([]);
  });

  test.each([
    ['done', answered(200, {})],
    ['unknown', broken],
  ])('needs a confirmation to use a tool again if its earlier write is %s', async (_what, answer) => {
    answers = [answer];
    await (await begin()).call({ id: 7 });
    const asked: object[] = [];
    const confirmation = {
      ask: async (call: { args: object }) => {
        asked.push(call.args);
        return { outcome: 'waits' as const, replaces: false };
      },
    };
    const { call } = await begin({}, cancel, { confirmation });
    expect(await call({ id: 7, why: 'in other words' })).toMatchObject({
      ok: true,
      result: { waits_for_confirmation: true },
    });
    expect(asked).toEqual([{ id: 7, why: 'in other words' }]);
    expect(sent).toHaveLength(1);
  });

  test('needs no confirmation for a tool that wrote nothing in earlier runs of the turn, and a first run needs none at all', async () => {
    answers = [answered(422, {})];
    const first = await begin();
    await first.call({ id: 7 });
    await first.call({ id: 8 });
    expect(sent).toHaveLength(2);
    const others = await begin({}, { ...cancel, name: 'shop_other' });
    expect(await others.call({ id: 9 })).toMatchObject({ ok: true });
    const turn = await begin({ turn_key: 'another turn' });
    expect(await turn.call({ id: 9 })).toMatchObject({ ok: true });
    expect(sent).toHaveLength(4);
  });

  test('may write again without a confirmation if all earlier writes failed', async () => {
    answers = [answered(422, {})];
    await (await begin()).call({ id: 7 });
    expect(await (await begin()).call({ id: 8 })).toMatchObject({ ok: true });
  });

  test('learns nothing about the earlier run if the person is different, and repeats no write', async () => {
    answers = [answered(200, { secret: 'of ada' })];
    await (await begin()).call({ id: 7 });
    for (const person of [bob, null]) {
      const { call, journal } = await begin({ person });
      expect(journal.alreadyDone).toEqual([]);
      expect(unknownIn(journal)).toEqual([]);
      const answer = await call({ id: 7 });
      expect(answer).toMatchObject({ ok: false });
      expect(JSON.stringify(answer)).not.toContain('of ada');
    }
    expect(sent).toHaveLength(1);
  });

  test('also knows the writes that were made before the person signed in', async () => {
    await (await begin({ person: null })).call({ id: 7 });
    const { call } = await begin({ person: ada });
    expect(await call({ id: 7 })).toEqual({ ok: true, result: { cancelled: true } });
    expect(sent).toHaveLength(1);
  });

  test('knows the outcome but not the answer if no key opens the record', async () => {
    answers = [answered(200, { a: 1 }), answered(404, {})];
    const first = await begin();
    for (const id of [1, 2]) await first.call({ id });
    const lost = new TurnJournal(
      {
        origin: MESSAGE,
        earlier: await store.actions.ofTurn('turn'),
        claims: { session: claim, key: null },
      },
      { actions: store.actions, seal: createSeal(undefined), clock: { now: () => now } },
    );
    expect(lost.alreadyDone).toMatchObject([{ summary: 'shop_cancelOrder' }, { outcome: 'failed' }]);
    const { bound } = bindOne(cancel, { journal: lost });
    expect(await bound.call({ id: 1 })).toMatchObject({ ok: true });
    expect(await bound.call({ id: 2 })).toMatchObject({ ok: false });
    expect(sent).toHaveLength(2);
  });
});

test('a run for somebody else knows which tools wrote for the person before, but not what', async () => {
  const first = await begin();
  await first.call({ id: 7 });
  for (const [person, hidden] of [
    [ada, false],
    [bob, true],
    [null, true],
  ] as const) {
    const { journal } = await begin({ person });
    expect(journal.wroteForOthers('shop_cancelOrder')).toBe(hidden);
    expect(journal.wroteForOthers('shop_pay')).toBe(false);
    expect(journal.alreadyDone).toHaveLength(hidden ? 0 : 1);
  }
});

test('a write that has failed for somebody else leaves nothing in doubt', async () => {
  answers = [answered(409, null)];
  await (await begin()).call({ id: 7 });
  expect((await begin({ person: null })).journal.wroteForOthers('shop_cancelOrder')).toBe(false);
});
