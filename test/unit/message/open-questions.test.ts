import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Seal } from '../../../src/daemon/identity/seal.ts';
import { link } from '../../../src/daemon/linking/links.ts';
import { chooseEnd } from '../../../src/daemon/message/reply/open-question.ts';
import type { OpenQuestion } from '../../../src/daemon/message/turn.ts';
import { actionTextRecord } from '../../../src/daemon/tools/journal/action-record.ts';
import { ConfirmationWorld } from '../../support/confirmation-world.ts';
import { TELEX } from '../../support/later-services.ts';
import { token } from '../../support/tokens.ts';

/* Messages that neither confirm nor decline, and actions that were declined (agentd-agent(7), "Confirmation"). */

const MINUTE = 60_000;
const HOW = 'Answer "yes" to confirm or "no" to decline.';
const AS = 'I’ll do this as you, ada@example.com.';
const QUESTION = `Please confirm: Cancel order "1"\n\n${AS}\n\n${HOW}`;
const OURS = `Please confirm: Cancel order "1"\n\n${HOW}`;

let world: ConfirmationWorld;
let ada: string;

beforeEach(async () => {
  world = await ConfirmationWorld.open();
  ada = await token({ sub: 'ada' });
});

const say = (text: string, more: object = {}) => world.say(text, { token: ada, ...more });
const ids = () => world.calls.map(({ args }) => args.id);
async function ask(text = 'cancel 1') {
  const { confirmation, response } = await say(text);
  if (confirmation === null) throw new Error(`nothing is asked: ${response}`);
  return confirmation;
}
const stateOf = async (id: string) => (await world.store.actions.ofQuestion(id)).map(({ state }) => state);

