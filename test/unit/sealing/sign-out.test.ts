import { beforeEach, describe, expect, it } from 'vitest';
import { claimsOfStoredToken } from '../../../src/daemon/identity/decode-token.ts';
import { type PersonKey, personKey } from '../../../src/daemon/identity/identity.ts';
import type { LogoutClaims } from '../../../src/daemon/identity/logout-token.ts';
import { createSeal } from '../../../src/daemon/identity/seal.ts';
import { codeRecord } from '../../../src/daemon/linking/link-ids.ts';
import { link } from '../../../src/daemon/linking/links.ts';
import { signOutAtSite } from '../../../src/daemon/sealing/sign-out.ts';
import { jwtContext, sealRecord } from '../../../src/daemon/session/jwt-context.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import { aPendingAction, aSession, aTrace } from '../../contract/fixtures.ts';
import { commitUnderClaim, saveSession } from '../../contract/store-writes.ts';
import { TELEX } from '../../support/later-services.ts';
import { type StepWorld, stepWorld } from '../../support/step.ts';
import { token } from '../../support/tokens.ts';

let world: StepWorld;
let names: string[];
let told: string[];
beforeEach(async () => {
  told = [];
  world = await stepWorld({ sealKey: Buffer.alloc(32, 1).toString('base64') });
  names = [];
});

const ISSUED = Math.floor(Date.now() / 1000) - 10;
const signOut = (members: Partial<LogoutClaims> = {}) =>
  signOutAtSite(
    {
      ...{ store: world.store, seal: world.services.seal },
      tellEnded: async ({ platform, user_id }, { email }) => {
        told.push(`${platform} ${user_id} ${email}`);
      },
    },
    {
      ...{ iss: '', jti: crypto.randomUUID(), iat: ISSUED, sub: 'ada', tenant_id: null, sid: null },
      ...{ expires_at: world.clock.now() + 60_000, ...members },
    },
  );

/** Stores a link, a session with a pending action, and a code with a token of these claims, under this name. */
async function person(name: string, claims: Record<string, unknown>): Promise<void> {
  const { services, store, clock } = world;
  const { seal } = services;
  const mine = await token({ sub: 'ada', claims: { iat: ISSUED, ...claims } });
  const of = personKey(claimsOfStoredToken(mine));
  await link(services, TELEX, name, mine);
  const plain = aSession(clock.now(), { session_id: name, user_id: name, platform: 'webchat', owner: of });
  const user = { user_id: 'ada', email: 'ada@example.com', roles: [], token: new Secret(mine) };
  const session = {
    ...plain,
    credential_owner: { user_id: name, person: of },
    metadata: {
      jwt_context: jwtContext(user, clock.now() + 3_600_000, seal, sealRecord(name, name)),
    },
  };
  await saveSession(store, session);
  await ask(`of session ${name}`, session, of);
  const telex = aSession(clock.now(), { session_id: `telex:${name}`, user_id: name, platform: 'telex' });
  await saveSession(store, telex);
  await ask(`of link ${name}`, telex, of);
  const code = { code_id: name, code_hash: name, person: personKey({ sub: name }), ttl_ms: 600_000 };
  await store.linkCodes.create({ ...code, person: of, token: seal.close(mine, codeRecord(name)) });
  names.push(name);
}

async function ask(action_id: string, session: ReturnType<typeof aSession>, of: PersonKey): Promise<void> {
  const pending = aPendingAction(session, { action_id, person: of, principal: of });
  await commitUnderClaim(world.store, session.session_id, { trace: aTrace(session), pending: [pending] });
}

/** What is still there, by name. The store keeps one open code for each person. */
async function left() {
  const { links, sessions, linkCodes, actions } = world.peer;
  const found: Record<string, string[]> = {};
  for (const name of names) {
    const is: string[] = [];
    if ((await links.get(`telex:jwt:${name}`)) !== null) is.push('link');
    if ((await sessions.find(name))?.metadata.jwt_context) is.push('context');
    if ((await linkCodes.find(name))?.state === 'waiting') is.push('code');
    for (const kind of ['session', 'link'])
      if ((await actions.find(`of ${kind} ${name}`))?.state === 'pending') is.push(`action of ${kind}`);
    found[name] = is;
  }
  return found;
}

