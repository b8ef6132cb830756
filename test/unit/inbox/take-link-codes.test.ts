import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { ChannelRequest, IncomingMessage, PushPlugin } from '../../../src/channel/index.ts';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { personKey } from '../../../src/daemon/identity/identity.ts';
import { edit, enqueue } from '../../../src/daemon/inbox/enqueue.ts';
import { toOutgoingReply } from '../../../src/daemon/inbox/outgoing.ts';
import { press } from '../../../src/daemon/inbox/press.ts';
import { InboxWorker } from '../../../src/daemon/inbox/work.ts';
import { bindCode } from '../../../src/daemon/linking/bind-code.ts';
import { codeHashes, MASKED_CODE } from '../../../src/daemon/linking/codes-in-text.ts';
import { createCode, type MadeCode } from '../../../src/daemon/linking/create-code.ts';
import { findLink, findSendersLink } from '../../../src/daemon/linking/find-link.ts';
import { codeRecord } from '../../../src/daemon/linking/link-ids.ts';
import { link } from '../../../src/daemon/linking/links.ts';
import type { Services } from '../../../src/daemon/message/services.ts';
import type { InboxMessage } from '../../../src/daemon/store/inbox/inbox.ts';
import { WRONG_MAX } from '../../../src/daemon/store/links/link-codes.ts';
import type { PersonSelector } from '../../../src/daemon/store/persons/persons.ts';
import { Texts } from '../../../src/daemon/texts/texts.ts';
import { aPendingAction, aSession, aTrace, aTurn } from '../../contract/fixtures.ts';
import { commitUnderClaim, saveSession } from '../../contract/store-writes.ts';
import { dropLink } from '../../support/drop-link.ts';
import { TELEX } from '../../support/later-services.ts';
import type { LogLine } from '../../support/log-lines.ts';
import { testServices } from '../../support/services.ts';
import { token } from '../../support/tokens.ts';
import { openAt, stateDirectory } from '../store/state-directory.ts';

const LINKED: PushPlugin = { ...TELEX, linking: { argument: 'ID', idsOf: (given) => [given] } };
const ADA = personKey({ sub: 'ada' });
const WRONG = 'ABCDE2345';

let directory: string;
let services: Services;
let worker: InboxWorker;
let lines: LogLine[];
let ada: string;
let made: MadeCode;
let messages: number;

beforeEach(async () => {
  const sealKey = Buffer.alloc(32, 1).toString('base64');
  directory = stateDirectory();
  const store = openAt(join(directory, 'agentd.db'));
  ({ services, lines } = await testServices({ store, sealKey, env: { LOOP_GUARD_ENABLED: 'false' } }));
  worker = new InboxWorker(services);
  ada = await token();
  made = await make();
  messages = 0;
});

const make = () => createCode(services, { person: ADA, token: ada, lifetime_ms: 600_000 });

function aMessage(text: string, members: Partial<IncomingMessage> = {}): IncomingMessage {
  return {
    ...{ platform: 'telex', user_id: 'u1', channel_id: 'u1', thread_id: 'telex:u1', text },
    metadata: { user_name: 'Ada L.' },
    ...{ message_id: `m${++messages}`, reply_to: { to: 'u1' } },
    ...members,
  };
}

const deliver = (...arriving: IncomingMessage[]) => enqueue(LINKED, services, worker, arriving);
const say = (text: string, members?: Partial<IncomingMessage>) => deliver(aMessage(text, members));
const codeNow = async (id = made.id) => services.store.linkCodes.find(id);
const kept = async (): Promise<InboxMessage[]> =>
  (await services.store.inbox.list({ states: ['waiting', 'replied'], limit: 100 })).reverse();
const notices = async () => (await kept()).flatMap(({ reply }) => reply ?? []);
const texts = async () => (await kept()).flatMap(({ message }) => message?.text ?? []);
async function confirm(bearer = ada, { id } = made): Promise<void> {
  await services.store.linkCodes.confirm(id, ADA, services.seal.close(bearer, codeRecord(id)));
}
const linked = async () => (await findLink(services, LINKED, 'u1'))?.token;

