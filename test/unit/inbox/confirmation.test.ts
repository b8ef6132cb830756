import { beforeEach, describe, expect, it, vi } from 'vitest';
import { DeliveryFailed } from '../../../src/daemon/inbox/outcome.ts';
import { link, removeLink, unlink, unlinkPerson } from '../../../src/daemon/linking/links.ts';
import { Texts } from '../../../src/daemon/texts/texts.ts';
import { answerOne, beginConfirmed } from '../../contract/store-writes.ts';
import { ConfirmationWorld } from '../../support/confirmation-world.ts';
import { dropLink } from '../../support/drop-link.ts';
import { TELEX } from '../../support/later-services.ts';
import { token } from '../../support/tokens.ts';

/* agentd-agent(7), "Confirmation", for messages of platforms. */

const MINUTE = 60_000;
const DONE = 'Result: {"ok":true,"result":{"ok":true}}';
const GONE = 'This question is no longer open. Please ask again.';
const ENDED = /^That question ended at \d\d:\d\d\. Nothing was done\.$/;
const SIGN_IN = 'Please sign in, and then answer again.';

let world: ConfirmationWorld;
beforeEach(async () => {
  world = await ConfirmationWorld.open();
});

/** A person asks to cancel an order, and agentd asks for a confirmation. @returns the id of the action */
async function ask(user = 'ada', text = 'cancel 1004'): Promise<string> {
  await world.write(text, user);
  return world.asked;
}
const stateOf = async (id: string) => (await world.store.actions.find(id))?.state;
const signIn = async (user: string, sub = user) => {
  expect(await link(world.services, TELEX, user, await token({ sub }))).toMatchObject({ linked: true });
};

describe('a question that is sent on a platform', () => {
  it('is at the end of the reply, and is also passed on separately to channels with buttons', async () => {
    const [text] = await world.write('cancel 1004 because late');
    const question = 'Please confirm: Cancel order "1004"\n\n- reason: "late"';
    expect(text).toBe(
      `I need your confirmation. \n\n${question}\n\nAnswer "yes" to confirm or "no" to decline.`,
    );
    expect(world.sent.at(-1)?.confirmation).toEqual({
      id: expect.stringMatching(/^[\w-]{22}$/),
      lead: 'I need your confirmation.',
      question,
      confirm: 'Confirm',
      decline: 'Decline',
      actions: [{ number: 1, title: 'Cancel order "1004"', details: [{ label: 'reason', value: '"late"' }] }],
    });
  });

  it('has the verb of its tool on the button, if it is about one action', async () => {
    world = await ConfirmationWorld.open({ tool: { confirm_label: 'Cancel order' } });
    await world.write('cancel 1');
    expect(world.sent.at(-1)?.confirmation).toMatchObject({
      confirm: 'Cancel order',
      actions: [{ confirm_label: 'Cancel order' }],
    });
    await world.write('cancel 1 and 2');
    expect(world.sent.at(-1)?.confirmation).toMatchObject({
      confirm: 'Confirm all',
      heading: 'Please confirm these 2 actions:',
      part_line: 'To confirm only some of them, answer for example "only 1" or "not 2".',
    });
  });

  it('is for the platform’s verified user if nobody is signed in', async () => {
    const id = await ask();
    expect(await world.store.actions.find(id)).toMatchObject({ principal: 'telex:ada', person: null });
    expect(await world.write('yes')).toEqual([DONE]);
    expect(world.calls).toMatchObject([{ args: { id: '1004' }, sub: null, key: id }]);
  });

  it('is in the language that the platform reports', async () => {
    const german = { confirm: ['ja'], confirm_button: 'Bestätigen', confirm_gone: 'Vorbei.' };
    world = await ConfirmationWorld.open({ texts: new Texts(new Map([['de', german]])) });
    await world.write('cancel 1004', 'ada', { locale: 'de-DE' });
    expect(world.sent.at(-1)?.confirmation).toMatchObject({ confirm: 'Bestätigen' });
    expect(await world.write('ja', 'ada', { locale: 'de' })).toEqual([DONE]);
  });

  it('can be answered within 15 minutes after the platform has accepted it', async () => {
    let fails = 1;
    world.take = () => {
      if (fails-- > 0) throw new DeliveryFailed('down', { final: false });
    };
    await world.write('cancel 1004');
    expect(world.sent).toEqual([]);
    const [waiting] = await world.store.actions.pendingIn('telex:room');
    expect(waiting).toMatchObject({ asked_at: null });
    // A message from before the question was sent is an ordinary message, which does not settle the action.
    await world.post('yes');
    world.clock.moveTo(world.clock.now() + 5_000);
    await world.settle();
    expect(world.sent.map(({ text }) => text.slice(0, 13))).toEqual(['I need your c', 'You said: yes']);
    world.clock.moveTo(world.clock.now() + 14 * MINUTE);
    expect(await world.write('yes')).toEqual([DONE]);
  });

  it('leaves no action to confirm if the platform refuses it permanently', async () => {
    world.take = ({ text }) => {
      if (text.includes('Please confirm')) throw new DeliveryFailed('refused', { final: true });
    };
    await world.write('cancel 1004');
    expect(await world.store.actions.pendingIn('telex:room')).toEqual([]);
    expect(await world.write('yes')).toEqual(['You said: yes']);
    expect(world.calls).toEqual([]);
  });
});

