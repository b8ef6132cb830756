import { beforeEach, describe, expect, it } from 'vitest';
import sse from '../../../plugins/sse/index.ts';
import { findSendersLink } from '../../../src/daemon/linking/find-link.ts';
import { link, unlink } from '../../../src/daemon/linking/links.ts';
import { startStream } from '../../../src/daemon/stream/start-stream.ts';
import { closeActionText } from '../../../src/daemon/tools/journal/action-record.ts';
import type { Sent } from '../../../src/daemon/tools/tool.ts';
import { ConfirmationWorld } from '../../support/confirmation-world.ts';
import { TELEX } from '../../support/later-services.ts';
import { token } from '../../support/tokens.ts';

/* One question about several actions (agentd-agent(7), "Confirmation"). */

const OK: Sent = { outcome: 'answered', status: 200, result: { ok: true } };
const REFUSED: Sent = { outcome: 'answered', status: 409, result: null };
const ANSWERED = { ok: true, result: {} };
const BROKEN: Sent = { outcome: 'answered', status: 500, result: null };

let world: ConfirmationWorld;
let ada: string;

beforeEach(async () => {
  world = await ConfirmationWorld.open();
  ada = await token({ sub: 'ada' });
});

async function ask(text = 'cancel 1 and 2 because late and 3') {
  const { confirmation, response } = await world.say(text, { token: ada });
  if (confirmation === null) throw new Error(`nothing is asked: ${response}`);
  return { ...confirmation, response };
}
const ids = () => world.calls.map(({ args }) => args.id);
const statesOf = async (id: string) => (await world.store.actions.ofQuestion(id)).map(({ state }) => state);
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'answered',
    (error: { code?: string }) => error.code,
  );
/** The API gives these answers, one after the other. */
function answers(...given: Sent[]): void {
  world.answer = async () => given.shift() ?? OK;
}

describe('the question about several actions', () => {
  it('shows every argument of every action, numbered, in one list', async () => {
    const { response, summary, actions, id } = await ask();
    expect(world.calls).toEqual([]);
    expect(response).toContain(
      [
        'Please confirm these 3 actions:',
        '',
        '1. Cancel order "1"',
        '2. Cancel order "2"',
        '   - reason: "late"',
        '3. Cancel order "3"',
        '',
        'I’ll do this as you, ada@example.com.',
        '',
        'Answer "yes" to confirm all of them or "no" to decline all of them.',
      ].join('\n'),
    );
    expect(summary).toBe('1. Cancel order "1"\n2. Cancel order "2"\n   reason: "late"\n3. Cancel order "3"');
    expect(actions).toEqual([
      { number: 1, title: 'Cancel order "1"', details: [] },
      { number: 2, title: 'Cancel order "2"', details: [{ label: 'reason', value: '"late"' }] },
      { number: 3, title: 'Cancel order "3"', details: [] },
    ]);
    const stored = await world.store.actions.ofQuestion(id);
    expect(stored.map(({ action_id }) => action_id)).toEqual([`${id}:1`, `${id}:2`, `${id}:3`]);
  });

  it('is about one action if the agent repeats a call', async () => {
    const { actions, id } = await ask('cancel 1 and 1');
    expect(actions).toHaveLength(1);
    expect(await world.store.actions.find(id)).toMatchObject({ state: 'pending' });
  });

  it('has at most ten actions: the others are refused to the agent', async () => {
    const numbers = Array.from({ length: 11 }, (_, index) => index + 1);
    const { actions, response } = await ask(`cancel ${numbers.join(' and ')}`);
    expect(actions).toHaveLength(10);
    expect(response).toContain('does not fit into that question');
  });

  it('has at most 3,000 characters in all', async () => {
    const long = 'x'.repeat(1_400);
    const { actions, response } = await ask(
      `cancel 1 because ${long} and 2 because ${long} and 3 because ${long}`,
    );
    expect(actions).toHaveLength(2);
    expect(response).toContain('does not fit into that question');
  });
});

