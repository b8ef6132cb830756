import { beforeEach, describe, expect, test } from 'vitest';
import { RunTaint } from '../../../../src/daemon/agent/context.ts';
import { createSeal } from '../../../../src/daemon/identity/seal.ts';
import { selectOwnActions } from '../../../../src/daemon/message/run/run.ts';
import { Secret } from '../../../../src/daemon/settings/secret.ts';
import type { ActionOutcome, NewAction } from '../../../../src/daemon/store/actions/actions.ts';
import { MemoryState } from '../../../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../../../src/daemon/store/kernels/memory/store.ts';
import type { Store } from '../../../../src/daemon/store/store.ts';
import { createMyActions } from '../../../../src/daemon/tools/built-in/own-tools.ts';
import { builtInSource } from '../../../../src/daemon/tools/describe-source.ts';
import { closeActionText, ownJournal } from '../../../../src/daemon/tools/journal/action-record.ts';
import type { Tool, ToolAudience } from '../../../../src/daemon/tools/tool.ts';
import { ada, anAction, bob } from '../../../contract/fixtures.ts';
import { contextOf } from '../../../support/request-context.ts';
import { aMessage, ON_PLATFORM } from '../../../support/step.ts';
import { bindOne } from '../../../support/tools.ts';

const DAY = 24 * 60 * 60 * 1000;
const seal = createSeal(new Secret(Buffer.alloc(32, 1).toString('base64')));
const DONE: ActionOutcome = { state: 'done', status: 200, answer: null };

let now: number;
let store: Store;
let tool: Tool;

beforeEach(() => {
  now = Date.UTC(2030, 0, 1);
  const clock = { now: () => now };
  store = openMemoryStore(new MemoryState(), { clock, actionsRetentionMs: 365 * DAY });
  tool = createMyActions(builtInSource(undefined));
});

async function record(members: Partial<NewAction>, outcome: ActionOutcome | null = DONE): Promise<void> {
  const action = anAction(members);
  const { action_id } = action;
  const summary = closeActionText(seal, action_id, 'summary', action.summary);
  await store.actions.start(null, { ...action, summary });
  if (outcome) await store.actions.finish(action_id, 1, outcome);
}

type Sender = Parameters<typeof selectOwnActions>[0];
const signedIn = { principal: { person: ada, claims: { sub: 'ada', email: 'a@b.c', exp: 1 } } } as const;
const nobody = { principal: { person: null, reason: 'no_token' } } as const;
const web = { has_platform: false } as Sender['channel'];

/** The result of the tool for this sender. */
async function listed(
  sender: Partial<Sender> & Pick<Sender, 'principal'>,
  taint = new RunTaint(),
): Promise<unknown> {
  const message = aMessage({ platform: 'telex', user_id: 'u1' });
  const own = selectOwnActions({ channel: ON_PLATFORM.channel, message, ...sender });
  const own_journal = own && ownJournal(own, { store, seal, clock: { now: () => now } });
  const audience = { memory_of: 'somebody', shared: false };
  const context = contextOf(null, { own_journal, taint });
  return bindOne(tool, { audience, context }).bound.call({});
}

const summaries = async (sender: Partial<Sender> & Pick<Sender, 'principal'>) =>
  ((await listed(sender)) as { result: { actions: { summary: string }[] } }).result.actions.map(
    ({ summary }) => summary,
  );