describe('a link that an operator removed since the question', () => {
  it('leaves the action pending: the answer asks for sign-in, and counts after it', async () => {
    await signIn('ada');
    const id = await ask();
    expect(await removeLink(world.services, TELEX, 'ada')).toBe(true);
    expect(await world.write('yes')).toEqual([SIGN_IN]);
    expect(await world.press({ id, approve: true })).toEqual({ outcome: 'enqueued' });
    expect(world.sent.at(-1)?.text).toBe(SIGN_IN);
    expect([world.calls, await stateOf(id)]).toEqual([[], 'pending']);
    await signIn('ada');
    expect(await world.write('yes')).toEqual([DONE]);
    expect(world.calls).toMatchObject([{ sub: 'ada' }]);
  });

  it('withdraws the action if another person signs in afterwards', async () => {
    await signIn('ada');
    const id = await ask();
    await removeLink(world.services, TELEX, 'ada');
    await signIn('ada', 'bert');
    expect(await stateOf(id)).toBe('withdrawn');
  });
});

describe('the language of the texts of the daemon', () => {
  const GERMAN = {
    failure_notice: 'Leider nicht.',
    turn_limit_notice: 'Genug: {max}, bis {time}.',
    confirm_gone: 'Vorbei.',
    confirm_not_yours: 'Nicht deine.',
  };
  const texts = new Texts(
    new Map<string, Record<string, string>>([
      ['de', GERMAN],
      ['fr', { failure_notice: 'Non.', turn_limit_notice: 'Assez : {max}, {time}.', confirm_gone: 'Fini.' }],
    ]),
  );
  const inFrench = { locale: 'fr' };
  const env = { INBOX_MAX_ATTEMPTS: '1', LOOP_GUARD_ENABLED: 'true', LOOP_GUARD_MAX_TURNS_PER_SESSION: '1' };
  const german = async (options: object = {}) =>
    link(world.services, TELEX, 'ada', await token({ sub: 'ada', claims: { locale: 'de-AT' }, ...options }));
  beforeEach(async () => {
    world = await ConfirmationWorld.open({ texts, env });
  });

  it('is that of the token of the link, before that of the platform, also for notices', async () => {
    await german();
    world.fails = true;
    expect(await world.write('hello', 'ada', inFrench)).toEqual(['Leider nicht.']);
    expect((await world.write('hello again', 'ada', inFrench))[0]).toMatch(/^Genug: 1, bis /);
    expect(await world.press({ id: 'unknown', approve: true }, 'ada', inFrench)).toEqual({
      outcome: 'refused',
      text: 'Vorbei.',
    });
  });

  it('is that of the platform if the sender has no link, or its token has expired', async () => {
    world.fails = true;
    expect(await world.write('hello', 'bob', inFrench)).toEqual(['Non.']);
    expect((await world.write('hello again', 'bob', inFrench))[0]).toMatch(/^Assez : 1, /);
    await german({ ttl: 60 });
    world.clock.moveTo(world.clock.now() + 2 * MINUTE);
    const pressed = await world.press({ id: 'unknown', approve: true }, 'ada', inFrench);
    expect(pressed).toMatchObject({ text: 'Fini.' });
  });

  it('is not that of a person whose number the platform gave to somebody else', async () => {
    await german();
    await world.write('hello', 'ada', { alias_id: 'first' });
    const press = (alias_id: string) =>
      world.press({ id: 'unknown', approve: true }, 'ada', { ...inFrench, alias_id });
    expect(await press('first')).toMatchObject({ text: 'Vorbei.' });
    expect(await press('second')).toMatchObject({ text: 'Fini.' });
  });
});