describe('an answer', () => {
  it('that confirms makes the calls in their order, each with its own key', async () => {
    const { id } = await ask();
    const { response } = await world.say('yes', { token: ada });
    expect(world.calls.map(({ args, key }) => [args.id, key])).toEqual([
      ['1', `${id}:1`],
      ['2', `${id}:2`],
      ['3', `${id}:3`],
    ]);
    expect(world.turns.at(-1)?.confirmed_actions.map(({ summary }) => summary)).toEqual([
      'Cancel order "1"',
      'Cancel order "2" (reason: "late")',
      'Cancel order "3"',
    ]);
    const done = '{"ok":true,"result":{"ok":true}}';
    expect(response).toBe(`Result: ${done}, ${done}, ${done}`);
    expect(await statesOf(id)).toEqual(['done', 'done', 'done']);
    expect(await codeOf(world.say('', { token: ada, confirm: { id, approve: true } }))).toBe(
      'confirmation_gone',
    );
    expect(world.calls).toHaveLength(3);
  });

  it('that declines declines all of them', async () => {
    const { id } = await ask();
    expect((await world.say('no', { token: ada })).response).toBe(
      'Cancel order "1" – declined, nothing was changed\n\nCancel order "2" (reason: "late") – declined, nothing was changed\n\nCancel order "3" – declined, nothing was changed',
    );
    expect(await statesOf(id)).toEqual(['declined', 'declined', 'declined']);
  });

  it.each([
    ['only 1 and 3', ['1', '3']],
    ['not 2', ['1', '3']],
    ['only 2', ['2']],
  ])('%j confirms some of them and declines the others', async (text, made) => {
    const { id } = await ask();
    const { response } = await world.say(text, { token: ada });
    expect(ids()).toEqual(made);
    const states = ['1', '2', '3'].map((order) => (made.includes(order) ? 'done' : 'declined'));
    expect(await statesOf(id)).toEqual(states);
    expect(response).toMatch(/^Cancel order .* – declined/);
  });

  it('with metadata.confirm names the actions that it confirms', async () => {
    const { id } = await ask();
    await world.say('', { token: ada, confirm: { id, approve: [1, 3] } });
    expect(ids()).toEqual(['1', '3']);
    expect(await statesOf(id)).toEqual(['done', 'declined', 'done']);
    expect((await world.store.sessions.turns('room')).at(-1)).toMatchObject({ text: 'Confirm 1, 3' });
  });

  it.each([[[]], [[0]], [[1, 1]], [[1, 4]], [[1.5]], [['1']], ['yes'], [null]])(
    'with the numbers %j is refused and changes nothing',
    async (approve) => {
      const { id } = await ask();
      const said = world.say('', { token: ada, confirm: { id, approve: approve as never } });
      expect(await codeOf(said)).toBe('invalid_request');
      expect(await statesOf(id)).toEqual(['pending', 'pending', 'pending']);
    },
  );

  it('with a number that the question does not have is refused by a stream when it is asked for', async () => {
    const { id } = await ask();
    const start = (approve: number[]) =>
      startStream(
        sse,
        world.services,
        {
          ...{ platform: 'sse', user_id: 'visitor', channel_id: 'visitor', thread_id: 'room', text: '' },
          ...{ metadata: { jwt_token: ada }, confirm: { id, approve } },
        },
        { request_id: 'request', address: '192.0.2.1', validated: null, ticket: null },
        { ttl_ms: 60_000 },
      );
    expect(await codeOf(start([1, 4]))).toBe('invalid_request');
    expect(await codeOf(start([1, 3]))).toBe('answered');
    expect(await statesOf(id)).toEqual(['pending', 'pending', 'pending']);
  });

  it('with a number is no answer to a question about one action', async () => {
    const { confirmation } = await world.say('cancel 1', { token: ada });
    const { id } = confirmation ?? { id: '' };
    expect(await codeOf(world.say('', { token: ada, confirm: { id, approve: [2] } }))).toBe(
      'invalid_request',
    );
    await world.say('only 1', { token: ada });
    expect(world.calls).toEqual([]);
  });
});

describe('after a call that did not succeed, the rest is not made, and the reply says so:', () => {
  it.each([
    ['failed', REFUSED],
    ['unknown', BROKEN],
  ])('%s', async (state, sent) => {
    const { id } = await ask();
    answers(OK, sent);
    const { response } = await world.say('yes', { token: ada });
    expect(ids()).toEqual(['1', '2']);
    expect(await statesOf(id)).toEqual(['done', state, 'withdrawn']);
    expect(response).toContain(
      'Cancel order "3" – not done, because an earlier action failed or may have failed',
    );
    expect(world.turns.at(-1)?.confirmed_actions.map(({ answer }) => answer.ok)).toEqual([
      true,
      false,
      false,
    ]);
  });
});

