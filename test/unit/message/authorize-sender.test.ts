import { beforeEach, describe, expect, it } from 'vitest';
import { authorizeSender, SignInChanged } from '../../../src/daemon/message/authorize-sender.ts';
import type { ArrivedChannel } from '../../../src/daemon/message/turn.ts';
import type { Session } from '../../../src/daemon/session/session.ts';
import { Tickets } from '../../../src/daemon/time/tickets.ts';
import { aSession } from '../../contract/fixtures.ts';
import { saveSession } from '../../contract/store-writes.ts';
import {
  aMessage,
  aTurnOf,
  NO_TOKEN,
  ON_PLATFORM,
  person,
  runStep,
  type StepWorld,
  signedIn,
  stepWorld,
} from '../../support/step.ts';

let world: StepWorld;
beforeEach(async () => {
  world = await stepWorld();
});

async function stored(members: Partial<Session>): Promise<Session> {
  const session = aSession(world.clock.now(), { session_id: 's', user_id: 'visitor', ...members });
  await saveSession(world.store, session);
  return session;
}
const visitor = (identified = NO_TOKEN, user_id = 'visitor') =>
  aTurnOf(world, { ...identified, message: aMessage({ user_id }) });

describe('authorize-sender', () => {
  it('finds the session of the message, if there is one', async () => {
    expect((await runStep(world, authorizeSender, visitor())).turn).toMatchObject({
      authorized: true,
      found: null,
      session_id: 's',
      session_tag: 's',
    });
    const session = await stored({});
    expect((await runStep(world, authorizeSender, visitor())).turn.found).toEqual(session);
  });

  it.each([
    ['another user', {}, NO_TOKEN, 'eve', 'other_user'],
    ['another person', { owner: person('ada') }, signedIn('bob'), 'visitor', 'other_person'],
    ['another namespace', { namespace: 'telex' }, NO_TOKEN, 'visitor', 'other_channel'],
  ])(
    'refuses a session of %s, without telling the sender why',
    async (_case, members, identified, user_id, why) => {
      await stored(members);
      const turn = visitor(identified, user_id);
      await expect(runStep(world, authorizeSender, turn)).rejects.toMatchObject({
        code: 'session_forbidden',
        message: 'This session belongs to someone else.',
      });
      expect(turn.trace.lines).toMatchObject([
        { step: 'authorize-sender', verdict: 'refused', reason: 'session_forbidden', detail: { why } },
      ]);
    },
  );

  it('refuses a session id in the form that only platforms assign, except from a platform', async () => {
    const refused = async (channel: Partial<ArrivedChannel> = {}) => {
      const turn = visitor();
      const named = { session_id: 'webchat:room', channel: { ...turn.channel, ...channel } };
      await expect(runStep(world, authorizeSender, Object.assign(turn, named))).rejects.toMatchObject({
        code: 'session_forbidden',
      });
    };
    await refused();
    // A web client began it before the channel was added, or a plugin shares the namespace of a platform.
    const session = { session_id: 'webchat:room', namespace: 'telex' };
    await stored(session);
    await refused({ namespace: 'telex' });
    await runStep(world, authorizeSender, Object.assign(visitor(), session, ON_PLATFORM));
  });

  it('lets everybody use a session of a platform, because the platform decides who is in it', async () => {
    await stored({ namespace: 'telex', owner: person('ada') });
    const other = Object.assign(visitor(signedIn('bob'), 'somebody'), ON_PLATFORM);
    expect((await runStep(world, authorizeSender, other)).turn.found?.session_id).toBe('s');
  });

  it('finds a session by the id that it had before sign-in, but only for its owner', async () => {
    await stored({ session_id: 'new', former_id: 's', owner: person('ada'), generated: true });
    const owner = await runStep(world, authorizeSender, visitor(signedIn('ada')));
    expect(owner.turn).toMatchObject({ session_id: 'new', session_tag: 's' });
    expect(owner.line.reason).toBe('former_id');
    for (const credential of [NO_TOKEN, signedIn('bob')]) {
      const stranger = await runStep(world, authorizeSender, visitor(credential));
      expect(stranger.turn).toMatchObject({ found: null, session_is_generated: true });
      expect(stranger.turn.session_id).toMatch(/^webchat_visitor_/);
      expect(stranger.line.reason).toBe('former_id_ignored');
    }
  });

  it.each([
    ['somebody else', signedIn('bob')],
    ['nobody', NO_TOKEN],
  ])('refuses the second run of a message if its sender is now signed in as %s', async (_who, identified) => {
    const rerun = { turn_id: 'turn-0', message_id: null, received_at: 0, person: person('ada') };
    const again = (credential: typeof identified) =>
      runStep(world, authorizeSender, Object.assign(visitor(credential), ON_PLATFORM, { rerun }));
    expect((await again(signedIn('ada'))).turn.authorized).toBe(true);
    await expect(again(identified)).rejects.toThrow(SignInChanged);
  });

  it('waits for earlier requests of the same session', async () => {
    const sequencer = new Tickets();
    const first = sequencer.take('s');
    const second = { ...visitor(), ticket: sequencer.take('s') };
    let isDone = false;
    const asked = runStep(world, authorizeSender, second).then(() => (isDone = true));
    await new Promise(setImmediate);
    expect(isDone).toBe(false);
    first.leave();
    await asked;
  });
});