describe('a link that was renewed since the question', () => {
  const inOrg = async (org: string) =>
    link(world.services, TELEX, 'ada', await token({ sub: 'ada', claims: { org } }));

  it.each(['a word', 'a button'])(
    'makes nothing with other claims, but asks about them again, if %s confirms',
    async (how) => {
      const properties = { id: { type: 'string' } };
      const parameters = { type: 'object', properties, required: ['id'], additionalProperties: false };
      world = await ConfirmationWorld.open({ tool: { parameters, bind: { account: 'org' } } });
      await inOrg('ORG-1');
      const id = await ask();
      expect(world.sent.at(-1)?.text).toContain('- account: "ORG-1"');
      await inOrg('ORG-2');
      if (how === 'a word') await world.write('yes');
      else expect(await world.press({ id, approve: true })).toEqual({ outcome: 'enqueued' });
      expect(world.calls).toEqual([]);
      const { text, confirmation } = world.sent.at(-1) ?? {};
      expect(text).toContain('Nothing was done, because your sign-in has changed');
      expect(confirmation?.question).toContain('- account: "ORG-2"');
      expect(await stateOf(id)).toBe('withdrawn');
      // The old button has no effect, even after the old claims are back.
      await inOrg('ORG-1');
      expect(await world.press({ id, approve: true })).toMatchObject({ outcome: 'refused' });
      await inOrg('ORG-2');
      expect(await world.press({ id: world.asked, approve: true })).toEqual({ outcome: 'enqueued' });
      expect(world.calls).toMatchObject([{ args: { id: '1004', account: 'ORG-2' }, sub: 'ada' }]);
    },
  );
});

describe('an edit of a message that waits', () => {
  it('is ignored if somebody else made it, so that nobody can confirm for another', async () => {
    const id = await ask();
    await world.post('what else?', 'ada', { message_id: 'hers' });
    expect(await world.edit('hers', 'yes', 'bob')).toBe(false);
    expect(await world.edit('hers', 'yes', 'ada', 'telex:elsewhere')).toBe(false);
    await world.settle();
    expect(world.calls).toEqual([]);
    expect(await stateOf(id)).toBe('pending');
  });

  it.each(['yes', 'no', 'what else?'])(
    'leaves the action pending: %j is an ordinary message then',
    async (text) => {
      const id = await ask();
      await world.post('hm', 'ada', { message_id: 'hers' });
      expect(await world.edit('hers', text)).toBe(true);
      await world.settle();
      expect(world.sent.at(-1)?.text).toMatch(`You said: ${text}\n\nPlease confirm: Cancel order "1004"`);
      expect(await stateOf(id)).toBe('pending');
      expect(await world.write('yes')).toEqual([DONE]);
    },
  );
});

