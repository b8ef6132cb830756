import { beforeEach, describe, expect, it } from 'vitest';
import type { Credential } from '../../../src/daemon/identity/identity.ts';
import { resolvePrincipal } from '../../../src/daemon/message/resolve-principal.ts';
import { jwtContext, sealRecord } from '../../../src/daemon/session/jwt-context.ts';
import { type Session, sessionTag } from '../../../src/daemon/session/session.ts';
import { CLAIM_MS } from '../../../src/daemon/store/claims/claims.ts';
import { aSession } from '../../contract/fixtures.ts';
import { saveSession } from '../../contract/store-writes.ts';
import {
  aMessage,
  aTurnOf,
  locked,
  NO_TOKEN,
  named,
  person,
  personVerdict,
  runStep,
  type StepWorld,
  signedIn,
  stepWorld,
} from '../../support/step.ts';
import { token } from '../../support/tokens.ts';

let world: StepWorld;
beforeEach(async () => {
  world = await stepWorld({ sealKey: Buffer.alloc(32, 1).toString('base64') });
});

const INVALID: { credential: Credential } = { credential: { kind: 'invalid', reason: 'Token Expired' } };
const SIGNED_OUT: { credential: Credential } = { credential: { kind: 'signed-out' } };

/** Stores a session. If `sub` is given, `visitor` has sent a token of that person in the session. */
async function stored(members: Partial<Session> = {}, sub?: string, ttl = 3600): Promise<Session> {
  const plain = aSession(world.clock.now(), {
    session_id: 's',
    user_id: 'visitor',
    generated: true,
    ...members,
  });
  const session = sub === undefined ? plain : await withContext(plain, sub, ttl);
  await saveSession(world.store, session);
  return session;
}

async function withContext(session: Session, sub: string, ttl: number): Promise<Session> {
  const { user, person: owner } = personVerdict(sub, await token({ sub, ttl }));
  const record = sealRecord(sessionTag(session), session.user_id);
  const jwt_context = jwtContext(user, world.clock.now() + ttl * 1000, world.services.seal, record);
  return {
    ...session,
    owner,
    credential_owner: { user_id: session.user_id, person: owner },
    metadata: { jwt_context },
  };
}

async function opened(session: Session | null, identified: { credential: Credential }, members: object = {}) {
  const fresh = aSession(world.clock.now(), { session_id: 's', user_id: 'visitor', generated: true });
  return aTurnOf(world, {
    ...identified,
    ...(await locked(world, named(session))),
    session: session ?? fresh,
    session_origin: session ? ('found' as const) : ('new' as const),
    counted_in: null,
    has_started: false,
    ...members,
  });
}
const now = async (session_id = 's') => world.store.sessions.find(session_id);

describe('resolve-principal, with a valid token', () => {
  it('acts for the person, and stores a new session before the run, without changing its id', async () => {
    const { turn, line } = await runStep(world, resolvePrincipal, await opened(null, signedIn('ada')));
    expect(turn.principal).toMatchObject({ person: person('ada'), claims: { email: 'ada@example.com' } });
    expect(line).toMatchObject({ reason: 'token_bound', detail: { state: 'ValidJWT', credentials: 'user' } });
    expect(await now()).toMatchObject({
      owner: person('ada'),
      credential_owner: { user_id: 'visitor', person: person('ada') },
      metadata: {
        jwt_context: {
          has_jwt: true,
          email: 'ada@example.com',
          token: expect.stringMatching(/^sealed\.v1\./),
        },
      },
    });
    expect([turn.changes.session, turn.outlet.told]).toEqual([undefined, ['started s']]);
  });

  it('changes the generated id of a session without an owner', async () => {
    const { turn, line } = await runStep(
      world,
      resolvePrincipal,
      await opened(await stored(), signedIn('ada')),
    );
    expect(turn.session_id).toMatch(/^webchat_visitor_/);
    expect(turn.session).toMatchObject({ former_id: 's', owner: person('ada') });
    expect(turn.outlet.told).toEqual([`started ${turn.session_id}`]);
    expect(line.detail).toMatchObject({ former_id: 's' });
    expect((await now(turn.session_id))?.former_id).toBe('s');
  });

  it.each([
    ['whose id the client chose', { generated: false }],
    ['that has an owner', { owner: person('ada') }],
  ])('keeps the id of a session %s', async (_case, members) => {
    const found = await stored(members);
    const { turn } = await runStep(world, resolvePrincipal, await opened(found, signedIn('ada')));
    expect(turn.session_id).toBe('s');
  });

  it('keeps the owner of a shared session when another member sends a token', async () => {
    const found = await stored({ session_id: 's', generated: false }, 'ada');
    const of = { ...signedIn('bob'), message: aMessage({ user_id: 'member', shared: true }) };
    const { turn } = await runStep(world, resolvePrincipal, await opened(found, of, of));
    expect(turn.principal.person).toBe(person('bob'));
    expect(await now()).toMatchObject({
      owner: person('ada'),
      credential_owner: { user_id: 'member', person: person('bob') },
    });
  });

  it('writes nothing if the same token is already stored', async () => {
    const found = await stored({}, 'ada');
    const same = world.services.seal.open(
      found.metadata.jwt_context?.token ?? '',
      sealRecord('s', 'visitor'),
    );
    world.services.store.sessions.save = () => Promise.reject(new Error('nothing must be written'));
    await runStep(world, resolvePrincipal, await opened(found, signedIn('ada', same ?? '')));
  });

  it('creates the session again if an administrator has ended it in the meantime', async () => {
    const turn = await opened(await stored({ turns: 7 }), signedIn('ada'));
    await world.peer.sessions.end('s');
    const { turn: resolved } = await runStep(world, resolvePrincipal, turn);
    expect(await now(resolved.session_id)).toMatchObject({ turns: 0, owner: person('ada') });
  });

  it('keeps the id of a session that an administrator has ended in the meantime, but no longer treats it as secret', async () => {
    const turn = await opened(await stored(), signedIn('ada'));
    await world.peer.sessions.end('s');
    const { turn: resolved } = await runStep(world, resolvePrincipal, turn);
    expect(await now(resolved.session_id)).toMatchObject({ session_id: 's', generated: false });
  });

  it('ends the turn if another daemon has claimed the session, and stores nothing', async () => {
    const turn = await opened(await stored(), signedIn('ada'));
    world.clock.moveTo(world.clock.now() + CLAIM_MS);
    await world.peer.sessions.claim('s');
    await expect(runStep(world, resolvePrincipal, turn)).rejects.toMatchObject({ name: 'ClaimLost' });
    expect((await now())?.owner).toBeNull();
  });
});

