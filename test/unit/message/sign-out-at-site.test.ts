import { beforeEach, describe, expect, it } from 'vitest';
import { claimsOfStoredToken } from '../../../src/daemon/identity/decode-token.ts';
import { personKey } from '../../../src/daemon/identity/identity.ts';
import { createSeal } from '../../../src/daemon/identity/seal.ts';
import { findLink } from '../../../src/daemon/linking/find-link.ts';
import { link } from '../../../src/daemon/linking/links.ts';
import { identifyByLink } from '../../../src/daemon/message/identify-by-link.ts';
import { identifyByToken } from '../../../src/daemon/message/identify-by-token.ts';
import { resolvePrincipal } from '../../../src/daemon/message/resolve-principal.ts';
import type { Session } from '../../../src/daemon/session/session.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import { builtInSource } from '../../../src/daemon/tools/describe-source.ts';
import type { ToolResponse } from '../../../src/daemon/tools/tool.ts';
import { aSession } from '../../contract/fixtures.ts';
import { saveSession } from '../../contract/store-writes.ts';
import { FakeApi } from '../../support/fake-api.ts';
import { TELEX } from '../../support/later-services.ts';
import { contextOf, sessionOf } from '../../support/request-context.ts';
import {
  aMessage,
  aTurnOf,
  locked,
  NO_TOKEN,
  named,
  ON_PLATFORM,
  person,
  personVerdict,
  runStep,
  type StepWorld,
  stepWorld,
} from '../../support/step.ts';
import { token } from '../../support/tokens.ts';
import { accessTo, bindOne, sourceOf, toolOf } from '../../support/tools.ts';

/** A sign-out at the site holds in each place that uses a token, on whichever daemon it arrived. */

let world: StepWorld;
let mine: string;
beforeEach(async () => {
  world = await stepWorld();
  mine = await token({ sub: 'ada' });
});

/** Another daemon hears that ada has signed out. */
async function signOut(members: { iat?: number; sub?: string } = {}): Promise<void> {
  const { iat = 0 } = claimsOfStoredToken(mine);
  await world.peer.signOutMarks.add({
    ...{ iss: '', jti: 'j', iat, sub: 'ada', tenant_id: null, sid: null },
    expires_at: world.clock.now() + 60_000,
    ...members,
  });
}

const opened = async <Members extends object>(turn: Members, found: Session | null = null) =>
  aTurnOf(world, {
    ...(await locked(world, named(found))),
    session: aSession(world.clock.now(), { session_id: 's', user_id: 'visitor', generated: true }),
    session_origin: 'new' as const,
    counted_in: null,
    has_started: false,
    ...turn,
  });