describe('a press of a button', () => {
  it('confirms the action', async () => {
    const id = await ask();
    expect(await world.press({ id, approve: true })).toEqual({ outcome: 'enqueued' });
    expect(world.sent.at(-1)?.text).toBe(DONE);
    expect((await world.store.sessions.turns('telex:room')).at(-1)).toMatchObject({ text: 'Confirm' });
  });

  it('declines the action', async () => {
    const id = await ask();
    await world.press({ id, approve: false });
    expect(world.sent.at(-1)?.text).toBe('Cancel order "1004" – declined, nothing was changed');
    expect(world.calls).toEqual([]);
  });

  it('changes nothing if another person pressed the button, and that person is told so', async () => {
    const id = await ask();
    const before = world.sent.length;
    expect(await world.press({ id, approve: true }, 'bob')).toEqual({
      outcome: 'refused',
      text: 'Only the person who was asked can answer this.',
    });
    expect(await world.press({ id, approve: false }, 'bob')).toMatchObject({ outcome: 'refused' });
    expect(world.sent).toHaveLength(before);
    expect(await stateOf(id)).toBe('pending');
    expect(await world.press({ id, approve: true })).toEqual({ outcome: 'enqueued' });
    expect(world.calls).toHaveLength(1);
  });

  it('changes nothing if it is in another chat', async () => {
    const id = await ask();
    const elsewhere = { thread_id: 'telex:other' };
    expect(await world.press({ id, approve: true }, 'ada', elsewhere)).toEqual({
      outcome: 'refused',
      text: GONE,
    });
    expect(await stateOf(id)).toBe('pending');
  });

  it('changes nothing if the action is unknown or has expired', async () => {
    expect(await world.press({ id: 'unknown', approve: true })).toEqual({ outcome: 'refused', text: GONE });
    const id = await ask();
    world.clock.moveTo(world.clock.now() + 15 * MINUTE + 1);
    expect(await world.press({ id, approve: true })).toMatchObject({ text: expect.stringMatching(ENDED) });
    expect(world.calls).toEqual([]);
  });

  it('counts only once if the person presses several times', async () => {
    const id = await ask();
    const presses = [
      { id, approve: true },
      { id, approve: true },
      { id, approve: false },
    ];
    await Promise.all(presses.map((confirm) => world.post('', 'ada', { confirm })));
    const before = world.sent.length;
    await world.settle();
    expect(world.sent.slice(before).map(({ text }) => text)).toEqual([DONE]);
    expect(world.calls).toHaveLength(1);
    expect(await world.press({ id, approve: true })).toEqual({ outcome: 'refused', text: 'This was done.' });
  });

  it('is processed only once if it is delivered twice', async () => {
    const id = await ask();
    const press = { message_id: 'press-1', confirm: { id, approve: true } };
    await world.post('', 'ada', press);
    await world.post('', 'ada', press);
    await world.settle();
    expect(world.calls).toHaveLength(1);
  });

  it('is answered with a notice if the action expires before the press is processed', async () => {
    const id = await ask();
    await world.post('', 'ada', { confirm: { id, approve: true } });
    world.clock.moveTo(world.clock.now() + 15 * MINUTE + 1);
    await world.settle();
    expect(world.sent.at(-1)?.text).toMatch(ENDED);
    // It does not tell others what became of the question.
    await world.post('', 'bob', { confirm: { id, approve: true } });
    await world.settle();
    expect(world.sent.at(-1)?.text).toBe(GONE);
    expect(world.calls).toEqual([]);
  });
});

describe('other people in the thread', () => {
  it('do not affect the action, whatever they write', async () => {
    const id = await ask();
    expect(await world.write('yes', 'bob')).toEqual(['You said: yes']);
    expect(await world.write('no', 'bob')).toEqual(['You said: no']);
    expect(await stateOf(id)).toBe('pending');
    expect(world.calls).toEqual([]);
    expect(await world.write('yes')).toEqual([DONE]);
  });

  it('include the next owner of the id of the one who was asked', async () => {
    await signIn('ada');
    await world.write('cancel 1004', 'ada', { alias_id: 'first' });
    const id = world.asked;
    expect(await world.write('no', 'ada', { alias_id: 'second' })).toEqual(['You said: no']);
    expect(await stateOf(id)).toBe('pending');
    expect(await world.write('yes', 'ada', { alias_id: 'first' })).toEqual([DONE]);
  });

  it('do not come between a question and its answer if their message fails', async () => {
    world = await ConfirmationWorld.open({ env: { INBOX_MAX_ATTEMPTS: '1' } });
    await ask();
    world.fails = true;
    expect(await world.write('hello', 'bob')).toHaveLength(1);
    world.fails = false;
    expect(await world.write('yes')).toEqual([DONE]);
  });

  it('can have their own pending actions at the same time', async () => {
    const first = await ask('ada', 'cancel 1');
    const second = await ask('bob', 'cancel 2');
    expect(await world.write('yes', 'bob')).toEqual([DONE]);
    expect([await stateOf(first), await stateOf(second)]).toEqual(['pending', 'done']);
    expect(world.calls).toMatchObject([{ args: { id: '2' } }]);
  });
});

