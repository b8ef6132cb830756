import { beforeEach, describe, expect, it } from 'vitest';
import type { AgentTurn } from '../../../src/agent/index.ts';
import { findSendersLink } from '../../../src/daemon/linking/find-link.ts';
import { link, removeLink, unlink } from '../../../src/daemon/linking/links.ts';
import { ConfirmationWorld } from '../../support/confirmation-world.ts';
import { TELEX } from '../../support/later-services.ts';
import { token } from '../../support/tokens.ts';

/* A link that ends while its person's message is being answered (agentd-identity(7), "Links"). */

const unlinked = (world: ConfirmationWorld) => unlink(world.services, TELEX, 'ada');
const removed = (world: ConfirmationWorld) => removeLink(world.services, TELEX, 'ada');
const linkedTo = (sub: string) => async (world: ConfirmationWorld) =>
  link(world.services, TELEX, 'ada', await token({ sub }));
/** A message of the platform's user, who has this other id. */
const seenAs = (alias_id: string) => (world: ConfirmationWorld) =>
  findSendersLink(world.services, TELEX, { user_id: 'ada', alias_id });

describe('a link that changes during a run', () => {
  let world: ConfirmationWorld;
  beforeEach(async () => {
    world = await ConfirmationWorld.open({ tool: { effect: 'read', confirm: 'never', credentials: 'user' } });
    await linkedTo('ada')(world);
    await seenAs('first owner')(world);
  });

  /** The persons for whom two calls of one run were made, with a change between them. */
  async function callTwice(change: (world: ConfirmationWorld) => Promise<unknown>, shared: boolean) {
    const answers: boolean[] = [];
    world.otherwise = async function* ({ tools }: AgentTurn) {
      const tool = tools.find(({ name }) => name === 'cancel_order');
      for (const id of ['1', '2']) {
        answers.push((await tool?.call({ id }))?.ok === true);
        if (id === '1') await change(world);
      }
      yield 'done';
    };
    await world.write('look twice', 'ada', { shared });
    return { persons: world.calls.map(({ sub }) => sub), answers };
  }

  it.each([
    ['the sender signs out', unlinked, false],
    ['the sender signs out, in a group', unlinked, true],
    ['an administrator removes the link', removed, false],
    ['somebody else is linked', linkedTo('bert'), false],
    ['somebody else is linked, in a group', linkedTo('bert'), true],
    ['the platform gives the user id to somebody else', seenAs('next owner'), false],
  ])('keeps the token from the next call: %s', async (_what, change, shared) => {
    expect(await callTwice(change, shared)).toEqual({ persons: ['ada'], answers: [true, false] });
  });

  it('does not matter if it is a new link of the same person', async () => {
    const { persons } = await callTwice(linkedTo('ada'), false);
    expect(persons).toEqual(['ada', 'ada']);
  });
});

it('a confirmed action is not carried out if its link was removed while the answer waited for a free run', async () => {
  const world = await ConfirmationWorld.open();
  await linkedTo('ada')(world);
  await world.write('cancel 1004');
  const { runs } = world.services;
  const take = runs.take.bind(runs);
  runs.take = async (...given) => {
    await removed(world);
    return take(...given);
  };
  const id = world.asked;
  const [reply] = await world.write('yes');
  expect(world.calls).toEqual([]);
  expect(await world.store.actions.ofQuestion(id)).toMatchObject([{ state: 'withdrawn' }]);
  expect(reply).toMatch(/sign-in|sign in|signed in/i);
});