describe('after a sign-out at the site', () => {
  it('the token of a message is not valid; that of another person, and a newer one, are', async () => {
    const { tokens } = world.services;
    expect(await tokens.validate(mine)).toMatchObject({ valid: true });
    await signOut();
    expect(await tokens.validate(mine)).toEqual({ valid: false, reason: 'Signed Out' });
    expect(await tokens.validate(await token({ sub: 'bob' }))).toMatchObject({ valid: true });
    const newer = await token({ sub: 'ada', claims: { iat: (claimsOfStoredToken(mine).iat ?? 0) + 1 } });
    expect(await tokens.validate(newer)).toMatchObject({ valid: true });
    const metadata = { jwt_token: mine };
    const { turn, line } = await runStep(
      world,
      identifyByToken,
      aTurnOf(world, { message: aMessage({ metadata }) }),
    );
    expect(turn.credential).toEqual({ kind: 'invalid', reason: 'Signed Out' });
    expect(line).toMatchObject({ verdict: 'fallback', reason: 'Signed Out' });
  });

  it('a token that has also expired does not count as the expired token of its person', async () => {
    const { tokens } = world.services;
    mine = await token({ sub: 'ada', ttl: -1 });
    expect(await tokens.validate(mine)).toMatchObject({ expired: { person: person('ada') } });
    await signOut();
    expect(await tokens.validate(mine)).toEqual({ valid: false, reason: 'Token Expired' });
  });

  it('a message that waited since its token was validated acts for nobody, and stores no context', async () => {
    const verdict = personVerdict('ada', mine);
    const waited = { credential: { kind: 'person', verdict } as const };
    await signOut();
    const turn = await opened({ ...waited, ...(await locked(world, named(null, 't'), verdict.claims)) });
    const { turn: resolved, line } = await runStep(world, resolvePrincipal, turn);
    expect(resolved.principal).toEqual({ person: null, reason: 'signed_out_at_site' });
    expect(line).toMatchObject({ verdict: 'fallback', reason: 'signed_out_at_site' });
    expect(resolved.session).toMatchObject({ owner: null, credential_owner: null, metadata: {} });
  });

  it('a message whose session an administrator has ended since it was opened acts for nobody', async () => {
    const verdict = personVerdict('ada', mine);
    const session = aSession(world.clock.now(), { session_id: 's', user_id: 'visitor', generated: true });
    await saveSession(world.store, session);
    const identified = { credential: { kind: 'person', verdict } as const };
    const turn = await opened({ ...identified, session, session_origin: 'found' }, session);
    await world.peer.sessions.end('s');
    await signOut();
    const begun = { ...turn.begun, signed_out: false };
    const { turn: resolved } = await runStep(world, resolvePrincipal, { ...turn, begun });
    expect(resolved.principal).toEqual({ person: null, reason: 'signed_out_at_site' });
    expect(resolved.session).toMatchObject({ owner: null, metadata: {} });
  });

  it('the stored context of a session is not used, and is removed', async () => {
    const user = { sub: 'ada', email: 'ada@example.com', token: mine };
    const session = {
      ...sessionOf('s', 'visitor', user, world.services.seal),
      expires_at: world.clock.now() + 3_600_000,
    };
    await saveSession(world.store, session);
    await signOut();
    const turn = await opened({ ...NO_TOKEN, session, session_origin: 'found' }, session);
    const { turn: resolved } = await runStep(world, resolvePrincipal, turn);
    expect(resolved.principal).toEqual({ person: null, reason: 'signed_out_at_site' });
    expect(await world.store.sessions.find('s')).toMatchObject({ credential_owner: null, metadata: {} });
  });

  it('the context that a message has stored is found by the session at the site alone', async () => {
    mine = await token({ sub: 'ada', claims: { sid: 'at the site' } });
    const verdict = await world.services.tokens.validate(mine);
    if (!verdict.valid) throw new Error(verdict.reason);
    await runStep(
      world,
      resolvePrincipal,
      await opened({ credential: { kind: 'person', verdict } as const }),
    );
    const found = await world.store.signOutEnds.tokensOf({ iss: '', sub: null, sid: 'at the site' });
    expect(found).toMatchObject([{ kind: 'session', tag: 's' }]);
  });

  it('no link is made, also if the sign-out comes after the token was validated', async () => {
    const { services } = world;
    const validate: typeof services.tokens.validate = async (text) => {
      const verdict = await services.tokens.validate(text);
      await signOut();
      return verdict;
    };
    const outcome = await link({ ...services, tokens: { validate } }, TELEX, 'u1', mine);
    expect(outcome).toEqual({ linked: false, reason: 'Signed Out' });
    expect(await findLink(services, TELEX, 'u1')).toBeNull();
    const origin = claimsOfStoredToken(mine);
    const made = { key: 'telex:jwt:u1', token: mine, person: personKey(origin), origin, ttl_ms: 1000 };
    expect(await world.store.links.put(made)).toBe(false);
  });

  it('a link acts for nobody, and ends', async () => {
    await link(world.services, TELEX, 'u1', mine);
    await signOut();
    const from = aTurnOf(world, { ...ON_PLATFORM, message: aMessage({ platform: 'telex', user_id: 'u1' }) });
    const { turn } = await runStep(world, identifyByLink, from);
    expect(turn.credential).toEqual({ kind: 'invalid', reason: 'Signed Out' });
    expect(await findLink(world.services, TELEX, 'u1')).toBeNull();
  });
});