describe('after a sign-in or sign-out, the daemon', () => {
  it('withdraws the action of a platform user who signs in', async () => {
    const id = await ask();
    await signIn('ada');
    expect(await stateOf(id)).toBe('withdrawn');
    expect(await world.write('yes')).toEqual(['You said: yes']);
    expect(world.calls).toEqual([]);
  });

  it('says in the question for whom the call is made, without the e-mail address if others read it', async () => {
    await signIn('ada');
    const [shared] = await world.write('cancel 1004');
    expect(shared).toContain('\n\nI’ll do this as you.\n\n');
    expect(shared).not.toContain('@');
    const card = world.sent.at(-1)?.confirmation;
    expect(card).toMatchObject({ as_line: 'I’ll do this as you.' });
    expect(JSON.stringify(card)).not.toContain('@');
    await world.write('no');
    const [alone] = await world.write('cancel 1005', 'ada', { shared: false });
    expect(alone).toContain('\n\nI’ll do this as you, ada@example.com.\n\n');
    expect(world.sent.at(-1)?.confirmation?.as_line).toBe('I’ll do this as you, ada@example.com.');
  });

  it('makes the call with the credentials that the person has when confirming', async () => {
    await signIn('ada');
    await ask();
    expect(await world.write('yes')).toEqual([DONE]);
    expect(world.calls).toMatchObject([{ sub: 'ada' }]);
  });

  it('withdraws the action if another person was linked, even if the first person is linked again', async () => {
    await signIn('ada');
    const id = await ask();
    await signIn('ada', 'bert');
    await signIn('ada', 'ada');
    expect(await stateOf(id)).toBe('withdrawn');
    expect(await world.write('yes')).toEqual(['You said: yes']);
    expect(await world.press({ id, approve: true })).toEqual({
      outcome: 'refused',
      text: 'This was withdrawn, and not done.',
    });
    expect(world.calls).toEqual([]);
  });

  it('withdraws the action of a platform user who signs in under another spelling of the id', async () => {
    const linking = { argument: 'ID', idsOf: () => ['ADA', 'ada'] };
    const id = await ask();
    await link(world.services, { ...TELEX, linking }, 'ADA', await token());
    expect(await stateOf(id)).toBe('withdrawn');
  });

  it.each(['on the platform', 'on the website'])(
    'withdraws the action if the person signs out %s',
    async (where) => {
      await signIn('ada');
      const id = await ask();
      if (where === 'on the platform') await unlink(world.services, TELEX, 'ada');
      else await unlinkPerson(world.services, TELEX, 'ada', await token({ sub: 'ada' }));
      expect(await stateOf(id)).toBe('withdrawn');
      expect(await world.write('yes')).toEqual(['You said: yes']);
    },
  );

  it('keeps the action if the same person signs in again', async () => {
    await signIn('ada');
    const id = await ask();
    await signIn('ada');
    expect(await stateOf(id)).toBe('pending');
    expect(await world.write('yes')).toEqual([DONE]);
  });

  it('asks for sign-in while the link has no usable token, and keeps the action pending', async () => {
    await signIn('ada');
    const id = await ask();
    // The link disappears as if its token had expired. Nobody has signed out.
    const removed = await dropLink(world.store.links, 'telex:jwt:ada');
    expect(removed).toBe(true);
    expect(await world.write('yes')).toEqual([SIGN_IN]);
    await world.press({ id, approve: true });
    expect(world.sent.at(-1)?.text).toBe(SIGN_IN);
    expect(await world.write('what now?')).toEqual(['You said: what now?']);
    expect(await stateOf(id)).toBe('pending');
    await signIn('ada');
    expect(await world.write('yes')).toEqual([DONE]);
  });

  it('withdraws the action at the next message at the latest if another person was linked', async () => {
    await signIn('ada');
    const id = await ask();
    const key = 'telex:jwt:ada';
    const stored = (await world.store.links.get(key))?.token ?? '';
    // Another program has written the documented key.
    await world.store.replaceToken({ kind: 'link', key, token: stored }, await token({ sub: 'bert' }));
    expect(await world.write('yes')).toEqual(['You said: yes']);
    expect(await stateOf(id)).toBe('withdrawn');
    expect(world.calls).toEqual([]);
  });
});

describe('an action that is withdrawn while its confirmation waits to be processed', () => {
  it('is not carried out', async () => {
    world = await ConfirmationWorld.open({ env: { AGENT_CONCURRENCY: '1' } });
    const id = await ask();
    const release = await world.services.runs.take({ line: { verdict: 'ok' }, patient: false });
    await world.post('', 'ada', { confirm: { id, approve: true } });
    await world.worker.start();
    // When the message waits for a run, an earlier step has already found that the action is pending.
    await vi.waitFor(() => expect(world.services.runs.waiting).toBe(1), { timeout: 60_000 });
    expect(await world.store.actions.pendingIn('telex:room')).toHaveLength(1);
    await unlink(world.services, TELEX, 'ada');
    release();
    await world.worker.idle();
    world.worker.pause();
    expect(world.sent.at(-1)?.text).toBe(GONE);
    expect(world.calls).toEqual([]);
  });
});