const ENDED = 'the sign-in on the website has ended';
const inSession = (sid: string) => token({ claims: { sid } });
const signOut = async (sid: string) => {
  const [jti, iat] = [sid, Math.floor(Date.now() / 1000)];
  const all = { iss: '', jti, iat, sub: null, tenant_id: null, sid, expires_at: Date.now() + 60_000 };
  await services.store.signOutMarks.add(all);
};

describe('a message that is a link code', () => {
  it.each([
    ['alone', (code: string) => code],
    [
      'after link, in small letters and with a hyphen',
      (code: string) => `Link ${code.slice(0, 5)}-${code.slice(5)}`,
    ],
    ['as a start parameter', (code: string) => `/start ${code.toLowerCase()}`],
  ])('claims the code: %s', async (_form, written) => {
    expect(await say(written(made.code))).toEqual(['kept']);
    expect(await codeNow()).toMatchObject({
      state: 'claimed',
      claimant: { platform: 'telex', user_id: 'u1', name: 'Ada L.' },
    });
    const [asked, ...others] = await kept();
    expect(others).toEqual([]);
    expect(asked).toMatchObject({ session_id: null, message: null, reply_to: { to: 'u1' } });
    expect(asked?.reply).toMatch(
      /^Connect this chat with "ada@example\.com"\?.*\n\nAnswer "yes" to connect or "no"/s,
    );
    expect(asked?.question).toMatchObject({ id: made.id, begins_at: 0 });
    // Beside buttons, the question does not say how to answer in words.
    const beside = asked && toOutgoingReply(asked)?.confirmation?.question;
    expect(beside).toMatch(/^Connect this chat/);
    expect(beside).not.toContain('Answer');
  });

  it('is asked about with the e-mail as text, in which nothing is markup or hidden', async () => {
    const email = '*ada*\u202e"@example.com';
    ada = await token({ email });
    made = await make();
    const shown = String.raw`"\*ada\*\\u202e\\"@example.com"`;
    await say(made.code);
    await confirm();
    await say('yes');
    const [question, done] = await notices();
    expect(question).toContain(`Connect this chat with ${shown}?`);
    expect(done).toContain(`connected with ${shown}, until`);
  });

  it('leaves nothing of its person when the person is erased', async () => {
    await say(made.code);
    await confirm();
    await say('yes');
    made = await make();
    await say(made.code, { user_id: 'u2', reply_to: { to: 'u2' } });
    expect((await notices()).filter((text) => text.includes('ada@example'))).toHaveLength(3);
    await services.store.persons?.erase({ person: ADA, link_keys: ['telex:jwt:u1'] });
    expect(await notices()).toEqual([]);
  });

  it('is stored, with its id, only as a hash that needs the key', () => {
    const kept = readdirSync(directory).map((name) => readFileSync(join(directory, name)));
    const stored = Buffer.concat([...kept, Buffer.from(made.id), Buffer.from(made.id, 'base64url')]);
    const { code } = made;
    const plain = createHash('sha256').update(code).digest();
    for (const form of ['utf8', 'hex', 'base64url'] as const) {
      expect(stored.includes(Buffer.from(code).toString(form))).toBe(false);
      expect(stored.includes(form === 'utf8' ? plain : plain.toString(form))).toBe(false);
    }
    expect(stored.includes(ada)).toBe(false);
    expect(stored.includes(codeHashes(services.seal, code)[0])).toBe(true);
  });

  it('reaches no log, trace, inbox or stored document', async () => {
    await say(made.code);
    const traces = await services.store.traces.findOf({ platform: 'telex', user_id: 'u1' });
    expect(traces).toMatchObject([{ outcome: 'answered', lines: [{ reason: 'link_code_claimed' }] }]);
    const everything = JSON.stringify([traces, lines, await kept(), await codeNow()]);
    expect(everything).not.toContain(made.code);
    expect(everything).not.toContain(ada);
  });

  it('is asked about once, however often it is delivered', async () => {
    const message = aMessage(made.code);
    await deliver(message);
    await deliver(message);
    expect(await notices()).toHaveLength(1);
    await services.store.linkCodes.end(made.id, ADA);
    await deliver(message);
    expect(await notices()).toHaveLength(1);
    expect(await texts()).toEqual([]);
  });

  it('is asked about once if its sender sends it again and again, since the loop guard does not count that', async () => {
    for (let n = 0; n < 5; n++) await say(made.code);
    expect(await notices()).toHaveLength(1);
    expect(await texts()).toEqual([]);
  });

  it('does not count if it was forwarded, or stands in a longer text', async () => {
    await say(made.code, { forwarded: true });
    await say(`is it ${made.code}?`);
    expect(await texts()).toEqual([MASKED_CODE, `is it ${MASKED_CODE}?`]);
    expect((await codeNow())?.state).toBe('waiting');
  });

  it('reaches no inbox with spaces or invisible characters in it either', async () => {
    for (const between of [' ', '\n', '\u200b']) {
      const text = `my code: ${made.code.slice(0, 5)}${between}${made.code.slice(5)}`;
      await say(text);
      expect((await texts()).at(-1)).toBe(`my code: ${MASKED_CODE}`);
    }
    expect((await codeNow())?.state).toBe('waiting');
  });

  it('keeps the other messages of its delivery from being collected', async () => {
    const settings = { ...services.settings, COLLECT_MS: 1000 };
    const arrive = (...texts: string[]) =>
      enqueue(
        LINKED,
        { ...services, settings },
        worker,
        texts.map((text) => aMessage(text)),
      );
    const collects = async () => (await kept()).map(({ collects: found }) => found !== undefined);
    await arrive('before', 'after');
    expect(await collects()).toEqual([true, true]);
    await arrive('before', made.code, 'after');
    expect(await collects()).toEqual([true, true, false, false, false]);
  });

  it('ends in a group, and when it comes by an edit', async () => {
    const group = aMessage(`link ${made.code}`, { shared: true });
    for (let delivery = 1; delivery <= 2; delivery++) {
      await deliver(group);
      expect(await kept()).toEqual([]);
      expect((await codeNow())?.state).toBe('expired');
    }
    made = await make();
    await say(`is it ${made.code}?`, { shared: true });
    expect(await texts()).toEqual([`is it ${MASKED_CODE}?`]);
    expect((await codeNow())?.state).toBe('expired');
    made = await make();
    await say(`${made.code.slice(0, 5)} ${made.code.slice(5)}`, { shared: true });
    expect(await texts()).toHaveLength(1);
    expect((await codeNow())?.state).toBe('expired');
    await say('link ABCDEFGH23', { shared: true });
    expect((await texts()).at(-1)).toBe('link ABCDEFGH23');
    made = await make();
    await say('hello', { message_id: 'edited' });
    const edited = { message_id: 'edited', user_id: 'u1', thread_id: 'telex:u1', text: made.code };
    expect(await edit(LINKED, services, edited)).toBe(true);
    expect((await texts()).at(-1)).toBe(MASKED_CODE);
    expect((await codeNow())?.state).toBe('expired');
  });

  it('is masked, and claims nothing, for another sender than the first', async () => {
    await say(made.code);
    await say(made.code, { user_id: 'u2', thread_id: 'telex:u2' });
    expect(await texts()).toEqual([MASKED_CODE]);
    expect((await codeNow())?.claimant?.user_id).toBe('u1');
  });

  it('is an ordinary message if it is no code; after five of them, the right one is masked and claims nothing', async () => {
    for (let n = 1; n <= WRONG_MAX; n++) await say(`${WRONG}${n + 1}`);
    expect(await texts()).toEqual([2, 3, 4, 5, 6].map((n) => `${WRONG}${n}`));
    await say(made.code);
    expect((await texts()).at(-1)).toBe(MASKED_CODE);
    expect(await notices()).toEqual([]);
    expect((await codeNow())?.state).toBe('waiting');
    await say(made.code, { user_id: 'u2', thread_id: 'telex:u2' });
    expect((await codeNow())?.state).toBe('claimed');
  });

  it('ends at once if its person has signed out since', async () => {
    ada = await inSession('code');
    made = await make();
    await signOut('code');
    await say(made.code);
    expect(await notices()).toEqual([expect.stringContaining(ENDED)]);
    expect((await codeNow())?.state).toBe('expired');
  });

  it('ends at once if its token belongs to somebody else', async () => {
    ada = await token({ sub: 'bob' });
    made = await make();
    await say(made.code);
    expect((await codeNow())?.state).toBe('expired');
  });

  it('ends at once if the rules for phone numbers forbid the link', async () => {
    const linking = {
      ...(LINKED.linking as NonNullable<PushPlugin['linking']>),
      comparePhone: () => 'unknown' as const,
    };
    await link(services, LINKED, 'u1', await token({ sub: 'bob' }));
    await enqueue({ ...LINKED, linking }, services, worker, [aMessage(made.code)]);
    expect(await notices()).toEqual([expect.stringContaining('connected with another account')]);
    expect((await codeNow())?.state).toBe('expired');
    // The person may renew their own link.
    await link(services, LINKED, 'u1', ada);
    made = await make();
    await enqueue({ ...LINKED, linking }, services, worker, [aMessage(made.code)]);
    expect((await codeNow())?.state).toBe('claimed');
  });
});

