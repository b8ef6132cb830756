import { beforeEach, describe, expect, it } from 'vitest';
import { link } from '../../../src/daemon/linking/links.ts';
import { openSession } from '../../../src/daemon/message/open-session.ts';
import type { Session } from '../../../src/daemon/session/session.ts';
import { aSession } from '../../contract/fixtures.ts';
import { ConfirmationWorld } from '../../support/confirmation-world.ts';
import { TELEX } from '../../support/later-services.ts';
import {
  aMessage,
  aTurnOf,
  locked,
  NO_TOKEN,
  named,
  ON_PLATFORM,
  person,
  runStep,
  type StepWorld,
  signedIn,
  stepWorld,
} from '../../support/step.ts';
import { token } from '../../support/tokens.ts';

let world: StepWorld;
beforeEach(async () => {
  world = await stepWorld();
});

const session = (members: Partial<Session> = {}) =>
  aSession(world.clock.now(), { session_id: 's', user_id: 'visitor', ...members });
const arrived = async (found: Session | null, members: object = {}, identified = NO_TOKEN) =>
  aTurnOf(world, { ...identified, ...(await locked(world, named(found))), ...members });

describe('open-session', () => {
  it('opens an existing session without changing it', async () => {
    const found = session();
    const { turn, line } = await runStep(world, openSession, await arrived(found));
    expect(turn.session).toBe(found);
    expect([turn.session_origin, line.reason]).toEqual(['found', 'found']);
  });

  it('prepares a new session without a person, and stores nothing', async () => {
    const { turn, line } = await runStep(world, openSession, await arrived(null));
    expect(turn).toMatchObject({
      session_origin: 'new',
      session: {
        session_id: 's',
        user_id: 'visitor',
        platform: 'webchat',
        namespace: 'web',
        generated: false,
        owner: null,
        turns: 0,
        expires_at: world.clock.now() + world.services.settings.SESSION_TTL_SECONDS * 1000,
      },
    });
    expect(turn.session.client).toMatch(/^[\w-]{12}$/);
    expect(line.reason).toBe('created');
    expect(await world.store.sessions.find('s')).toBeNull();
  });

  it.each(['new', 'found'])(
    'stores no second id of a sender if several people write in the session: %s',
    async (origin) => {
      const message = aMessage({ platform: 'telex', shared: true, alias_id: 'b1' });
      const found = origin === 'new' ? null : session({ namespace: 'telex' });
      const { turn } = await runStep(world, openSession, await arrived(found, { ...ON_PLATFORM, message }));
      expect(turn.session_origin).toBe(origin);
      expect(turn.session).not.toHaveProperty('alias_id');
    },
  );

  it('stores no tag of the client address for a message from a platform', async () => {
    const { turn } = await runStep(world, openSession, await arrived(null, ON_PLATFORM));
    expect(turn.session).not.toHaveProperty('client');
  });

  it('refuses a session that somebody else has created while the message waited', async () => {
    const found = session({ user_id: 'somebody' });
    await expect(runStep(world, openSession, await arrived(found))).rejects.toMatchObject({
      code: 'session_forbidden',
    });
  });

  it('replaces the session of a private chat if the platform user is now linked to another person', async () => {
    const found = session({ namespace: 'telex', owner: person('ada'), turns: 7 });
    const private_chat = { ...ON_PLATFORM, message: aMessage({ platform: 'telex' }) };
    const { turn, line } = await runStep(
      world,
      openSession,
      await arrived(found, private_chat, signedIn('bob')),
    );
    expect(turn).toMatchObject({ session_origin: 'replaced', session: { owner: null, turns: 0 } });
    expect(line.reason).toBe('begun_anew');
  });

  it.each([
    ['of the same person', {}, 'ada'],
    ['that is shared', { shared: true }, 'bob'],
  ])('keeps the session of a chat %s', async (_case, shared, sub) => {
    const found = session({ namespace: 'telex', owner: person('ada') });
    const chat = { ...ON_PLATFORM, message: aMessage({ platform: 'telex', ...shared }) };
    const { turn } = await runStep(world, openSession, await arrived(found, chat, signedIn(sub)));
    expect(turn.session_origin).toBe('found');
  });
});

it('a private chat that is linked to another person begins anew: the agent sees nothing of what was said before', async () => {
  const chat = await ConfirmationWorld.open();
  const here = { shared: false, thread_id: 'telex:u1', channel_id: 'u1' };
  await chat.write('as nobody', 'u1', here);
  for (const sub of ['ada', 'bob']) {
    await link(chat.services, TELEX, 'u1', await token({ sub }));
    await chat.write(`as ${sub}`, 'u1', here);
  }
  expect(chat.turns.map(({ text, history }) => [text, history.map(({ user }) => user)])).toEqual([
    ['as nobody', []],
    ['as ada', ['as nobody']],
    ['as bob', []],
  ]);
});

it('a private chat begins anew when its user id arrives with the second id of somebody else', async () => {
  const chat = await ConfirmationWorld.open();
  const write = (text: string, alias: { alias_id?: string }) =>
    chat.write(text, 'u1', { shared: false, thread_id: 'telex:u1', channel_id: 'u1', ...alias });
  await write('one', { alias_id: 'b1' });
  await write('two', {});
  await write('three', { alias_id: 'b1' });
  await write('other', { alias_id: 'b2' });
  await write('another', { alias_id: 'b2' });
  expect(chat.turns.map(({ text, history }) => [text, history.map(({ user }) => user)])).toEqual([
    ['one', []],
    ['two', ['one']],
    ['three', ['one', 'two']],
    ['other', []],
    ['another', ['other']],
  ]);
});