describe('before each call', () => {
  it.each<[what: string, isLinked: boolean, change: () => Promise<unknown>]>([
    ['it is gone', true, () => unlink(world.services, TELEX, 'ada')],
    [
      'it is now that of somebody else',
      true,
      async () => link(world.services, TELEX, 'ada', await token({ sub: 'bert' })),
    ],
    ['there is one now', false, () => link(world.services, TELEX, 'ada', ada)],
    [
      'there is one now, of the next user with this id',
      false,
      async () => {
        await link(world.services, TELEX, 'ada', ada);
        await findSendersLink(world.services, TELEX, { user_id: 'ada', alias_id: 'next' });
      },
    ],
  ])('the link is looked up again: %s', async (_what, isLinked, change) => {
    if (isLinked) expect(await link(world.services, TELEX, 'ada', ada)).toMatchObject({ linked: true });
    const alias = { alias_id: 'first' };
    await world.write('cancel 1 and 2', 'ada', alias);
    const id = world.asked;
    world.answer = async () => {
      await change();
      return OK;
    };
    const [reply] = await world.write('yes', 'ada', alias);
    expect(ids()).toEqual(['1']);
    expect(reply).toContain('Cancel order "2" – not done, because your sign-in has changed');
    expect(await statesOf(id)).toEqual(['done', 'withdrawn']);
  });

  it('the token is checked again', async () => {
    const brief = await token({ sub: 'ada', ttl: 10 });
    await world.say('cancel 1 and 2', { token: brief });
    world.answer = async () => {
      world.clock.moveTo(world.clock.now() + 50_000);
      return OK;
    };
    const { response } = await world.say('yes', { token: brief });
    expect(ids()).toEqual(['1']);
    expect(response).toContain('Cancel order "2" – not done, because your sign-in has changed');
  });

  it('and if it has expired before the first call, the whole question stays open', async () => {
    const brief = await token({ sub: 'ada', ttl: 10 });
    const asked = await world.say('cancel 1 and 2', { token: brief });
    const { runs } = world.services;
    const take = runs.take.bind(runs);
    runs.take = (...given) => {
      world.clock.moveTo(world.clock.now() + 50_000);
      return take(...given);
    };
    const { response, confirmation } = await world.say('only 1', { token: brief });
    expect(ids()).toEqual([]);
    expect(response).toMatch(/^Please sign in, and then answer again\.\n\nPlease confirm these 2 actions:/);
    expect(confirmation?.id).toBe(asked.confirmation?.id);
    runs.take = take;
    await world.say('only 2', { token: ada });
    expect(ids()).toEqual(['2']);
  });
});

it('calls whose arguments have changed are not made, nor is the rest, and all of these are asked about again', async () => {
  const bound = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] };
  world = await ConfirmationWorld.open({ tool: { parameters: bound, bind: { account: 'org' } } });
  const inOrg = (org: string) => token({ sub: 'ada', claims: { org } });
  ada = await inOrg('ORG-1');
  const { id } = await ask('cancel 1 and 2');
  const { response, confirmation } = await world.say('yes', { token: await inOrg('ORG-2') });
  const changed = (order: number) =>
    `Nothing was done, because your sign-in has changed since this question: Cancel order "${order}" (account: "ORG-1")`;
  expect(response).toContain(`${changed(1)}\n\n${changed(2)}\n\nPlease confirm these 2 actions:`);
  expect(confirmation?.summary).toContain('1. Cancel order "1"\n   account: "ORG-2"\n2. Cancel order "2"');
  expect([world.calls, await statesOf(id)]).toEqual([[], ['withdrawn', 'withdrawn']]);
  await world.say('yes', { token: await inOrg('ORG-2') });
  expect(world.calls.map(({ args }) => args)).toEqual([
    { id: '1', account: 'ORG-2' },
    { id: '2', account: 'ORG-2' },
  ]);
  await world.say('cancel 1 and 2', { token: ada });
  expect((await world.say('only 1', { token: await inOrg('ORG-2') })).response).toBe(
    `Cancel order "2" (account: "ORG-1") – declined, nothing was changed\n\n${changed(1)}`,
  );
});