describe('the answer of the sender', () => {
  it('connects the chat if it is a yes, and the person has confirmed', async () => {
    await say(made.code);
    await confirm();
    const yes = aMessage('Yes!');
    await deliver(yes);
    expect(await linked()).toBe(ada);
    expect((await notices()).at(-1)).toMatch(
      /^✅ This chat is connected with "ada@example\.com", until \S+ \S+ UTC\.$/,
    );
    const count = (await notices()).length;
    await deliver(yes);
    expect(await notices()).toHaveLength(count);
    expect(await texts()).toEqual([]);
    await say('yes');
    expect(await texts()).toEqual(['yes']);
  });

  it('is logged with the id of its request, as is the check of both tokens', async () => {
    await say(made.code);
    await confirm('no token');
    const request = { id: 'yes-1', headers: {} } as ChannelRequest;
    await enqueue(LINKED, services, worker, [aMessage('yes')], request);
    expect(lines.slice(1).map(({ request_id, msg }) => [request_id, msg.split(':')[0]])).toEqual([
      ['yes-1', 'token refused'],
      ['yes-1', 'link code refused'],
      ['yes-1', 'messages accepted'],
    ]);
  });

  it('waits for the person after a yes', async () => {
    await say(made.code);
    await say('yes');
    expect((await notices()).at(-1)).toContain('confirm on the website');
    expect(await linked()).toBe(undefined);
    await say('ok');
    expect(await texts()).toEqual(['ok']);
    await confirm();
    expect((await bindCode(services, LINKED, made.id)).outcome).toBe('bound');
    expect(await linked()).toBe(ada);
  });

  it('connects nothing if it is a no', async () => {
    await say(made.code);
    await confirm();
    await say('no');
    expect((await codeNow())?.state).toBe('declined');
    expect((await notices()).at(-1)).toContain('not connected');
    expect(await linked()).toBe(undefined);
  });

  it('counts only from the sender, in private, and not in the delivery of the code itself', async () => {
    await deliver(aMessage('yes'), aMessage(made.code), aMessage('yes'));
    await say('yes', { user_id: 'u2', thread_id: 'telex:u2' });
    await say('yes', { shared: true });
    await say('yes', { forwarded: true });
    expect(await texts()).toEqual(['yes', 'yes', 'yes', 'yes', 'yes']);
    expect((await codeNow())?.sender_agreed).toBe(false);
  });

  it('is asked for again if the agent has replied since, unless an action waits for a word', async () => {
    await say(made.code);
    const session = aSession(services.clock.now(), {
      platform: 'telex',
      user_id: 'u1',
      session_id: 'telex:u1',
    });
    await saveSession(services.store, session);
    const turn = { record: aTurn(), ttl_ms: 3_600_000 };
    await commitUnderClaim(services.store, 'telex:u1', { trace: aTrace(session), turn });
    await say('yes');
    expect((await codeNow())?.sender_agreed).toBe(false);
    expect((await notices()).filter((text) => text.startsWith('Connect this chat'))).toHaveLength(2);
    const pending = aPendingAction(session, { platform: 'telex', user_id: 'u1' });
    await commitUnderClaim(services.store, 'telex:u1', { trace: aTrace(session), turn, pending: [pending] });
    await say('yes');
    expect(await texts()).toEqual(['yes']);
    await services.store.actions.withdraw({ action_id: pending.action_id });
    await say('yes');
    await say('yes');
    expect((await codeNow())?.sender_agreed).toBe(true);
  });

  it('is a word of the language in which the sender was asked: that of another is an ordinary message', async () => {
    const texts = new Texts(new Map([['de', { confirm: ['ja'], decline: ['nein'] }]]));
    const say = (text: string, locale: string) =>
      enqueue(LINKED, { ...services, texts }, worker, [aMessage(text, { locale })]);
    await say(made.code, 'en');
    for (const word of ['ja', 'nein']) await say(word, 'en');
    expect((await kept()).flatMap(({ message }) => message?.text ?? [])).toEqual(['ja', 'nein']);
    expect(await codeNow()).toMatchObject({ state: 'claimed', sender_agreed: false });
    await say('ja', 'de');
    expect(await codeNow()).toMatchObject({ state: 'claimed', sender_agreed: true });
  });

  it('can be given with the buttons of the question, by the sender only', async () => {
    const pressed = (approve: boolean, members: Partial<IncomingMessage> = {}) =>
      press(LINKED, services, worker, aMessage('', { confirm: { id: made.id, approve }, ...members }));
    await say(made.code);
    expect(await pressed(true, { user_id: 'u2', thread_id: 'telex:u2' })).toMatchObject({
      outcome: 'refused',
      text: expect.stringContaining('Only the person who was asked'),
    });
    await confirm();
    expect(await pressed(true, { shared: true })).toMatchObject({ outcome: 'refused' });
    const other = { ...LINKED, name: 'other' };
    const there = { platform: 'other', thread_id: 'other:u1' };
    const elsewhere = aMessage('', { confirm: { id: made.id, approve: true }, ...there });
    expect(await press(other, services, worker, elsewhere)).toMatchObject({
      outcome: 'refused',
      text: expect.stringContaining('Only the person who was asked'),
    });
    expect(await codeNow()).toMatchObject({ state: 'claimed', sender_agreed: false });
    expect(await pressed(true)).toEqual({ outcome: 'enqueued' });
    expect(await linked()).toBe(ada);
    expect(await pressed(false)).toMatchObject({ outcome: 'refused' });
    expect(await linked()).toBe(ada);
  });
});