describe('an action whose person is unlinked while its confirmation waits to be processed', () => {
  it('is not carried out, and the person is told so', async () => {
    world = await ConfirmationWorld.open({ env: { AGENT_CONCURRENCY: '1' } });
    await signIn('ada');
    const id = await ask();
    const release = await world.services.runs.take({ line: { verdict: 'ok' }, patient: false });
    await world.post('yes');
    await world.worker.start();
    await vi.waitFor(() => expect(world.services.runs.waiting).toBe(1), { timeout: 60_000 });
    expect(await removeLink(world.services, TELEX, 'ada')).toBe(true);
    release();
    await world.worker.idle();
    world.worker.pause();
    expect(world.calls).toEqual([]);
    expect(await stateOf(id)).toBe('withdrawn');
    const told = 'Cancel order "1004" – not done, because your sign-in has changed';
    expect(world.sent.at(-1)?.text).toBe(told);
  });
});

describe('after a process died during a confirmation, the next process', () => {
  /** Simulates a run of the waiting message: the process dies right after it has settled the action. */
  async function dieAfterSettling(id: string, to: 'confirmed' | 'started' | 'declined'): Promise<void> {
    const { sessions, inbox } = world.store;
    const claim = await sessions.claim('telex:room');
    const [message] = await inbox.list({ states: ['waiting'], limit: 1 });
    if (!claim || !message) throw new Error('no message waits, or its session is claimed');
    if (to === 'started') await beginConfirmed(world.store, claim, id, message.id);
    else expect(await answerOne(world.store, claim, id, to, message.id)).toBe('settled');
    await sessions.release(claim);
  }

  it('does not repeat the call, and reports its outcome as unknown', async () => {
    const id = await ask();
    await world.post('yes');
    await dieAfterSettling(id, 'started');
    await world.settle();
    expect(world.sent.at(-1)?.text).toContain('not known whether it was done');
    expect(world.calls).toEqual([]);
    expect(world.turns.at(-1)?.confirmed_actions).toMatchObject([{ summary: 'Cancel order "1004"' }]);
  });

  it('makes the call if it had not begun', async () => {
    const id = await ask();
    await world.post('yes');
    await dieAfterSettling(id, 'confirmed');
    await world.settle();
    expect(world.sent.at(-1)?.text).toBe(DONE);
    expect(world.calls).toMatchObject([{ key: id }]);
  });

  it('repeats the call under the same key if the tool is idempotent', async () => {
    world = await ConfirmationWorld.open({ tool: { idempotent: true } });
    const id = await ask();
    await world.post('yes');
    await dieAfterSettling(id, 'started');
    await world.settle();
    expect(world.sent.at(-1)?.text).toBe(DONE);
    expect(world.calls).toMatchObject([{ key: id }]);
  });

  it('makes no call for another person who has been linked since, and reveals nothing to that person', async () => {
    world = await ConfirmationWorld.open({ tool: { idempotent: true } });
    await signIn('ada');
    const id = await ask();
    await world.post('yes');
    await dieAfterSettling(id, 'started');
    await signIn('ada', 'bert');
    await world.settle();
    expect(world.sent.at(-1)?.text).toBe('You said: yes');
    expect(world.turns.at(-1)?.confirmed_actions).toEqual([]);
    expect(world.calls).toEqual([]);
  });

  it('does not repeat the call of an anonymous user for a person who has signed in since', async () => {
    world = await ConfirmationWorld.open({ tool: { idempotent: true } });
    const id = await ask();
    await world.post('yes');
    await dieAfterSettling(id, 'started');
    await signIn('ada');
    await world.settle();
    expect(world.sent.at(-1)?.text).toContain('not known whether it was done');
    expect(world.calls).toEqual([]);
  });

  it('reports that the action was declined', async () => {
    const id = await ask();
    await world.post('no');
    await dieAfterSettling(id, 'declined');
    await world.settle();
    expect(world.sent.at(-1)?.text).toBe('Cancel order "1004" – declined, nothing was changed');
  });
});