describe('a message that neither confirms nor declines', () => {
  it('leaves the action pending: the agent answers with it in view, and the reply ends with the same question', async () => {
    const asked = await ask();
    world.clock.moveTo(world.clock.now() + MINUTE);
    const { response, confirmation } = await say('what does it cost?');
    expect(response).toBe(`You said: what does it cost?\n\n${QUESTION}`);
    expect(world.turns.at(-1)?.waiting).toEqual([
      { number: 1, tool: 'cancel_order', summary: 'Cancel order "1"' },
    ]);
    // The 15 minutes count from the first question.
    expect(confirmation).toEqual({ ...asked, begins_at: response.indexOf('Please confirm') });
    await say('yes');
    expect(ids()).toEqual(['1']);
  });

  it('leaves a list of actions open, too', async () => {
    const { id } = await ask('cancel 1 and 2 and 3');
    const list = '1. Cancel order "1"\n2. Cancel order "2"\n3. Cancel order "3"';
    const { response, confirmation } = await say('what does the second one cost?');
    expect(world.turns.at(-1)?.waiting.map(({ summary }) => summary)).toEqual([
      'Cancel order "1"',
      'Cancel order "2"',
      'Cancel order "3"',
    ]);
    expect([confirmation?.id, confirmation?.summary]).toEqual([id, list]);
    expect(response).toContain(`Please confirm these 3 actions:\n\n${list}`);
    await say('only 2');
    expect(ids()).toEqual(['2']);
    expect(await stateOf(id)).toEqual(['declined', 'done', 'declined']);
  });

  it('names the same end of the 15 minutes each time, however long the first reply took to store', async () => {
    const { sessions } = world.services;
    const commit = sessions.commit.bind(sessions);
    vi.spyOn(sessions, 'commit').mockImplementation((...given) => {
      world.clock.moveTo(world.clock.now() + 5);
      return commit(...given);
    });
    const { expires_at } = await ask();
    expect((await say('why?')).confirmation?.expires_at).toBe(expires_at);
  });

  it('withdraws the question if it is the third, and the reply says so and asks no more', async () => {
    const { id } = await ask('cancel 1 and 2');
    for (const text of ['why?', 'how?']) expect((await say(text)).confirmation?.id).toBe(id);
    const { response, confirmation } = await say('when?');
    expect(response).toBe(
      'You said: when?\n\nI’ve withdrawn my question, because it wasn’t answered, and nothing was done: Cancel order "1"; Cancel order "2"',
    );
    expect(confirmation).toBeNull();
    expect(await stateOf(id)).toEqual(['withdrawn', 'withdrawn']);
    await say('yes');
    expect(world.calls).toEqual([]);
  });

  it('counts only once the question has been asked', async () => {
    const texts = ['cancel 1', 'a', 'b', 'c', 'd'];
    const replies = await Promise.all(texts.map((text) => say(text)));
    expect(replies.map(({ confirmation }) => confirmation !== null)).toEqual(texts.map(() => true));
    expect((await say('e')).confirmation).not.toBeNull();
  });

  it('is not the third if it is a yes without the token of the person: the question stays', async () => {
    const { id } = await ask();
    for (const text of ['why?', 'how?']) await say(text);
    const { response } = await world.say('yes');
    expect(response).toMatch(/sign/i);
    expect(await stateOf(id)).toEqual(['pending']);
    await say('yes');
    expect(ids()).toEqual(['1']);
  });

  it('withdraws the question if the agent asks for another action, and the reply says so', async () => {
    const { id } = await ask('cancel 1 and 3');
    const { response, confirmation } = await say('cancel 2');
    expect(response).toBe(
      'I need your confirmation. \n\nI’ve withdrawn my earlier question, and nothing was done: Cancel order "1"; Cancel order "3"\n\nPlease confirm: Cancel order "2"\n\nI’ll do this as you, ada@example.com.\n\nAnswer "yes" to confirm or "no" to decline.',
    );
    expect(await stateOf(id)).toEqual(['withdrawn', 'withdrawn']);
    await say('yes');
    expect(ids()).toEqual(['2']);
    expect(confirmation?.id).not.toBe(id);
  });

  it('keeps the question if the agent asks for the same action again', async () => {
    const { id } = await ask('cancel 1 and 2');
    const { confirmation, response } = await say('cancel 2');
    expect(confirmation?.id).toBe(id);
    expect(response).not.toContain('withdrawn');
    expect((await say('cancel 2 and 3')).confirmation?.actions).toHaveLength(2);
    await say('yes');
    expect(ids()).toEqual(['2', '3']);
  });

  it('withdraws the question if its tool would now ask another one', async () => {
    const { id } = await ask();
    const [action] = await world.store.actions.ofQuestion(id);
    if (!action) throw new Error('nothing is asked');
    const { services } = world;
    const end = (
      summary: string,
      { actions = [action], seal = services.seal }: Partial<OpenQuestion & { seal: Seal }> = {},
    ) => {
      const open: OpenQuestion = { actions, counts: true };
      const tools = services.tools.tools().map((tool) => ({ ...tool, summary }));
      const uses = { seal, tools: { tools: () => tools } };
      return chooseEnd({ open, texts: services.texts.in() }, null, uses);
    };
    const same = 'Cancel order {id}';
    const withdrawn = { notice: expect.stringContaining('withdrawn'), question: null };
    expect(end(same)).toMatchObject({ notice: '', question: { id, actions: [] } });
    expect(end('Cancel the order {id} for good')).toMatchObject(withdrawn);
    expect(end(same, { seal: { ...services.seal, open: () => null } })).toMatchObject(withdrawn);
    expect(end(same, { actions: [action, { ...action, tool: 'gone' }] })).toMatchObject(withdrawn);
    const summary = services.seal.close('Cancel *all*', actionTextRecord(action.action_id, 'summary'));
    expect(end(same, { actions: [{ ...action, summary }] })).toMatchObject({
      notice: expect.stringContaining('Cancel \\*all\\*'),
    });
  });
});

describe('a word', () => {
  it('counts only if the newest reply ended with the question', async () => {
    world = await ConfirmationWorld.open({ env: { INBOX_MAX_ATTEMPTS: '1' } });
    await world.write('cancel 1', 'ada');
    const id = world.asked;
    world.fails = true;
    const [notice] = await world.write('why?', 'ada');
    expect(notice).toContain('Sorry');
    world.fails = false;
    const [reply] = await world.write('yes', 'ada');
    expect(reply).toBe(`You said: yes\n\n${OURS}`);
    expect(world.calls).toEqual([]);
    await world.write('yes', 'ada');
    expect(ids()).toEqual(['1']);
    expect(await stateOf(id)).toEqual(['done']);
  });

  it('counts after replies to other people', async () => {
    await world.write('cancel 1', 'ada');
    await world.write('hello', 'bob');
    await world.write('yes', 'bob');
    expect(world.calls).toEqual([]);
    await world.write('yes', 'ada');
    expect(ids()).toEqual(['1']);
  });

  it('counts on a platform only once the repeated question was sent', async () => {
    await world.write('cancel 1', 'ada');
    await world.post('why?', 'ada');
    await world.post('yes', 'ada');
    await world.settle();
    // Both were accepted after the first question, and before the reply to "why?".
    expect(ids()).toEqual(['1']);
  });
});

