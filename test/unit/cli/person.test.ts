import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { command as erase } from '../../../src/cli/commands/person-erase.ts';
import { command as show } from '../../../src/cli/commands/person-show.ts';
import { createOutput } from '../../../src/cli/output.ts';
import { hashPerson } from '../../../src/daemon/admin/who.ts';
import { personKey } from '../../../src/daemon/identity/identity.ts';
import { sessionTag } from '../../../src/daemon/session/session.ts';
import type { Store } from '../../../src/daemon/store/store.ts';
import { aPendingAction, aSession, aTrace } from '../../contract/fixtures.ts';
import {
  answerOne,
  beginConfirmed,
  claimSession,
  commitUnderClaim,
  keepTurn,
  saveSession,
} from '../../contract/store-writes.ts';
import { aResident, fillAsPerson, fillAsUser, PLATFORM, THREAD } from '../../support/person-world.ts';
import { token } from '../../support/tokens.ts';
import { openAt } from '../store/state-directory.ts';
import { capture, capturedOutput, exitCodeOf } from './captured-output.ts';
import { stubState } from './stub-settings.ts';

interface Shown {
  sessions: { session_id: string; shared: boolean }[];
  links: { user_id: string }[];
  memories: { text: string }[];
  actions: { action_id: string; summary: string; outcome: string; attempts: number; confirmed: boolean }[];
  inbox: { text: string }[];
  others: Record<string, number>;
}

// agentd-person(1).