describe('resolve-principal, without a token', () => {
  it('acts without sign-in in a new session, which is stored only with its turn', async () => {
    const { turn, line } = await runStep(world, resolvePrincipal, await opened(null, NO_TOKEN));
    expect(turn.principal).toEqual({ person: null, reason: 'no_token' });
    expect(line).toMatchObject({ verdict: 'ok', reason: 'no_token', detail: { state: 'NoJWT' } });
    expect(turn.changes.session).toEqual(turn.session);
    expect(await now()).toBeNull();
  });

  it('acts without sign-in if an administrator has ended the session in the meantime, whatever was stored in it', async () => {
    const ending = world.clock.now() + 1000;
    const turn = await opened(await stored({ turns: 7, expires_at: ending }, 'ada'), NO_TOKEN);
    await world.peer.sessions.end('s');
    const { turn: resolved } = await runStep(world, resolvePrincipal, turn);
    expect(resolved.principal).toEqual({ person: null, reason: 'no_token' });
    expect(resolved.session_origin).toBe('new');
    expect(resolved.session).toMatchObject({ owner: null, credential_owner: null, metadata: {}, turns: 0 });
    expect(resolved.changes.session).toEqual(resolved.session);
  });

  it('does not restore the person of an ended session if the token of the message is invalid', async () => {
    const turn = await opened(await stored({}, 'ada'), INVALID);
    await world.peer.sessions.end('s');
    const { turn: resolved } = await runStep(world, resolvePrincipal, turn);
    expect(resolved.session).toMatchObject({ owner: null, credential_owner: null, metadata: {} });
  });

  it('acts for the person of the stored token if the daemon generated the session id, because a generated id is secret', async () => {
    const { turn, line } = await runStep(
      world,
      resolvePrincipal,
      await opened(await stored({}, 'ada'), NO_TOKEN),
    );
    expect(turn.principal).toMatchObject({ person: person('ada'), claims: { email: 'ada@example.com' } });
    expect(line).toMatchObject({ verdict: 'ok', reason: 'stored_context' });
  });

  it('acts without sign-in in a session whose id the client chose, and keeps the stored token', async () => {
    const found = await stored({ generated: false }, 'ada');
    const { turn, line } = await runStep(world, resolvePrincipal, await opened(found, NO_TOKEN));
    expect(turn.principal).toEqual({ person: null, reason: 'client_chosen_session' });
    expect(line.verdict).toBe('fallback');
    expect((await now())?.metadata.jwt_context).toBeDefined();
  });

  it.each([
    ['of another channel user', { user_id: 'somebody' }, 'other_sender'],
    ['in a shared thread', { shared: true }, 'other_sender'],
  ])('ignores and clears the stored token for a message %s', async (_case, members, reason) => {
    const message = aMessage(members);
    const turn = await opened(await stored({}, 'ada'), NO_TOKEN, { message });
    const resolved = await runStep(world, resolvePrincipal, turn);
    expect(resolved.turn.principal).toEqual({ person: null, reason });
    expect(await now()).toMatchObject({ metadata: {}, credential_owner: null, owner: person('ada') });
  });

  it('clears a stored token that has expired', async () => {
    const found = await stored({ turns: 1 }, 'ada', 60);
    world.clock.moveTo(world.clock.now() + 61_000);
    const { turn, line } = await runStep(world, resolvePrincipal, await opened(found, NO_TOKEN));
    expect(turn.principal).toEqual({ person: null, reason: 'stored_token_expired' });
    expect(line).toMatchObject({ verdict: 'fallback', reason: 'stored_token_expired' });
    expect(line.detail).toMatchObject({ states: 'ValidJWT > NoJWT' });
    expect((await now())?.metadata).toEqual({});
    expect(world.lines).toMatchObject([
      { level: 'warn', reason: 'stored_token_expired', request_id: 'request-1' },
    ]);
  });

  it.each([
    ['another session', sealRecord('other', 'visitor')],
    ['another user', sealRecord('s', 'somebody')],
  ])(
    'clears a stored token that no key opens, because it was sealed for %s, and logs a warning',
    async (_whose, record) => {
      const found = await stored({}, 'ada');
      const context = found.metadata.jwt_context;
      if (!context) throw new Error('no context');
      const sealed = world.services.seal.close('a token', record);
      const broken = { ...found, metadata: { jwt_context: { ...context, token: sealed } } };
      const { turn } = await runStep(world, resolvePrincipal, await opened(broken, NO_TOKEN));
      expect(turn.principal).toEqual({ person: null, reason: 'stored_token_unreadable' });
      expect(world.lines.at(-1)).toMatchObject({ level: 'warn', request_id: 'request-1' });
    },
  );
});