describe('an answer whose outcome could not be stored', () => {
  const failOnce = () =>
    vi.spyOn(services.store.inbox, 'enqueue').mockRejectedValueOnce(new StoreUnavailable('down'));

  it.each([
    ['yes', /^✅ This chat is connected/, 'used'],
    ['no', /not connected/, 'declined'],
  ])('gets its notice when the platform delivers it again: %s', async (word, notice, state) => {
    const presses = (approve: boolean) => aMessage('', { confirm: { id: made.id, approve } });
    for (const by of ['word', 'button']) {
      await say(made.code);
      await confirm();
      const message = by === 'word' ? aMessage(word) : presses(word === 'yes');
      const arrive = () => (by === 'word' ? deliver(message) : press(LINKED, services, worker, message));
      failOnce();
      await expect(arrive()).rejects.toThrow();
      expect((await codeNow())?.state).toBe(state);
      const before = (await notices()).length;
      if (by === 'word') expect(await arrive()).toEqual(['kept']);
      else expect(await arrive()).toEqual({ outcome: 'enqueued' });
      expect((await notices()).slice(before)).toEqual([expect.stringMatching(notice)]);
      await dropLink(services.store.links, 'telex:jwt:u1');
      made = await make();
    }
    expect(await texts()).toEqual([]);
  });
});