describe('after a process died during the calls, the next process', () => {
  /** Simulates a run of the waiting "yes": the process dies when it has begun the first calls. */
  async function dieAfter(id: string, begun: readonly ('started' | 'done' | 'failed')[]): Promise<void> {
    const { sessions, inbox, actions } = world.store;
    const claim = await sessions.claim('telex:room');
    const [message] = await inbox.list({ states: ['waiting'], limit: 1 });
    if (!claim || !message) throw new Error('no message waits, or its session is claimed');
    const confirmed = (await actions.ofQuestion(id)).map(({ action_id }) => action_id);
    expect(await actions.answer(claim, { confirmed, declined: [], answered_at: 0 }, message.id)).toBe(
      'settled',
    );
    for (const [index, state] of begun.entries()) {
      const action_id = confirmed[index] ?? '';
      expect(await actions.settle(claim, action_id, 'started', message.id)).toBe('settled');
      const answer = closeActionText(world.services.seal, action_id, 'answer', JSON.stringify(ANSWERED));
      if (state !== 'started') await actions.finish(action_id, 1, { state, status: 200, answer });
    }
    await sessions.release(claim);
  }
  async function askAndDie(...begun: ('started' | 'done' | 'failed')[]): Promise<string> {
    await world.write('cancel 1 and 2 and 3', 'ada');
    const id = world.asked;
    await world.post('yes', 'ada');
    await dieAfter(id, begun);
    return id;
  }

  it('makes the calls that were not begun, if the last one has succeeded', async () => {
    const id = await askAndDie('done');
    await world.settle();
    expect(ids()).toEqual(['2', '3']);
    expect(await statesOf(id)).toEqual(['done', 'done', 'done']);
    expect(world.turns.at(-1)?.confirmed_actions).toHaveLength(3);
  });

  it('says that nothing was done if no call could be made any more', async () => {
    const id = await askAndDie();
    const [message] = await world.store.inbox.list({ states: ['waiting'], limit: 1 });
    const claim = await world.store.sessions.claim('telex:room');
    if (!claim || !message) throw new Error('no message waits, or its session is claimed');
    for (const { action_id } of await world.store.actions.ofQuestion(id))
      await world.store.actions.settle(claim, action_id, 'withdrawn', message.id);
    await world.store.sessions.release(claim);
    await world.settle();
    expect(world.sent.at(-1)?.text).toMatch(/^Cancel order "1" – not done.*\n\n.*"2" – not.*\n\n.*"3" – not/);
  });

  it('says of a button, once the 15 minutes of the question have passed, that nothing was done', async () => {
    const id = await askAndDie();
    world.clock.moveTo(world.clock.now() + 16 * 60_000);
    expect(await world.press({ id, approve: true })).toEqual({
      outcome: 'refused',
      text: 'This was withdrawn, and not done.',
    });
  });

  it('makes no further call by a tool whose record is no longer the one that the person saw', async () => {
    const id = await askAndDie('done');
    const { tools } = world.services;
    const changed = tools.tools().map((tool) => ({ ...tool, idempotent: true }));
    world.services.tools = { ...tools, tools: () => changed };
    await world.settle();
    expect(ids()).toEqual([]);
    expect(await statesOf(id)).toEqual(['done', 'failed', 'withdrawn']);
  });

  it.each(['started', 'failed'] as const)('makes no further call if the last one is %s', async (state) => {
    const id = await askAndDie('done', state);
    await world.settle();
    expect(ids()).toEqual([]);
    expect(await statesOf(id)).toEqual(['done', state === 'started' ? 'unknown' : state, 'withdrawn']);
    expect(world.sent.at(-1)?.text).toContain(
      'Cancel order "3" – not done, because an earlier action failed or may have failed',
    );
  });

  it('makes no further call once the 15 minutes of the question have passed', async () => {
    const id = await askAndDie('done');
    world.clock.moveTo(world.clock.now() + 16 * 60_000);
    await world.settle();
    expect(ids()).toEqual([]);
    expect(await statesOf(id)).toEqual(['done', 'withdrawn', 'withdrawn']);
  });

  it('makes no further call for a person who was linked since, and says what was done before', async () => {
    const id = await askAndDie('done');
    expect(await link(world.services, TELEX, 'ada', ada)).toMatchObject({ linked: true });
    await world.settle();
    expect(ids()).toEqual([]);
    expect(await statesOf(id)).toEqual(['done', 'withdrawn', 'withdrawn']);
    const reply = world.sent.at(-1)?.text;
    expect(reply).not.toContain('Cancel order "1" – not done');
    for (const order of [2, 3])
      expect(reply).toContain(`Cancel order "${order}" – not done, because your sign-in has changed`);
  });

  it('tells another person who was linked since nothing of what was done before', async () => {
    await link(world.services, TELEX, 'ada', ada);
    await askAndDie('done', 'done', 'done');
    await link(world.services, TELEX, 'ada', await token({ sub: 'bob' }));
    const turns = world.turns.length;
    await world.settle();
    expect(ids()).toEqual([]);
    expect(world.turns.slice(turns).map(({ confirmed_actions }) => confirmed_actions)).toEqual([[]]);
    expect(world.sent.at(-1)?.text).not.toContain('Cancel order');
  });
});

describe('a button of the question on a platform', () => {
  it('answers the whole list, once', async () => {
    await world.write('cancel 1 and 2', 'ada');
    const id = world.asked;
    expect(world.sent.at(-1)?.confirmation?.actions).toHaveLength(2);
    expect(await world.press({ id, approve: true }, 'bert')).toMatchObject({ outcome: 'refused' });
    expect(await world.press({ id, approve: true })).toEqual({ outcome: 'enqueued' });
    expect(await world.press({ id, approve: true })).toMatchObject({ outcome: 'refused' });
    expect(ids()).toEqual(['1', '2']);
  });
});