describe('resolve-principal, with a credential that identifies nobody', () => {
  it.each([
    ['an invalid token', INVALID, { reason: 'invalid_token', token_reason: 'Token Expired' }, 'fallback'],
    [
      'a link whose token has expired',
      { credential: { kind: 'expired', expiry_notified: true } as Credential },
      { reason: 'stored_token_expired', expiry_notified: true },
      'fallback',
    ],
    ['an explicit null', SIGNED_OUT, { reason: 'signed_out' }, 'ok'],
    [
      'no link',
      { credential: { kind: 'none', reason: 'no_link' } as Credential },
      { reason: 'no_link' },
      'ok',
    ],
  ])('clears the stored token: %s', async (_case, identified, principal, verdict) => {
    const { turn, line } = await runStep(
      world,
      resolvePrincipal,
      await opened(await stored({}, 'ada'), identified),
    );
    expect(turn.principal).toMatchObject({ person: null, ...principal });
    expect(line.verdict).toBe(verdict);
    expect(await now()).toMatchObject({ metadata: {}, credential_owner: null });
  });

  it('makes the session last at least as long as its message may take', async () => {
    const found = await stored({ expires_at: world.clock.now() + 1000 });
    await runStep(world, resolvePrincipal, await opened(found, NO_TOKEN));
    const { AGENT_QUEUE_WAIT_SECONDS, AGENT_TIMEOUT_SECONDS } = world.services.settings;
    const until = world.clock.now() + (AGENT_QUEUE_WAIT_SECONDS + AGENT_TIMEOUT_SECONDS) * 1000;
    expect((await now())?.expires_at).toBe(until);
  });
});

// The states of the specification's table, in the order in which a message passes through them.
describe('resolve-principal shows the states that the message passes through', () => {
  const EXPIRED: { credential: Credential } = { credential: { kind: 'expired', expiry_notified: false } };
  const UNLINKED: { credential: Credential } = { credential: { kind: 'none', reason: 'no_link' } };

  it.each<[string, 'new' | 'nobody' | 'ada', { credential: Credential }, string]>([
    ['the first message, without a token', 'new', NO_TOKEN, 'NoSession > SessionCreated > NoJWT'],
    [
      'the first message, with a valid token',
      'new',
      signedIn('ada'),
      'NoSession > SessionCreated > JWTReceived > ValidJWT',
    ],
    [
      'the first message, with an invalid token',
      'new',
      INVALID,
      'NoSession > SessionCreated > JWTReceived > InvalidJWT > NoJWT',
    ],
    ['a later message, with a valid token', 'nobody', signedIn('ada'), 'NoJWT > JWTReceived > ValidJWT'],
    ['a later message, with an invalid token', 'ada', INVALID, 'ValidJWT > JWTReceived > InvalidJWT > NoJWT'],
    ['a message with a link that has expired', 'ada', EXPIRED, 'ValidJWT > JWTReceived > InvalidJWT > NoJWT'],
    ['a later message without a token', 'nobody', NO_TOKEN, 'NoJWT'],
    ['a message that uses the stored token', 'ada', NO_TOKEN, 'ValidJWT'],
    ['a message that signs out', 'ada', SIGNED_OUT, 'ValidJWT > NoJWT'],
    ['a message of a sender whose link was removed', 'ada', UNLINKED, 'ValidJWT > NoJWT'],
  ])('%s', async (_case, before, identified, states) => {
    const found = before === 'new' ? null : await stored({ turns: 1 }, before === 'ada' ? 'ada' : undefined);
    const { line } = await runStep(world, resolvePrincipal, await opened(found, identified));
    expect(line.detail).toMatchObject({ states });
    expect(line.detail?.states).toMatch(new RegExp(`${line.detail?.state}$`));
  });
});