it('an answer is told nothing of a link that has replaced the one of its code', async () => {
  await say(made.code);
  await confirm();
  const yes = aMessage('yes');
  vi.spyOn(services.store.inbox, 'enqueue').mockRejectedValueOnce(new StoreUnavailable('down'));
  await expect(deliver(yes)).rejects.toThrow();
  await link(services, LINKED, 'u1', await token({ sub: 'bob' }));
  const before = await notices();
  expect(await deliver(yes)).toEqual(['kept']);
  expect(await notices()).toEqual(before);
});

describe('a code on which both have agreed', () => {
  it.each(['code', 'confirmation'])(
    'connects nothing after a sign-out that covers the token of the %s',
    async (of) => {
      ada = await inSession('code');
      made = await make();
      await say(made.code);
      await confirm(await inSession('confirmation'));
      await signOut(of);
      await say('yes');
      expect(await linked()).toBe(undefined);
      expect((await notices()).at(-1)).toContain(ENDED);
      expect((await codeNow())?.state).toBe('expired');
    },
  );

  it('connects nothing if the sign-out comes while both tokens are examined', async () => {
    ada = await inSession('code');
    made = await make();
    await say(made.code);
    await confirm();
    const { linkCodes } = services.store;
    const bind = linkCodes.bind.bind(linkCodes);
    vi.spyOn(linkCodes, 'bind').mockImplementationOnce(async (binding) => {
      await signOut('code');
      return bind(binding);
    });
    await say('yes');
    expect(await linked()).toBe(undefined);
    expect((await notices()).at(-1)).toContain(ENDED);
  });

  it.each([undefined, 0])(
    'stores the token that expires later if neither was issued later: iat %s',
    async (iat) => {
      ada = await token({ ttl: 7200, claims: { iat } });
      made = await make();
      await say(made.code);
      await confirm(await token({ claims: { iat } }));
      await say('yes');
      expect(await linked()).toBe(ada);
    },
  );

  it('leads to the link by the other id of the sender, too, or by the only id of a sender without a number', async () => {
    await say(made.code, { alias_id: 'b1' });
    await confirm();
    await say('yes', { alias_id: 'b1' });
    expect(await linked()).toBe(ada);
    expect((await findLink(services, LINKED, 'b1'))?.key).toBe('telex:jwt:u1');

    const numbered = { ...LINKED, linking: { argument: 'NUMBER', idsOf: () => [] } };
    const hidden = { user_id: 'DE.b2', thread_id: 'telex:DE.b2' };
    made = await make();
    await enqueue(numbered, services, worker, [aMessage(made.code, hidden)]);
    await confirm();
    await enqueue(numbered, services, worker, [aMessage('yes', hidden)]);
    expect((await findLink(services, numbered, 'DE.b2'))?.key).toBe('telex:jwt:DE.b2');
  });

  it('leads to the link by the user id alone again, although it had been given to somebody else', async () => {
    const sender = (alias_id?: string) =>
      findSendersLink(services, LINKED, { user_id: 'u1', ...(alias_id === undefined ? {} : { alias_id }) });
    await link(services, LINKED, 'u1', ada);
    await sender('b1');
    await sender('b2');
    expect(await sender()).toBe('other_sender');
    await say(made.code);
    await confirm();
    await say('yes');
    expect(await sender()).toMatchObject({ person: ADA });
    expect(await sender('b1')).toMatchObject({ person: ADA });
    expect(await sender('b2')).toBe('other_sender');
  });

  it('replaces the link of another person if the ids of the channel are no phone numbers', async () => {
    await link(services, LINKED, 'u1', await token({ sub: 'bob' }));
    await findSendersLink(services, LINKED, { user_id: 'u1', alias_id: 'b1' });
    await say(made.code);
    await confirm();
    await say('yes');
    expect(await linked()).toBe(ada);
    expect(await findLink(services, LINKED, 'b1')).toBeNull();
  });

  it('replaces the links under all spellings of the id', async () => {
    const spelled = { ...LINKED, linking: { argument: 'ID', idsOf: () => ['U1', 'u1'] } };
    await link(services, LINKED, 'u1', await token({ sub: 'bob' }));
    await enqueue(spelled, services, worker, [aMessage(made.code)]);
    await confirm();
    await enqueue(spelled, services, worker, [aMessage('yes')]);
    const { links } = services.store;
    expect((await links.list({ limit: 9 })).map(({ key }) => key)).toEqual(['telex:jwt:U1']);
  });

  it('withdraws the actions of its sender that are not those of its person', async () => {
    await say(made.code);
    await say('yes');
    const mine = { platform: 'telex', user_id: 'u1' };
    const asked = [
      { ...mine, person: null, principal: 'telex:u1' },
      { ...mine, user_id: 'U1', person: null, principal: 'telex:U1' },
      { ...mine, person: ADA, principal: ADA },
    ].map(async (members) => {
      const session = aSession(services.clock.now(), mine);
      await saveSession(services.store, session);
      const pending = aPendingAction(session, members);
      const turn = { record: aTurn(), ttl_ms: 3_600_000 };
      await commitUnderClaim(services.store, session.session_id, {
        trace: aTrace(session),
        turn,
        pending: [pending],
      });
      return pending.action_id;
    });
    const ids = await Promise.all(asked);
    await confirm();
    const spelled = { ...LINKED, linking: { argument: 'ID', idsOf: () => ['u1', 'U1'] } };
    expect((await bindCode(services, spelled, made.id)).outcome).toBe('bound');
    const states = ids.map(async (id) => (await services.store.actions.find(id))?.state);
    expect(await Promise.all(states)).toEqual(['withdrawn', 'withdrawn', 'pending']);
  });

  it('is gone if it was ended meanwhile, or if there is none', async () => {
    const bind = (id = made.id) => bindCode(services, LINKED, id);
    expect(await bind()).toMatchObject({ outcome: 'gone', code: { state: 'waiting' } });
    await say(made.code);
    await confirm();
    await services.store.linkCodes.end(made.id, ADA);
    expect(await bind()).toMatchObject({ outcome: 'gone', code: { state: 'expired' } });
    expect(await bind('unknown')).toEqual({ outcome: 'gone', code: null });
    expect(await linked()).toBe(undefined);
  });

  it('connects nothing if one of the tokens belongs to somebody else', async () => {
    await say(made.code);
    await confirm(await token({ sub: 'bob' }));
    await say('yes');
    expect(await linked()).toBe(undefined);
    expect((await codeNow())?.state).toBe('expired');
  });
});

