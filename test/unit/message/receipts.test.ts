import { beforeEach, describe, expect, it, vi } from 'vitest';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { leftOutInWords } from '../../../src/daemon/message/reply/reports.ts';
import type { Sent } from '../../../src/daemon/tools/tool.ts';
import { ConfirmationWorld } from '../../support/confirmation-world.ts';
import { token } from '../../support/tokens.ts';
import { sourceOf } from '../../support/tools.ts';

/* The lines and data about writes: agentd-agent(7), "Receipts". */

let world: ConfirmationWorld;
let ada: string;

beforeEach(async () => {
  world = await openWorld();
  ada = await token({ sub: 'ada' });
});

function openWorld(options: Parameters<typeof ConfirmationWorld.open>[0] = {}) {
  const { tool, ...rest } = options;
  return ConfirmationWorld.open({
    env: { RECEIPTS: 'on' },
    tool: { confirm: 'never', source: sourceOf({}), ...tool },
    ...rest,
  });
}
const say = (text: string, session = 'room') => world.say(text, { token: ada, session });
const answered = (status: number): Sent => ({ outcome: 'answered', status, result: {} });
const BROKEN: Sent = { outcome: 'failed', reached: true, reason: 'broken', message: 'It broke.' };
const UNSENT: Sent = { ...BROKEN, reached: false };
const UNKNOWN = 'unknown: it is not known whether this happened';

describe('a reply of a run that wrote something', () => {
  it.each([
    ['done', answered(201), { outcome: 'done', status: 201 }],
    ['failed (status 409)', answered(409), { outcome: 'failed', status: 409 }],
    ['failed', UNSENT, { outcome: 'failed' }],
    [UNKNOWN, BROKEN, { outcome: 'unknown' }],
    [UNKNOWN, answered(503), { outcome: 'unknown', status: 503 }],
  ])('ends with a line of the daemon (%s), and has the same as data', async (words, sent, data) => {
    world.answer = async () => sent;
    const { response, receipts } = await say('cancel 1004 because *late*');
    const line = `Cancel order "1004" (reason: "\\*late\\*") – ${words}`;
    expect(response.slice(receipts?.begins_at)).toBe(line);
    expect(receipts?.actions).toEqual([
      {
        action_id: expect.any(String),
        tool: 'cancel_order',
        title: 'Cancel an order',
        summary: 'Cancel order "1004" (reason: "*late*")',
        at: expect.stringMatching(/^20.*Z$/),
        ...data,
      },
    ]);
  });

  it('has a line for each write, in their order', async () => {
    const { response, receipts } = await say('cancel 1004 and 1005');
    expect(response).toMatch(/\n\n- Cancel order "1004" – done\n- Cancel order "1005" – done$/);
    expect(receipts?.actions).toHaveLength(2);
  });

  it('has the lines of the journal, whatever the agent says about the call', async () => {
    world = await openWorld({ tool: { confirm: 'always' } });
    world.answer = async () => answered(409);
    world.afterwards = async function* () {
      yield 'Cancel order "1004" – done';
    };
    await say('cancel 1004');
    expect((await say('yes')).response).toMatch(/– done\n\nCancel order "1004" – failed \(status 409\)$/);
  });

  it('has no lines under RECEIPTS=off, but the data', async () => {
    world = await openWorld({ env: { RECEIPTS: 'off' } });
    const { response, receipts } = await say('cancel 1004');
    expect(response).not.toContain('done');
    expect(receipts).toEqual({ actions: [expect.objectContaining({ outcome: 'done' })] });
    world.answer = async () => BROKEN;
    expect((await say('cancel 1005')).response).toContain(UNKNOWN);
  });

  it('is only the lines if the agent says nothing', async () => {
    world = await openWorld({ env: { RECEIPTS: 'off' }, tool: { confirm: 'always' } });
    world.afterwards = async function* () {};
    await say('cancel 1004');
    expect((await say('yes')).response).toBe('Cancel order "1004" – done');
  });

  it('names only titles and outcomes in a shared thread', async () => {
    world = await openWorld({ tool: { credentials: 'none' } });
    const [reply] = await world.write('cancel 1004 because secret');
    expect(reply).toMatch(/\n\nCancel an order – done$/);
  });

  it('names everything in a private thread of a platform', async () => {
    world = await openWorld({ tool: { credentials: 'none' } });
    const [reply] = await world.write('cancel 1004', 'ada', { shared: false });
    expect(reply).toMatch(/\n\nCancel order "1004" – done$/);
  });

  it('has them again if the Idempotency-Key is repeated', async () => {
    const first = await world.say('cancel 1004', { token: ada, key: 'k' });
    expect(await world.say('cancel 1004', { token: ada, key: 'k' })).toEqual({ ...first, replayed: true });
    expect(first.receipts?.actions).toHaveLength(1);
  });

  it('has them before the question about another call', async () => {
    world = await openWorld({ tool: { confirm: 'always' } });
    await say('cancel 1004');
    world.afterwards = async function* (turn) {
      await turn.tools.find(({ name }) => name === 'cancel_order')?.call({ id: '1005' });
      yield 'And the other one?';
    };
    const { response } = await say('yes');
    expect(response).toMatch(/^And the other one\?\n\nCancel order "1004" – done\n\nPlease confirm: /);
    await say('hello');
    // The agent reads its own words and the question, and not the line of the daemon.
    expect(world.turns.at(-1)?.history.at(-1)?.reply).toMatch(/^And the other one\?\n\nPlease confirm: /);
  });

  it('says that the outcome of a confirmed call is unknown if it could not be recorded', async () => {
    world = await openWorld({ tool: { confirm: 'always' } });
    await say('cancel 1004');
    const { actions } = world.store;
    vi.spyOn(actions, 'find').mockRejectedValueOnce(new StoreUnavailable('It is away.'));
    expect((await say('yes')).response).toMatch(new RegExp(`\n\nCancel order "1004" – ${UNKNOWN}$`));
  });

  it('is given to later runs without the lines', async () => {
    await say('cancel 1004');
    await say('and now?');
    expect(world.turns.at(-1)?.history.at(-1)?.reply).toBe('I need your confirmation.');
  });
});

it('shows the summary of an action that was left out as text, never as markup', () => {
  const left = [{ tool: 't', summary: 'Cancel *all*', cause: 'sign_in' as const }];
  expect(leftOutInWords({ made: [], left_out: left }, world.services.texts.in())).toContain(
    'Cancel \\*all\\*',
  );
});

it('says nothing about writes if there were none', async () => {
  expect((await say('hello')).receipts).toBeNull();
});