describe('a declined action', () => {
  it('is not asked again by the run that answers the declining message, nor is the same tool', async () => {
    const { id } = await ask('cancel 1 and 2');
    world.afterwards = async function* (turn) {
      const tool = turn.tools.find(({ name }) => name === 'cancel_order');
      for (const args of [{ id: '2' }, { id: '2', reason: 'in other words' }, { id: '9' }]) {
        const answer = await tool?.call(args);
        yield answer?.ok ? 'asked' : 'refused ';
      }
    };
    const { response, confirmation } = await say('only 1');
    expect(response).toContain('refused refused refused');
    expect(confirmation).toBeNull();
    expect(await stateOf(id)).toEqual(['done', 'declined']);
  });

  it('may be asked with other arguments if the declining message says more', async () => {
    const { id } = await ask();
    const decline = { confirm: { id, approve: false } };
    const same = await say('cancel 1', decline);
    expect(same.response).toContain('they have just declined it');
    expect(same.confirmation).toBeNull();
    const next = await ask();
    const other = await say('cancel 2', { confirm: { id: next.id, approve: false } });
    expect(other.confirmation?.summary).toBe('Cancel order "2"');
  });

  it('is asked again if a later message of the person leads to it', async () => {
    await ask();
    await say('no');
    expect((await say('cancel 1')).confirmation).not.toBeNull();
  });

  it.each([
    ['ada', 9, false],
    ['ada', 11, true],
    ['bert', 9, true],
  ])(
    'of %s is asked again by the run of an earlier message of ada after %i minutes: %s',
    async (of, minutes, asks) => {
      world = await ConfirmationWorld.open({ env: { INBOX_MAX_ATTEMPTS: '1' } });
      await world.write('cancel 1', of);
      const id = world.asked;
      world.fails = true;
      await world.write('cancel 1', 'ada', { message_id: 'earlier' });
      world.fails = false;
      await world.press({ id, approve: false }, of);
      expect(await stateOf(id)).toEqual(['declined']);
      world.clock.moveTo(world.clock.now() + minutes * MINUTE);
      const [failed] = await world.store.inbox.list({ states: ['failed'], limit: 1 });
      expect(await world.store.inbox.retry(failed?.id ?? '')).toBe(true);
      await world.settle();
      expect(world.sent.at(-1)?.confirmation !== undefined).toBe(asks);
    },
  );
});