describe('an erasure at the moment in which a code', () => {
  type Method = 'claim' | 'answer' | 'bind';
  /** Erases as soon as this step on the code is done, before anything else. */
  function eraseAfter(method: Method, of: PersonSelector): void {
    const { linkCodes, persons } = services.store;
    const original = linkCodes[method] as (...args: unknown[]) => Promise<unknown>;
    vi.spyOn(linkCodes, method as 'claim').mockImplementationOnce(async (...args) => {
      const outcome = await original(...args);
      await persons?.erase(of);
      return outcome as never;
    });
  }

  const bound = async () => {
    await say(made.code);
    await confirm();
    return say('yes');
  };
  const declined = async () => {
    await say(made.code);
    return say('no');
  };

  it.each<[string, Method, () => Promise<unknown>, string[]]>([
    ['is claimed', 'claim', () => say(made.code), []],
    ['is declined', 'answer', declined, []],
    ['leads to a link', 'bind', bound, ['telex:jwt:u1']],
  ])('%s wins: nothing about it is stored afterwards', async (_, method, act, link_keys) => {
    for (const selector of [
      { person: ADA, link_keys },
      { platform: 'telex', user_id: 'u1' },
    ]) {
      made = await make();
      eraseAfter(method, selector);
      await act();
      expect([await kept(), await codeNow()]).toEqual([[], null]);
      const ofUser = await services.store.persons?.show({ platform: 'telex', user_id: 'u1' });
      const counted = { ...ofUser?.others, seen_messages: 0, guard: 0 };
      if ('platform' in selector) expect(new Set(Object.values(counted))).toEqual(new Set([0]));
    }
  });
});
