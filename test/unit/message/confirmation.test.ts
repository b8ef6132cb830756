import { beforeEach, describe, expect, it } from 'vitest';
import { claimsOfStoredToken } from '../../../src/daemon/identity/decode-token.ts';
import { Texts } from '../../../src/daemon/texts/texts.ts';
import { ConfirmationWorld } from '../../support/confirmation-world.ts';
import { token } from '../../support/tokens.ts';
import { sourceOf } from '../../support/tools.ts';

/* The rules of agentd-agent(7), "Confirmation", for web clients. */

const MINUTE = 60_000;
const ASKED =
  'I need your confirmation. \n\nPlease confirm: Cancel order "1004"\n\nI’ll do this as you, ada@example.com.\n\nAnswer "yes" to confirm or "no" to decline.';
const QUESTION = ASKED.slice(ASKED.indexOf('Please confirm'));
const DONE = 'Result: {"ok":true,"result":{"ok":true}}';

let world: ConfirmationWorld;
let ada: string;
let bert: string;

beforeEach(async () => {
  world = await ConfirmationWorld.open();
  ada = await token({ sub: 'ada' });
  bert = await token({ sub: 'bert' });
});

/** Ada asks to cancel order 1004, and is asked to confirm. */
async function ask(text = 'cancel 1004', session = 'room') {
  const answer = await world.say(text, { token: ada, session });
  if (answer.confirmation === null) throw new Error(`nothing is asked: ${answer.response}`);
  return answer.confirmation;
}
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'answered',
    (error: { code?: string }) => error.code,
  );