describe('a late answer', () => {
  async function askAndWait(person = ada): Promise<{ id: string; time: string }> {
    const { confirmation } = await world.say('cancel 1', { token: person });
    world.clock.moveTo(world.clock.now() + 20 * MINUTE);
    return { id: confirmation?.id ?? '', time: String(confirmation?.expires_at).slice(11, 16) };
  }

  it('is told when the question ended, in UTC, and only once', async () => {
    const { time } = await askAndWait();
    world.turns.length = 0;
    expect((await say('yes')).response).toBe(`That question ended at ${time}. Nothing was done.`);
    expect(world.turns).toEqual([]);
    expect((await say('yes')).response).toBe('You said: yes');
    expect(world.calls).toEqual([]);
  });

  it.each(['only 1', 'not 2'])('to a list is told so: %j', async (answer) => {
    const { id } = await ask('cancel 1 and 2');
    world.clock.moveTo(world.clock.now() + 15 * MINUTE + 1);
    expect((await say(answer)).response).toMatch(/^That question ended at /);
    expect([ids(), await stateOf(id)]).toEqual([[], ['expired', 'expired']]);
  });

  it('is told the time in the time zone of the person', async () => {
    const kolkata = await token({ sub: 'ada', ttl: 7200, claims: { timezone: 'Asia/Kolkata' } });
    const { confirmation } = await world.say('cancel 1', { token: kolkata });
    world.clock.moveTo(world.clock.now() + 20 * MINUTE);
    const local = new Date(Date.parse(confirmation?.expires_at ?? '') + 330 * MINUTE)
      .toISOString()
      .slice(11, 16);
    const { response } = await world.say('no', { token: kolkata });
    expect(response).toBe(`That question ended at ${local}. Nothing was done.`);
  });

  it('is an ordinary message if another reply has left since, or if it says something else', async () => {
    await askAndWait();
    expect((await say('hello')).response).toBe('You said: hello');
    expect((await say('yes')).response).toBe('You said: yes');
    await askAndWait();
    const other = await world.say('yes', { session: 'room' });
    expect(other.response).toBe('You said: yes');
  });

  it('is an ordinary message after a notice, or from another user of the same person', async () => {
    world = await ConfirmationWorld.open({ env: { INBOX_MAX_ATTEMPTS: '1' } });
    const wait = () => world.clock.moveTo(world.clock.now() + 20 * MINUTE);
    await world.write('cancel 1', 'ada');
    world.fails = true;
    await world.write('hello', 'ada');
    world.fails = false;
    wait();
    expect(await world.write('yes', 'ada')).toEqual(['You said: yes']);
    for (const user of ['ada', 'also ada'])
      expect(await link(world.services, TELEX, user, ada)).toMatchObject({ linked: true });
    await world.write('cancel 1', 'ada');
    wait();
    expect(await world.write('yes', 'also ada')).toEqual(['You said: yes']);
  });

  it('by a button is told so on a platform', async () => {
    await world.write('cancel 1', 'ada');
    const id = world.asked;
    const [asked] = await world.store.actions.ofQuestion(id);
    world.clock.moveTo(world.clock.now() + 20 * MINUTE);
    const time = new Date(asked?.expires_at ?? 0).toISOString().slice(11, 16);
    expect(await world.press({ id, approve: true })).toEqual({
      outcome: 'refused',
      text: `That question ended at ${time}. Nothing was done.`,
    });
  });
});

describe('a press on an answered question', () => {
  it('tells what became of it to the person who was asked, and to nobody else', async () => {
    await world.write('cancel 1 and 2', 'ada');
    const id = world.asked;
    await world.write('only 1', 'ada');
    expect(await world.press({ id, approve: true })).toEqual({
      outcome: 'refused',
      text: '1: This was done. 2: This was declined, and not done.',
    });
    expect(await world.press({ id, approve: true }, 'bob')).toMatchObject({
      text: 'Only the person who was asked can answer this.',
    });
    expect(await link(world.services, TELEX, 'ada', ada)).toMatchObject({ linked: true });
    expect(await world.press({ id, approve: true })).toMatchObject({
      text: 'This question is no longer open. Please ask again.',
    });
  });

  it('tells nothing to the next user with the same id', async () => {
    await link(world.services, TELEX, 'ada', ada);
    await world.write('cancel 1', 'ada', { alias_id: 'first' });
    const id = world.asked;
    await world.write('yes', 'ada', { alias_id: 'first' });
    expect(await world.press({ id, approve: true }, 'ada', { alias_id: 'first' })).toMatchObject({
      text: 'This was done.',
    });
    expect(await world.press({ id, approve: true }, 'ada', { alias_id: 'next' })).toMatchObject({
      text: 'This question is no longer open. Please ask again.',
    });
  });

  it('tells it to a web client in the problem, if the client brings the token of the person', async () => {
    const detail = (promise: Promise<unknown>) => promise.catch((error: Error) => error.message);
    const { id } = await ask();
    const confirm = { id, approve: true };
    await say('', { confirm });
    expect(await detail(say('', { confirm }))).toBe('This was done.');
    const NOT_YOURS = 'This action is not waiting for an answer from you.';
    expect(await detail(world.say('', { confirm }))).toBe(NOT_YOURS);
    expect(await detail(say('', { confirm, session: 'other' }))).toBe(NOT_YOURS);
    const { session_id: session, confirmation } = await say('cancel 1', { session: null });
    const again = { session, confirm: { id: confirmation?.id ?? '', approve: true } };
    await say('', again);
    expect(await detail(say('', again))).toBe('This was done.');
    // The stored sign-in is not enough.
    expect(await detail(world.say('', again))).toBe(NOT_YOURS);
  });
});