describe('a sign-out at the site during a run', () => {
  let api: FakeApi;
  beforeEach(async () => {
    api = await FakeApi.start({ secret: 'a secret of the tests that is long enough' });
    return () => api.close();
  });

  const context = () => contextOf(sessionOf('s', 'u', { sub: 'ada', email: 'ada@example.com', token: mine }));
  const access = () => ({
    ...accessTo(api.url),
    seal: createSeal(undefined),
    marks: world.store.signOutMarks,
  });

  it.each(['user', 'user-or-default'] as const)(
    'keeps the token from the next call of a tool with the policy %s',
    async (credentials) => {
      const tool = toolOf({
        source: builtInSource(api.url),
        credentials,
        send: async (_args, { client }) => {
          await client.request({ method: 'GET', path: '/users' });
          return { outcome: 'answered', status: 200, result: null };
        },
      });
      const { bound } = bindOne(tool, { context: context(), access: access() });
      await bound.call({});
      const before = api.seen('/users').length;
      await signOut();
      await bound.call({});
      const since = api.seen('/users').slice(before);
      expect(since.map(({ sub }) => sub)).toEqual(credentials === 'user' ? [] : ['service']);
    },
  );

  it('keeps the token from the next request of a call that is under way', async () => {
    const answers: (ToolResponse | number)[] = [];
    const tool = toolOf({
      source: builtInSource(api.url),
      credentials: 'user',
      send: async (_args, { client }) => {
        await client.request({ method: 'GET', path: '/users' });
        await signOut();
        answers.push(await client.request({ method: 'GET', path: '/users' }));
        answers.push((await client.fetch(`${api.url}/users`)).status);
        return { outcome: 'answered', status: 200, result: null };
      },
    });
    const { bound, trace } = bindOne(tool, { context: context(), access: access() });
    await bound.call({});
    expect(answers).toEqual([{ outcome: 'sign_in_needed' }, 401]);
    expect(api.seen('/users')).toHaveLength(1);
    expect(trace.lines.filter(({ reason }) => reason === 'signed_out_at_site')).toHaveLength(2);
  });

  it('keeps a token from its request if it is exchanged while the sign-out comes', async () => {
    const exchange = { url: 'https://id.example.com', client_id: 'agentd', audience: 'crm' };
    const source = sourceOf({ base_url: api.url, exchange: { ...exchange, client_secret: 'a-secret' } });
    const answers: (ToolResponse | number)[] = [];
    const tool = toolOf({
      source,
      credentials: 'exchange',
      send: async (_args, { client }) => {
        answers.push(await client.request({ method: 'GET', path: '/users' }));
        answers.push((await client.fetch(`${api.url}/users`)).status);
        return { outcome: 'answered', status: 200, result: null };
      },
    });
    const slow = access();
    slow.exchange.exchange = async () => {
      await signOut();
      return new Secret('an-exchanged-token');
    };
    await bindOne(tool, { context: context(), access: slow }).bound.call({});
    expect(answers).toEqual([{ outcome: 'sign_in_needed' }, 401]);
    expect(api.requests).toEqual([]);
  });

  it('counts as signed out if it cannot be found out', async () => {
    const marks = { covers: () => Promise.reject(new Error('the store is out of reach')) };
    const tool = toolOf({
      source: builtInSource(api.url),
      credentials: 'user',
      send: async (_args, { client }) => {
        await client.request({ method: 'GET', path: '/users' });
        return { outcome: 'answered', status: 200, result: null };
      },
    });
    await bindOne(tool, { context: context(), access: { ...access(), marks } }).bound.call({});
    expect(api.seen('/users')).toEqual([]);
  });
});