describe('my_actions', () => {
  test('lists time, summary and outcome of the person’s actions, newest first', async () => {
    await record({ person: ada, summary: 'Cancel order "1"' });
    now += 1000;
    await record({ person: ada, summary: 'Cancel order "2"', platform: 'mail' }, null);
    await record({ person: bob, summary: 'of Bob' });
    await record({ person: null, summary: 'of nobody' });
    expect(await listed({ ...signedIn, channel: web })).toEqual({
      ok: true,
      result: {
        actions: [
          { time: '2030-01-01T00:00:01.000Z', summary: 'Cancel order "2"', outcome: 'started' },
          { time: '2030-01-01T00:00:00.000Z', summary: 'Cancel order "1"', outcome: 'done' },
        ],
      },
    });
    now += 10 * 60_000;
    expect(await listed(signedIn)).toMatchObject({ result: { actions: [{ outcome: 'unknown' }, {}] } });
  });

  test('taints the run, because a foreign result may have dictated the arguments of an action', async () => {
    const taint = new RunTaint();
    await listed(signedIn, taint);
    expect(taint.isTainted).toBe(false);
    await record({ person: ada, summary: 'Pay "EVIL"' });
    await listed(signedIn, taint);
    expect(taint.isTainted).toBe(true);
  });

  test('names the operator who made a write with `agentd tools call`', async () => {
    await record({ person: ada, summary: 'by the agent' });
    now += 1000;
    await record({ person: ada, summary: 'by an operator', operator: 'root', session_tag: null });
    const { result } = (await listed(signedIn)) as { result: { actions: object[] } };
    expect(result.actions).toEqual([
      { time: expect.any(String), summary: 'by an operator', outcome: 'done', made_by_operator: 'root' },
      { time: expect.any(String), summary: 'by the agent', outcome: 'done' },
    ]);
  });

  test('lists the actions of a platform user who has not signed in', async () => {
    const of = { platform: 'telex', user_id: 'u1' };
    await record({ ...of, summary: 'theirs' });
    await record({ ...of, summary: 'of Ada, who was linked', person: ada });
    await record({ ...of, user_id: 'u2', summary: 'of another user' });
    await record({ ...of, platform: 'mail', summary: 'of another platform' });
    expect(await summaries(nobody)).toEqual(['theirs']);
  });

  test('does not show the actions of the previous owner of a user id to the new owner', async () => {
    const of = { platform: 'telex', user_id: 'u1' };
    await record({ ...of, alias_id: 'first', summary: 'of the first owner' });
    await record({ ...of, alias_id: 'second', summary: 'of the second owner' });
    const message = aMessage({ platform: 'telex', user_id: 'u1', alias_id: 'second' });
    expect(await summaries({ ...nobody, message })).toEqual(['of the second owner']);
    expect(await summaries(nobody)).toEqual([]);
  });

  test('lists the actions of the last 90 days, even if actions are kept for longer', async () => {
    await record({ person: ada, summary: 'old' });
    now += 60_000;
    await record({ person: ada, summary: 'young' });
    now += 90 * DAY - 1000;
    expect(await summaries(signedIn)).toEqual(['young']);
  });

  test.each([
    ['a person', { memory_of: ada, shared: false }, true],
    ['a platform’s user', { memory_of: 'telex:u1', shared: false }, true],
    ['an unknown sender', { memory_of: null, shared: false }, false],
    ['a shared thread', { memory_of: ada, shared: true }, false],
  ] satisfies [string, ToolAudience, boolean][])(
    'is offered only if the sender is known and the thread is not shared: %s',
    (_who, audience, isOffered) => {
      const { bound } = bindOne(tool, { audience });
      expect(bound !== undefined).toBe(isOffered);
    },
  );

  test.each([
    ['in a shared thread', { ...signedIn, message: aMessage({ shared: true }) }],
    ['to a web client that is not signed in', { ...nobody, channel: web }],
  ])('shows nothing %s, even if the agent calls it', async (_where, sender) => {
    await record({ person: ada });
    await record({ platform: 'webchat', user_id: 'visitor' });
    expect(await listed(sender)).toMatchObject({ ok: false, message: expect.stringMatching('Sign-in') });
  });

  test('accepts no argument that names a person', async () => {
    const { bound } = bindOne(tool, { audience: { memory_of: ada, shared: false } });
    expect(await bound.call({ sub: 'bob' })).toEqual({ ok: false, message: 'There is no argument `sub`.' });
  });
});