describe('a call that needs confirmation', () => {
  it('is not made: the reply ends with a question to the person', async () => {
    const { response, confirmation } = await world.say('cancel 1004', { token: ada });
    expect(world.calls).toEqual([]);
    expect(response).toBe(ASKED);
    expect(confirmation).toEqual({
      id: expect.stringMatching(/^[\w-]{22}$/),
      summary: 'Cancel order "1004"',
      expires_at: new Date(world.clock.now() + 15 * MINUTE).toISOString(),
      begins_at: expect.any(Number),
      actions: [{ number: 1, title: 'Cancel order "1004"', details: [] }],
      as: 'ada@example.com',
    });
  });

  it('shows every argument', async () => {
    const { response, confirmation } = await world.say('cancel 1004 because *too* late', { token: ada });
    expect(response).toContain(
      'Please confirm: Cancel order "1004"\n\n- reason: "\\*too\\* late"\n\nI’ll do this',
    );
    expect(confirmation?.summary).toBe('Cancel order "1004"\nreason: "*too* late"');
  });

  it('is asked about in plain view, even if the agent ends its text with a comment or open code', async () => {
    await ask();
    world.afterwards = async function* (turn) {
      await turn.tools.find(({ name }) => name === 'cancel_order')?.call({ id: '1005' });
      yield 'All done. ';
      yield '```\n<!-- ';
    };
    const { response, confirmation } = await world.say('yes', { token: ada });
    expect(confirmation?.summary).toBe('Cancel order "1005"');
    expect(response).toMatch(/^All done\. \\`\\`\\`\n&lt;!-- \n\nPlease confirm: Cancel order "1005"\n\n/);
    world.afterwards = async function* () {
      yield 'a <b> c';
    };
    expect((await world.say('yes', { token: ada })).response).toBe('a <b> c');
  });

  it('is stored sealed until it is confirmed', async () => {
    const sealKey = Buffer.alloc(32, 7).toString('base64');
    world = await ConfirmationWorld.open({ sealKey });
    const { id } = await ask('cancel 1004 because late');
    const action = await world.store.actions.find(id);
    expect(action).toMatchObject({
      state: 'pending',
      tool: 'cancel_order',
      session_id: 'room',
      user_id: 'visitor',
    });
    expect([action?.args, action?.summary].map((text) => text?.slice(0, 10))).toEqual([
      'sealed.v1.',
      'sealed.v1.',
    ]);
    expect((await world.say('yes', { token: ada })).response).toBe(DONE);
    expect(world.calls).toMatchObject([{ args: { id: '1004', reason: 'late' } }]);
  });

  it('makes the daemon ask an anonymous web client to sign in', async () => {
    const { response, confirmation } = await world.say('cancel 1004');
    expect(response).toContain('the person must sign in first');
    expect(confirmation).toBeNull();
  });

  it('is refused if the question would be too long', async () => {
    const { response, confirmation } = await world.say(`cancel 1004 because ${'x'.repeat(3_000)}`, {
      token: ada,
    });
    expect(response).toContain('more than 3000 characters');
    expect(confirmation).toBeNull();
  });

  it('shows no token in its question, because tokens in a message are masked before the agent runs', async () => {
    const { response, confirmation } = await world.say('cancel 1004', { token: ada, session: 'a' });
    expect([response, confirmation?.summary]).toEqual([ASKED, 'Cancel order "1004"']);
    const masked = await world.say(`cancel ${bert}`, { token: ada, session: 'b' });
    expect(masked.confirmation?.summary).not.toContain(bert);
  });

  it('is refused if the agent itself puts a token into its arguments', async () => {
    world.otherwise = async function* ({ tools }) {
      const tool = tools.find(({ name }) => name === 'cancel_order');
      yield JSON.stringify(await tool?.call({ id: '1004', reason: bert }));
    };
    const { response, confirmation } = await world.say('hello', { token: ada });
    expect(response).toContain('an argument has the form of an access token');
    expect(confirmation).toBeNull();
  });

  it('is returned again with its question if the Idempotency-Key is repeated', async () => {
    const first = await world.say('cancel 1004', { token: ada, key: 'k' });
    const again = await world.say('cancel 1004', { token: ada, key: 'k' });
    expect(again).toEqual({ ...first, replayed: true });
    expect(again.confirmation).not.toBeNull();
  });
});

describe('an answer', () => {
  it.each(['yes', ' YES! ', 'ok', 'Confirm.', 'yes please'])(
    'confirms the action if it is %j',
    async (word) => {
      await ask();
      expect((await world.say(word, { token: ada })).response).toBe(DONE);
      expect(world.calls).toEqual([{ args: { id: '1004' }, sub: 'ada', key: expect.any(String) }]);
    },
  );

  it.each(['no', 'Cancel.', 'STOP!'])(
    'declines the action if it is %j, and the agent does not run',
    async (word) => {
      await ask();
      world.turns.length = 0;
      expect((await world.say(word, { token: ada })).response).toBe(
        'Cancel order "1004" – declined, nothing was changed',
      );
      expect(world.turns).toEqual([]);
      expect((await world.say('yes', { token: ada })).response).toBe('You said: yes');
      expect(world.calls).toEqual([]);
    },
  );

  it('may be a word in the language of the person', async () => {
    const texts = new Texts(
      new Map([['de', { confirm: ['ja'], confirm_not_done: 'Nicht getan: {action}' }]]),
    );
    world = await ConfirmationWorld.open({ texts });
    ada = await token({ sub: 'ada', claims: { locale: 'de-AT' } });
    const { response } = await world.say('cancel 1004', { token: ada });
    expect(response).toContain('Answer "ja" to confirm');
    expect((await world.say('yes', { token: ada })).response).toMatch(/^You said: yes\n\nPlease confirm/);
    expect((await world.say('Ja!', { token: ada })).response).toBe(DONE);
  });

  it('counts only if it was accepted after the question was sent', async () => {
    const texts = ['cancel 1004', 'yes', 'no', 'what else?'];
    const [asked, ...earlier] = await Promise.all(texts.map((text) => world.say(text, { token: ada })));
    expect(earlier.map(({ response }) => response)).toEqual(
      texts.slice(1).map((text) => `You said: ${text}\n\n${QUESTION}`),
    );
    const id = asked?.confirmation?.id ?? '';
    expect(await world.store.actions.find(id)).toMatchObject({ state: 'pending' });
    expect((await world.say('yes', { token: ada })).response).toBe(DONE);
  });

  it('does not confirm the same action twice', async () => {
    await ask();
    await world.say('yes', { token: ada });
    expect((await world.say('yes', { token: ada })).response).toBe('You said: yes');
    expect(world.calls).toHaveLength(1);
  });
});

describe('metadata.confirm', () => {
  it('confirms the action, with or without a text', async () => {
    const { id } = await ask();
    const { response } = await world.say('', { token: ada, confirm: { id, approve: true } });
    expect(response).toBe(DONE);
    expect((await world.store.sessions.turns('room')).at(-1)).toMatchObject({ text: 'Confirm' });
    const next = await ask('cancel 1005');
    await world.say('please do it', { token: ada, confirm: { id: next.id, approve: true } });
    expect(world.calls.map(({ args }) => args.id)).toEqual(['1004', '1005']);
  });

  it('declines the action, and the text of the message is processed as an ordinary message', async () => {
    const { id } = await ask();
    expect((await world.say('', { token: ada, confirm: { id, approve: false } })).response).toBe(
      'Cancel order "1004" – declined, nothing was changed',
    );
    const next = await ask('cancel 1005');
    const confirm = { id: next.id, approve: false };
    expect((await world.say('rather wait', { token: ada, confirm })).response).toBe(
      'Cancel order "1005" – declined, nothing was changed\n\nYou said: rather wait',
    );
    expect(world.calls).toEqual([]);
  });

  it('with the id of an action that is not pending fails with confirmation_gone, and changes nothing', async () => {
    const { id } = await ask();
    const say = (message: object) => codeOf(world.say('', { token: ada, ...message }));
    expect(await say({ confirm: { id: 'unknown', approve: true } })).toBe('confirmation_gone');
    // A message in another session cannot confirm the action, even if it is from the same person.
    expect(await say({ session: 'other', confirm: { id, approve: true } })).toBe('confirmation_gone');
    expect(await world.store.actions.find(id)).toMatchObject({ state: 'pending' });
    expect(await say({ confirm: { id, approve: true } })).toBe('answered');
    // A second press does nothing.
    expect(await say({ confirm: { id, approve: true } })).toBe('confirmation_gone');
    expect(await say({ confirm: { id, approve: false } })).toBe('confirmation_gone');
    const late = await ask('cancel 1005');
    world.clock.moveTo(world.clock.now() + 15 * MINUTE + 1);
    expect(await say({ confirm: { id: late.id, approve: true } })).toBe('confirmation_gone');
    expect(world.calls).toHaveLength(1);
  });

  it('is part of the request that an Idempotency-Key identifies', async () => {
    const { id } = await ask();
    await world.say('', { token: ada, key: 'k', confirm: { id, approve: true } });
    const again = await world.say('', { token: ada, key: 'k', confirm: { id, approve: true } });
    expect(again).toMatchObject({ response: DONE, replayed: true });
    expect(world.calls).toHaveLength(1);
    const other = world.say('', { token: ada, key: 'k', confirm: { id, approve: false } });
    expect(await codeOf(other)).toBe('idempotency_key_reused');
  });

  it('counts only once if it is sent many times simultaneously', async () => {
    const { id } = await ask();
    const presses = Array.from({ length: 5 }, () =>
      codeOf(world.say('', { token: ada, confirm: { id, approve: true } })),
    );
    expect((await Promise.all(presses)).sort()).toEqual(['answered', ...Array(4).fill('confirmation_gone')]);
    expect(world.calls).toHaveLength(1);
  });
});

describe('the confirmation of an action', () => {
  it('needs a valid token of the person in the confirming message, because a stored token is not enough', async () => {
    const opened = await world.say('cancel 1004', { token: ada, session: null });
    const session = opened.session_id;
    const id = opened.confirmation?.id ?? '';
    const SIGN_IN = 'Please sign in, and then answer again.';
    // The session has a generated id, so the stored context still acts for Ada, but does not confirm.
    const again = `${SIGN_IN}\n\n${QUESTION}`;
    expect((await world.say('yes', { session })).response).toBe(again);
    expect((await world.say('', { session, confirm: { id, approve: true } })).response).toBe(again);
    expect(world.calls).toEqual([]);
    expect((await world.say('yes', { session, token: ada })).response).toBe(DONE);
  });

  it('is refused if somebody guesses the session id: the reply asks for sign-in, and does not reveal the action', async () => {
    const { id } = await ask();
    for (const confirm of [undefined, { id, approve: true }, { id, approve: false }]) {
      const { response } = await world.say(confirm ? '' : 'yes', confirm ? { confirm } : {});
      expect(response).toBe('Please sign in, and then answer again.');
    }
    expect((await world.say('what waits?')).response).toBe('You said: what waits?');
    expect(await world.store.actions.find(id)).toMatchObject({ state: 'pending' });
    expect((await world.say('yes', { token: ada })).response).toBe(DONE);
  });

  it('is refused if another person sends it', async () => {
    const { id } = await ask();
    expect(await codeOf(world.say('yes', { token: bert }))).toBe('session_forbidden');
    expect(
      await codeOf(world.say('', { token: bert, session: 'berts', confirm: { id, approve: true } })),
    ).toBe('confirmation_gone');
    expect(world.calls).toEqual([]);
  });

  it('is refused if the token has expired', async () => {
    const { id } = await ask();
    const expired = await token({ sub: 'ada', ttl: -10 });
    expect((await world.say('yes', { token: expired })).response).toBe(
      'Please sign in, and then answer again.',
    );
    expect(await world.store.actions.find(id)).toMatchObject({ state: 'pending' });
  });

  it('is refused if the token has expired while the message waited for an earlier one', async () => {
    const { id } = await ask();
    const { promise, resolve } = Promise.withResolvers<void>();
    world.otherwise = async function* () {
      await promise;
      yield 'So far.';
    };
    const earlier = world.say('wait', { token: ada });
    const brief = await token({ sub: 'ada', ttl: 10 });
    const answer = world.say('', { token: brief, confirm: { id, approve: true } });
    world.clock.moveTo(world.clock.now() + 20_000);
    resolve();
    await earlier;
    expect((await answer).response).toContain('Please sign in, and then answer again.');
    expect(world.calls).toEqual([]);
    expect((await world.say('', { token: ada, confirm: { id, approve: true } })).response).toBe(DONE);
  });

  it('is refused if the token has expired while the message waited for a run', async () => {
    world = await ConfirmationWorld.open({ env: { AGENT_CONCURRENCY: '1' } });
    const { id, summary } = await ask();
    const { promise, resolve } = Promise.withResolvers<void>();
    world.otherwise = async function* () {
      await promise;
      yield 'So far.';
    };
    const other = world.say('wait', { session: 'elsewhere' });
    const brief = await token({ sub: 'ada', ttl: 10 });
    const answer = world.say('', { token: brief, confirm: { id, approve: true } });
    await expect.poll(() => world.services.runs.waiting).toBe(1);
    world.clock.moveTo(world.clock.now() + 20_000);
    resolve();
    await other;
    const { response, confirmation } = await answer;
    expect(response).toBe(`Please sign in, and then answer again.\n\n${QUESTION}`);
    expect(confirmation).toMatchObject({ id, summary });
    expect(world.calls).toEqual([]);
    expect((await world.say('', { token: ada, confirm: { id, approve: true } })).response).toBe(DONE);
  });

  it('is ignored after the person has signed out', async () => {
    const { id } = await ask();
    expect((await world.say('bye', { token: null })).response).toBe('You said: bye');
    expect(await world.store.actions.find(id)).toMatchObject({ state: 'withdrawn' });
    expect((await world.say('yes', { token: ada })).response).toBe('You said: yes');
    expect(world.calls).toEqual([]);
  });

  it('is ignored if the person signed out at the site before the question was stored, even after a new sign-in', async () => {
    const { iat = 0 } = claimsOfStoredToken(ada);
    world.otherwise = async function* ({ tools }) {
      await tools.find(({ name }) => name === 'cancel_order')?.call({ id: '1004' });
      await world.store.signOutMarks.add({
        ...{ iss: '', jti: 'j', iat, sub: 'ada', tenant_id: null, sid: null },
        expires_at: world.clock.now() + MINUTE,
      });
      yield 'Done. ';
    };
    const { id } = await ask('please do');
    expect(await world.store.actions.find(id)).toMatchObject({ state: 'withdrawn' });
    world.otherwise = null;
    const newer = await token({ sub: 'ada', claims: { iat: iat + 1 } });
    expect((await world.say('yes', { token: newer })).response).toBe('You said: yes');
    expect(world.calls).toEqual([]);
  });

  it('is ignored after the session has ended', async () => {
    const { id } = await ask();
    await world.store.sessions.end('room');
    expect((await world.say('yes', { token: ada })).response).toBe('You said: yes');
    expect(await codeOf(world.say('', { token: ada, confirm: { id, approve: true } }))).toBe(
      'confirmation_gone',
    );
    expect(world.calls).toEqual([]);
  });

  it('makes no call if the action is withdrawn before the answer is recorded', async () => {
    const { id } = await ask();
    const { actions } = world.store;
    const answer = actions.answer;
    actions.answer = async (...given) => {
      await actions.withdraw({ action_id: id });
      return answer(...given);
    };
    expect((await world.say('yes', { token: ada })).response).toContain('no longer open');
    expect(await actions.find(id)).toMatchObject({ state: 'withdrawn' });
    const next = await ask('cancel 1005');
    actions.answer = async (...given) => {
      await actions.withdraw({ action_id: next.id });
      return answer(...given);
    };
    const pressed = world.say('', { token: ada, confirm: { id: next.id, approve: true } });
    expect(await codeOf(pressed)).toBe('confirmation_gone');
    expect(world.calls).toEqual([]);
  });

  it('leaves the action pending if the daemon stops before it is recorded', async () => {
    const { id } = await ask();
    const { stopping } = world.services;
    world.services.stopping = AbortSignal.abort();
    expect(await codeOf(world.say('yes', { token: ada }))).toBe('unavailable');
    expect(await world.store.actions.find(id)).toMatchObject({ state: 'pending' });
    world.services.stopping = stopping;
    expect((await world.say('yes', { token: ada })).response).toBe(DONE);
  });

  it('is recorded together with the begin of its call', async () => {
    const { id } = await ask();
    world.store.actions.settle = () => Promise.reject(new Error('the call began later'));
    expect((await world.say('yes', { token: ada })).response).toBe(DONE);
    expect(await world.store.actions.find(id)).toMatchObject({ state: 'done' });
  });

  it('makes no call if the tool is no longer offered to the person', async () => {
    let isOffered = true;
    world = await ConfirmationWorld.open({ tool: { offered: () => isOffered } });
    const { id } = await ask();
    isOffered = false;
    const { response } = await world.say('yes', { token: ada });
    expect(response).toContain('the tool no longer exists');
    expect(world.calls).toEqual([]);
    expect(await world.store.actions.find(id)).toMatchObject({ state: 'failed' });
  });

  it('cannot come from the model, whatever the model calls or says', async () => {
    world.afterwards = async function* (turn) {
      const tool = turn.tools.find(({ name }) => name === 'cancel_order');
      for (let n = 0; n < 3; n++) yield JSON.stringify(await tool?.call({ id: '1004', confirmed: true }));
      yield JSON.stringify(await tool?.call({ id: '1005' }));
      yield ' yes yes confirm';
    };
    await ask();
    await world.say('yes', { token: ada });
    expect(world.calls.map(({ args }) => args.id)).toEqual(['1004']);
  });
});

describe('arguments that come from the sign-in', () => {
  const PARAMETERS = {
    type: 'object',
    properties: { id: { type: 'string' } },
    required: ['id'],
    additionalProperties: false,
  };
  const CHANGED = 'Nothing was done, because your sign-in has changed since this question: ';
  const inOrg = (org: unknown) => token({ sub: 'ada', claims: { org } });
  const bound = { parameters: PARAMETERS, bind: { account: 'org' } };

  beforeEach(async () => {
    world = await ConfirmationWorld.open({ tool: bound });
    ada = await inOrg('ORG-1');
  });

  it('are shown in the question, and are sent and recorded as they were shown', async () => {
    world = await ConfirmationWorld.open({ tool: { ...bound, source: sourceOf({}) } });
    const { id, summary } = await ask();
    expect(summary).toBe('Cancel order "1004"\naccount: "ORG-1"');
    expect((await world.say('yes', { token: await inOrg('ORG-1') })).response).toBe(DONE);
    expect(world.calls).toMatchObject([{ args: { id: '1004', account: 'ORG-1' } }]);
    const action = await world.store.actions.find(id);
    expect(JSON.parse(action?.args ?? '')).toEqual({ id: '1004', account: 'ORG-1' });
    // Later runs get the call as the agent made it.
    await world.say('thanks', { token: ada });
    expect(world.turns.at(-1)?.history.at(-1)?.calls).toMatchObject([
      { tool: 'cancel_order', args: { id: '1004' }, answer: { ok: true } },
    ]);
    expect(JSON.stringify(world.turns.at(-1)?.history.at(-1)?.calls)).not.toContain('ORG-1');
  });

  it.each([
    ['a word', (id: string) => ({ text: 'yes', confirm: undefined, id })],
    ['a button', (id: string) => ({ text: '', confirm: { id, approve: true }, id })],
  ])('are asked about again if the token has others when %s confirms them', async (_, answerTo) => {
    const { id } = await ask();
    const { text, confirm } = answerTo(id);
    const other = await inOrg('ORG-2');
    const answer = await world.say(text, { token: other, ...(confirm ? { confirm } : {}) });
    expect(world.calls).toEqual([]);
    expect(answer.response).toMatch(
      /^Nothing was done.*Cancel order "1004" \(account: "ORG-1"\)\n\nPlease confirm: Cancel order "1004"\n\n- account: "ORG-2"\n\nI’ll do this as you, /s,
    );
    expect(answer.response).toContain(CHANGED);
    expect(answer.confirmation).toMatchObject({ summary: 'Cancel order "1004"\naccount: "ORG-2"' });
    expect(await world.store.actions.find(id)).toMatchObject({ state: 'withdrawn', started_at: null });
    expect(await codeOf(world.say('', { token: ada, confirm: { id, approve: true } }))).toBe(
      'confirmation_gone',
    );
    expect((await world.say('yes', { token: other })).response).toBe(DONE);
    expect(world.calls).toMatchObject([{ args: { id: '1004', account: 'ORG-2' } }]);
  });

  it('withdraw the action if the token no longer has them', async () => {
    const { id } = await ask();
    const { response, confirmation } = await world.say('yes', { token: await inOrg(undefined) });
    expect(response).toBe(`${CHANGED}Cancel order "1004" (account: "ORG-1")`);
    expect(confirmation).toBeNull();
    expect(await world.store.actions.find(id)).toMatchObject({ state: 'withdrawn', started_at: null });
    expect((await world.say('yes', { token: ada })).response).toBe('You said: yes');
    expect(world.calls).toEqual([]);
  });

  it('differ if their type differs', async () => {
    ada = await inOrg(5);
    expect((await ask()).summary).toBe('Cancel order "1004"\naccount: 5');
    const { confirmation } = await world.say('yes', { token: await inOrg('5') });
    expect(confirmation?.summary).toBe('Cancel order "1004"\naccount: "5"');
    expect(world.calls).toEqual([]);
  });

  it('are compared in the body, too', async () => {
    const body = { type: 'object', properties: { note: { type: 'string' } }, additionalProperties: false };
    const parameters = { ...PARAMETERS, properties: { ...PARAMETERS.properties, body } };
    world = await ConfirmationWorld.open({ tool: { parameters, bind: { 'body.account': 'org' } } });
    expect((await ask()).summary).toBe('Cancel order "1004"\nbody.account: "ORG-1"');
    expect((await world.say('yes', { token: await inOrg('ORG-2') })).response).toContain(CHANGED);
    expect(world.calls).toEqual([]);
    expect((await world.say('yes', { token: await inOrg('ORG-2') })).response).toBe(DONE);
    expect(world.calls).toMatchObject([{ args: { id: '1004', body: { account: 'ORG-2' } } }]);
  });

  it('are compared even if the entry hides them', async () => {
    world = await ConfirmationWorld.open({ tool: { ...bound, hide: ['account'] } });
    expect((await ask()).summary).toBe('Cancel order "1004"');
    expect((await world.say('yes', { token: await inOrg('ORG-2') })).response).toContain(CHANGED);
    expect(world.calls).toEqual([]);
  });

  it('cannot be hidden if the model chose them', async () => {
    world = await ConfirmationWorld.open({ tool: { hide: ['reason'] } });
    const { summary } = await ask('cancel 1004 because late');
    expect(summary).toBe('Cancel order "1004"\nreason: "late"');
  });
});

describe('after a confirmation', () => {
  it('the agent runs and gets the result, so that its reply can report the result', async () => {
    await ask('cancel 1004 because late');
    await world.say('yes', { token: ada });
    expect(world.turns.at(-1)).toMatchObject({
      text: 'yes',
      confirmed_actions: [
        {
          tool: 'cancel_order',
          summary: 'Cancel order "1004" (reason: "late")',
          answer: { ok: true, result: { ok: true } },
        },
      ],
    });
  });

  it('the journal has the outcome of the action, and the action id is the idempotency key of the call', async () => {
    const { id } = await ask();
    await world.say('yes', { token: ada });
    expect(world.calls).toMatchObject([{ key: id }]);
    expect(await world.store.actions.find(id)).toMatchObject({ state: 'done', status: 200 });
  });

  it('a call that failed is not repeated', async () => {
    world.answer = async () => ({ outcome: 'answered', status: 409, result: { error: 'shipped' } });
    await ask();
    expect((await world.say('yes', { token: ada })).response).toContain('"ok":false');
    expect((await world.say('yes', { token: ada })).response).toBe('You said: yes');
    expect(world.calls).toHaveLength(1);
  });

  it('the person learns the outcome if the agent fails', async () => {
    world.afterwards = async function* () {
      yield 'It is ';
      throw new Error('broken');
    };
    await ask();
    const { response } = await world.say('yes', { token: ada });
    expect(response).toBe('It is \n\nCancel order "1004" – done');
  });

  it('the person learns the outcome if the agent says that it cannot report it', async () => {
    world.afterwards = async function* (turn) {
      turn.reportWrites();
      yield 'Your budget is used up.';
    };
    await ask();
    const { response } = await world.say('yes', { token: ada });
    expect(response).toBe('Your budget is used up.\n\nCancel order "1004" – done');
  });
});

describe('the loop guard', () => {
  beforeEach(async () => {
    const env = {
      LOOP_GUARD_ENABLED: 'true',
      LOOP_GUARD_MAX_MESSAGES: '100',
      LOOP_GUARD_REPEAT_THRESHOLD: '3',
    };
    world = await ConfirmationWorld.open({ env });
  });

  it('does not count answers as repetition while a call waits for confirmation', async () => {
    for (let n = 0; n < 4; n++) {
      await ask(`cancel ${n}`);
      expect((await world.say('yes', { token: ada })).response).toBe(DONE);
    }
    expect(world.calls).toHaveLength(4);
  });

  it('counts no answer and no press, valid or not, as a message or as a turn', async () => {
    const env = {
      LOOP_GUARD_ENABLED: 'true',
      LOOP_GUARD_MAX_MESSAGES: '2',
      LOOP_GUARD_MAX_TURNS_PER_SESSION: '2',
    };
    world = await ConfirmationWorld.open({ env });
    const press = (id: string) => codeOf(world.say('', { token: ada, confirm: { id, approve: true } }));
    const { id } = await ask();
    for (let n = 0; n < 10; n++) expect(await press('unknown')).toBe('confirmation_gone');
    for (let n = 0; n < 10; n++) expect((await world.say('yes')).response).toContain('Please sign in');
    expect(await press(id)).toBe('answered');
    expect(await press(id)).toBe('confirmation_gone');
    await ask('cancel 1005');
    expect((await world.say('no', { token: ada })).response).toContain('declined');
    expect(await codeOf(world.say('hello', { token: ada }))).toBe('loop_guard_blocked');
  });

  it('counts the tries of a request under one Idempotency-Key once', async () => {
    const env = {
      LOOP_GUARD_ENABLED: 'true',
      LOOP_GUARD_MAX_MESSAGES: '3',
      LOOP_GUARD_REPEAT_THRESHOLD: '2',
      LOOP_GUARD_MAX_TURNS_PER_SESSION: '3',
    };
    world = await ConfirmationWorld.open({ env });
    const say = (text: string, key?: string) =>
      codeOf(world.say(text, { token: ada, ...(key === undefined ? {} : { key }) }));
    await ask();
    world.fails = true;
    for (let n = 0; n < 5; n++) expect(await say('hello', 'k')).toBe('agent_failed');
    world.fails = false;
    expect(await say('hello', 'k')).toBe('answered');
    expect(await say('another')).toBe('answered');
    // Two messages and the request were counted.
    expect(await say('a fourth message')).toBe('loop_guard_blocked');
    // A request that was blocked is judged again, so that its key does not lead past the guard.
    expect(await say('a fifth message', 'l')).toBe('loop_guard_blocked');
    expect(await say('a fifth message', 'l')).toBe('loop_guard_blocked');
  });

  it('counts equal texts as repetition if no call waits for confirmation', async () => {
    const codes: unknown[] = [];
    for (let n = 0; n < 3; n++) codes.push(await codeOf(world.say('yes', { token: ada })));
    expect(codes).toEqual(['answered', 'answered', 'loop_guard_blocked']);
  });
});