describe('agentd person, while a daemon runs,', () => {
  const ada = aResident('Ada');
  const bob = aResident('Bob');
  const bySub = { sub: ada.canary };
  const byUser = `${PLATFORM}:${ada.user_id}`;
  let store: Store;

  beforeEach(async () => {
    const directory = stubState({ INBOX_RUN_SECONDS: 60, INBOX_SEND_SECONDS: 60 });
    store = openAt(join(directory, 'agentd.db'));
    for (const one of [ada, bob]) {
      await fillAsPerson(store, Date.now(), one);
      await fillAsUser(store, Date.now(), one);
    }
    // A link belongs to the person in its token.
    const key = `${PLATFORM}:jwt:U7`;
    const linked = await token({ sub: ada.canary });
    await store.links.put({ key, token: linked, person: personKey({ sub: ada.canary }), ttl_ms: 1e9 });
  });
  async function shown(args: string[], options = {}): Promise<Shown> {
    const { out, stdout } = capturedOutput({});
    expect(await exitCodeOf(show, { args, options, out })).toBe(0);
    expect(stdout.text).not.toMatch(/token-CANARY(ADA|BOB)/);
    return JSON.parse(stdout.text) as Shown;
  }

  it('shows tables on a terminal: the newest records of each kind, and how many there are', async () => {
    const stdout = capture({ columns: 80 });
    const out = createOutput({ json: false, stdout, stderr: capture(), env: { NO_COLOR: '1' } });
    expect(await exitCodeOf(show, { args: [], options: bySub, out })).toBe(0);
    const lines = stdout.text.split('\n');
    expect(lines[0]).toContain(ada.canary);
    const headings = lines.filter((line) => /^[A-Z][a-z]+: \d+$/.test(line));
    expect(headings).toEqual(['Sessions: 1', 'Links: 2', 'Memories: 1', 'Actions: 2']);
    expect(stdout.text).toMatch(/^Also stored: summaries 1, /m);
    expect(stdout.text).toContain('add --json');
    expect(lines.filter((line) => line.length > 80 && !line.startsWith('Also stored'))).toEqual([]);
    expect(stdout.text).not.toMatch(/token-CANARY|CANARYBOB/);
    const nobody = capture({ columns: 80 });
    await show.run({
      args: [],
      options: { sub: 'ghost' },
      out: createOutput({ json: false, stdout: nobody, stderr: capture() }),
    });
    expect(nobody.text).toBe('Nothing is stored about ghost.\n');
  });

  it('takes no e-mail address for a person, and says how to find the person', async () => {
    const { out } = capturedOutput({});
    await expect(show.run({ args: ['ada@example.com'], options: {}, out })).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('is an e-mail address'),
      advice: expect.stringContaining('`agentd sessions show ID`'),
    });
  });

  async function erased(args: string[], options: Record<string, unknown>, exitCode = 0) {
    const { out, stdout, stderr } = capturedOutput({ json: true });
    expect(await exitCodeOf(erase, { args, options, out })).toBe(exitCode);
    return { ...(JSON.parse(stdout.text) as { erased: Record<string, number> }), stderr: stderr.text };
  }

  it('shows sessions, turns, links, memories, actions and inbox as JSON, without tokens', async () => {
    const person = await shown([], bySub);
    expect(person.sessions.map(({ session_id }) => session_id)).toEqual([`s-${ada.canary}`]);
    expect(JSON.stringify(person.sessions)).toContain(`${ada.canary} told`);
    expect(person.links.map(({ user_id }) => user_id)).toEqual(['U7', ada.user_id]);
    expect(person.memories).toMatchObject([{ text: `remember${ada.canary}` }]);
    expect(person.actions).toHaveLength(2);

    const user = await shown([byUser]);
    expect(user.sessions.map(({ session_id, shared }) => [session_id, shared]).sort()).toEqual([
      [`dm:${ada.user_id}`, false],
      [THREAD, true],
    ]);
    expect(user.inbox.map(({ text }) => text)).toContain(`${ada.canary} waits`);
    expect(user.memories).toHaveLength(1);
  });

  it('shows nothing of another person in a thread that both wrote in', async () => {
    const cleo = aResident('Cleo');
    const session = aSession(Date.now(), {
      session_id: 'teamchat:C9:1.1',
      platform: PLATFORM,
      user_id: cleo.user_id,
      owner: cleo.person,
      credential_owner: { user_id: cleo.user_id, person: cleo.person },
      metadata: {
        jwt_context: {
          ...{ has_jwt: true, user_id: cleo.canary, email: `${cleo.canary}@example.com` },
          ...{ token: 'sealed', token_exp: '2031-01-01T00:00:00Z' },
        },
      },
    });
    await saveSession(store, session);
    for (const one of [ada, cleo])
      await keepTurn(store, session, {
        user_id: one.user_id,
        person: one.person,
        text: `${one.canary} says`,
      });
    for (const found of [await shown([byUser]), await shown([], bySub)]) {
      const thread = found.sessions.find(({ session_id }) => session_id === session.session_id);
      expect(thread).toMatchObject({ shared: true });
      expect(JSON.stringify(thread)).toContain(`${ada.canary} says`);
      expect(JSON.stringify(thread)).not.toContain(cleo.canary);
    }
    const hers = (await shown([`${PLATFORM}:${cleo.user_id}`])).sessions;
    expect(JSON.stringify(hers)).toContain(`${cleo.canary}@example.com`);
  });

  it('shows the state of each action, and does not show an action as confirmed if it was never sent', async () => {
    const now = Date.now();
    const expiring = { asked_by: null, answer_ms: 0 };
    const asked = { pending: {}, declined: {}, withdrawn: {}, expired: expiring, started: {}, done: {} };
    for (const [action_id, members] of Object.entries(asked)) {
      const session = aSession(now, { session_id: `s-${action_id}`, user_id: 'cleo', platform: PLATFORM });
      await saveSession(store, session);
      const pending = aPendingAction(session, { action_id, person: personKey({ sub: 'cleo' }), ...members });
      await commitUnderClaim(store, sessionTag(session), { trace: aTrace(session), pending: [pending] });
      const claim = await claimSession(store, sessionTag(session));
      if (action_id === 'declined') await answerOne(store, claim, action_id, 'declined', 't');
      if (action_id === 'started' || action_id === 'done') await beginConfirmed(store, claim, action_id, 't');
      await store.sessions.release(claim);
    }
    await store.actions.withdraw({ action_id: 'withdrawn' });
    await store.actions.finish('done', 1, { state: 'done', status: 200, answer: null });
    const { actions } = await shown([], { sub: 'cleo' });
    const seen = actions.map((one) => [one.action_id, one.outcome, one.attempts, one.confirmed]);
    expect(seen.sort()).toEqual([
      ['declined', 'declined', 0, false],
      ['done', 'done', 1, true],
      ['expired', 'expired', 0, false],
      ['pending', 'pending', 0, false],
      ['started', 'started', 1, true],
      ['withdrawn', 'withdrawn', 0, false],
    ]);
  });

  it('erases a person and a user: show then finds nothing about them, and still everything about others', async () => {
    const bobBefore = await shown([], { sub: bob.canary });
    const person = await erased([], { ...bySub, yes: true });
    expect(person.erased).toMatchObject({
      sessions: 1,
      turns: 2,
      links: 2,
      memories: 1,
      actions: 2,
      streams: 1,
    });
    expect(person.stderr).toContain('Not covered: log files and files that `agentd backup` wrote.');
    expect((await erased([byUser], { yes: true })).erased).toMatchObject({ turns: 2, inbox: 4, memories: 1 });

    for (const found of [await shown([], bySub), await shown([byUser])]) {
      const { others, ...rest } = found;
      expect(Object.values(rest).flat()).toEqual([]);
      expect(Object.values(others).every((count) => count === 0)).toBe(true);
    }
    expect(await shown([], { sub: bob.canary })).toEqual(bobBefore);
    // The answer is no if there is nothing to erase, because the id may be misspelled.
    expect((await erased([], { ...bySub, yes: true }, 1)).erased).toMatchObject({ sessions: 0, links: 0 });
  });

  it.each([
    ['show', show],
    ['erase', erase],
  ])('refuses to %s a user of an unknown channel, or a person together with a user', async (_, command) => {
    const run = (args: string[], options = {}) =>
      exitCodeOf(command, { args, options: { yes: true, ...options }, out: capturedOutput({}).out });
    await expect(run(['teamchatt:U0GRACE'])).rejects.toMatchObject({
      exitCode: 2,
      message: "there is no channel 'teamchatt'",
      advice: expect.stringMatching(/^Did you mean 'teamchat'\? The channels are .*\bteamchat\b/),
    });
    await expect(run([byUser], { sub: 'zzz' })).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining(`both --sub and '${byUser}'`),
    });
    expect(await store.audit.list({ limit: 5 })).toEqual([]);
    expect((await shown([byUser])).inbox).toHaveLength(4);
  });

  it('erases data of a channel that no longer exists', async () => {
    const session = aSession(Date.now(), { session_id: 'owl-1', user_id: 'U1', platform: 'owl' });
    await saveSession(store, session);
    expect((await erased(['owl:U1'], { yes: true })).erased).toMatchObject({ sessions: 1 });
  });

  it('says what was erased, or that nothing was stored', async () => {
    const told = async (options: Record<string, unknown>, exitCode = 0) => {
      const { out, stdout } = capturedOutput({});
      expect(await exitCodeOf(erase, { args: [], options: { yes: true, ...options }, out })).toBe(exitCode);
      return stdout.text;
    };
    expect(await told({ sub: 'ghost' }, 1)).toBe('nothing was stored about ghost\n');
    expect(await told(bySub)).toMatch(
      /^erased what was stored about CANARYADA: memories 1, sessions 1, turns 2, links 2, actions 2, summaries 1,.*\n$/,
    );
    expect(await told(bySub, 1)).toBe(`nothing was stored about ${ada.canary}\n`);
  });

  it('does nothing without --yes if there is no terminal to ask on', async () => {
    const { out } = capturedOutput({});
    await expect(erase.run({ args: [byUser], options: {}, out })).rejects.toMatchObject({ exitCode: 2 });
    expect((await shown([byUser])).inbox).toHaveLength(4);
    expect((await store.audit.list({ limit: 5 })).map(({ command }) => command)).toEqual(['person show']);
  });

  it('writes a line to the audit log for each command, with the person as an HMAC', async () => {
    await erased([], { ...bySub, yes: true });
    await shown([byUser]);
    const key = await store.audit.key();
    expect(await store.audit.list({ limit: 5 })).toMatchObject([
      { command: 'person show', person: hashPerson({ platform: PLATFORM, user_id: ada.user_id }, key) },
      { command: 'person erase', person: hashPerson({ person: ada.person }, key) },
    ]);
  });
});