const ALL = ['link', 'context', 'code', 'action of session', 'action of link'];
const ALL_BUT_CODE = ALL.filter((one) => one !== 'code');

describe('a sign-out at the site ends', () => {
  it('links, stored contexts, codes and pending actions of the person in every tenant, and nobody else’s', async () => {
    await person('plain', {});
    await person('tenant', { tenant_id: 'acme' });
    await person('bob', { sub: 'bob' });
    await person('other issuer', { iss: 'https://other.example' });
    expect(await left()).toEqual({ plain: ALL, tenant: ALL, bob: ALL, 'other issuer': ALL });
    expect(await signOut()).toBe('added');
    expect(await left()).toEqual({ plain: [], tenant: [], bob: ALL, 'other issuer': ALL });
    // The users of the ended links hear of it, nobody else.
    expect(told.sort()).toEqual(['telex plain ada@example.com', 'telex tenant ada@example.com']);
    // The owner of a session stays: it is still a session of that person.
    expect(await world.peer.sessions.find('plain')).toMatchObject({ owner: personKey({ sub: 'ada' }) });
  });

  it('only what belongs to the tenant that it names', async () => {
    await person('plain', {});
    await person('tenant', { tenant_id: 'acme' });
    await signOut({ tenant_id: 'acme' });
    expect(await left()).toEqual({ plain: ALL, tenant: [] });
  });

  it('nothing that a newer token has made, also if its link or session was older', async () => {
    await person('newer', { iat: ISSUED + 5 });
    await signOut();
    expect(await left()).toEqual({ newer: ALL.filter((one) => one !== 'action of link') });
  });

  it('only what belongs to the session at the site that it names, or to none', async () => {
    await person('none', {});
    await person('mine', { sid: 's1' });
    await person('other', { sid: 's2' });
    await signOut({ sid: 's1' });
    expect(await left()).toMatchObject({ none: [], mine: [] });
    expect((await left()).other).toEqual(['link', 'context', 'code', 'action of session']);
  });

  it('what belongs to a session at the site of a person whom it does not name', async () => {
    await person('none', {});
    await person('other', { sid: 's2' });
    await person('mine', { sid: 's1' });
    await person('bob', { sub: 'bob', sid: 's1' });
    await signOut({ sub: null, sid: 's1' });
    expect(await left()).toEqual({ none: ALL_BUT_CODE, mine: [], other: ALL_BUT_CODE, bob: [] });
  });

  it('no link that was replaced at that moment, of which nobody is told', async () => {
    await person('ada', {});
    world.store.signOutEnds.end = async () => false;
    await signOut();
    expect(told).toEqual([]);
  });

  it('what can be unsealed, even if no key opens another token of the person', async () => {
    await person('ada', {});
    const sealed = createSeal(new Secret(Buffer.alloc(32, 2).toString('base64'))).close(
      't',
      'telex:jwt:lost',
    );
    const lost = { key: 'telex:jwt:lost', token: sealed, person: personKey({ sub: 'ada' }), ttl_ms: 60_000 };
    expect(await world.store.links.put(lost)).toBe(true);
    expect(await signOut()).toBe('added');
    expect(await left()).toEqual({ ada: [] });
    expect(told).toEqual(['telex ada ada@example.com']);
  });

  it('nothing a second time; but a repeat ends what the first could not', async () => {
    await person('ada', {});
    const { signOutEnds } = world.store;
    const withdraw = signOutEnds.withdraw;
    signOutEnds.withdraw = () => Promise.reject(new Error('the store is out of reach'));
    await expect(signOut({ jti: 'same' })).rejects.toThrow('out of reach');
    signOutEnds.withdraw = withdraw;
    expect(await signOut({ jti: 'same' })).toBe('unfinished');
    expect(await left()).toEqual({ ada: [] });
    await person('again', { iat: ISSUED + 5 });
    expect(await signOut({ jti: 'same', iat: ISSUED + 9 })).toBe('repeated');
    expect((await left()).again).toEqual(ALL);
  });
});
