import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimsOfStoredToken } from '../../../src/daemon/identity/decode-token.ts';
import { personKey } from '../../../src/daemon/identity/identity.ts';
import { LinkRenewer, type RenewalServices } from '../../../src/daemon/renewal/link-renewer.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import { dropLink } from '../../support/drop-link.ts';
import {
  EXCHANGE_CLIENT,
  FakeAuthorizationServer,
  RENEWAL,
} from '../../support/fake-authorization-server.ts';
import { type StepWorld, stepWorld } from '../../support/step.ts';
import { type TokenOptions, token } from '../../support/tokens.ts';

const KEY = 'telex:jwt:u1';
const DAY = 24 * 3_600_000;
/** The token was issued at 0 and lasts 1000 s, so that it is due from second 800 on. */
const BEGUN = Math.floor(Date.now() / 1000) - 850;
const OLD = { iat: BEGUN, exp: BEGUN + 1000, aud: ['b', 'a'] };

let world: StepWorld;
let issuer: FakeAuthorizationServer;
let renewer: LinkRenewer;
let services: RenewalServices;
let told: string[];
let outcomes: string[];
let old: string;

beforeEach(async () => {
  world = await stepWorld({ sealKey: Buffer.alloc(32, 1).toString('base64') });
  issuer = await FakeAuthorizationServer.start('', RENEWAL);
  [told, outcomes] = [[], []];
  services = {
    ...world.services,
    settings: {
      ...world.services.settings,
      TOKEN_RENEWAL_URL: issuer.url,
      TOKEN_RENEWAL_CLIENT_ID: EXCHANGE_CLIENT.client_id,
      TOKEN_RENEWAL_CLIENT_SECRET: new Secret(EXCHANGE_CLIENT.client_secret),
      TOKEN_RENEWAL_IDLE_DAYS: 7,
    },
    observer: { downstreamEnded() {}, tokenRenewed: (outcome) => void outcomes.push(outcome) },
    tellEnded: async ({ platform, user_id }, { email }) => void told.push(`${platform} ${user_id} ${email}`),
  };
  renewer = LinkRenewer.of(services) as LinkRenewer;
  old = await issued({});
});
afterEach(() => issuer.close());

const issued = (claims: Record<string, unknown>, options: TokenOptions = {}) =>
  token({ sub: 'ada', ...options, claims: { ...OLD, ...claims } });
const later = (claims: Record<string, unknown> = {}) =>
  issued({ iat: BEGUN + 840, exp: BEGUN + 1840, aud: ['a', 'b'], ...claims });

/** A link with this token, as a message finds it. */
async function linked(own = old) {
  const person = personKey(claimsOfStoredToken(own));
  const stored = world.services.seal.close(own, KEY);
  await world.store.links.put({ key: KEY, token: stored, person, ttl_ms: 30 * DAY });
  return { key: KEY, token: own, stored };
}
async function tokenNow(): Promise<string | null> {
  const link = await world.store.links.get(KEY);
  return link && world.services.seal.open(link.token, KEY);
}
const answers = (status: number, body: object) => {
  issuer.instead = { status, body: JSON.stringify(body) };
};

describe('the token of a link', () => {
  it('is exchanged when a message meets the link, and the new one is stored in its place', async () => {
    const fresh = await later();
    issuer.answer = { access_token: fresh };
    expect(await renewer.met(await linked())).toBe('renewed');
    expect([issuer.wrong, issuer.exchanged]).toEqual([[], [old]]);
    expect(await tokenNow()).toBe(fresh);
    expect(outcomes).toEqual(['issued']);
    const lines = JSON.stringify(world.lines);
    expect(lines).toContain('the token of a link was renewed');
    for (const secret of [old, fresh]) expect(lines).not.toContain(secret);
  });

  it('is not exchanged before four fifths of its life', async () => {
    old = await issued({ exp: BEGUN + 1070 });
    expect(await renewer.met(await linked())).toBe('kept');
    expect(issuer.exchanged).toEqual([]);
  });

  it('lives from when it was stored on if its `iat` is a number, but no time', async () => {
    old = await issued({ iat: -1e306 });
    expect(await renewer.met(await linked())).toBe('kept');
    expect((await world.store.linkRenewals.find(KEY))?.due_at).toBeGreaterThan(world.services.clock.now());
  });

  it('is exchanged once, however many messages meet it on however many daemons', async () => {
    issuer.answer = { access_token: await later() };
    const link = await linked();
    const other = LinkRenewer.of({ ...services, store: world.peer }) as LinkRenewer;
    await Promise.all([renewer, renewer, other, other].map((one) => one.met(link)));
    expect(issuer.exchanged).toHaveLength(1);
  });

  it('is exchanged in the background, for a link that is in use', async () => {
    const fresh = await later();
    issuer.answer = { access_token: fresh };
    const link = await linked();
    await world.store.linkRenewals.meet(KEY, link.stored, {
      issued_at: BEGUN * 1000,
      expires_at: OLD.exp * 1000,
    });
    await renewer.look();
    expect(await tokenNow()).toBe(fresh);
  });

  it('is never sent once it has expired, by the clock of the store or of the daemon', async () => {
    const link = await linked();
    await world.store.linkRenewals.meet(KEY, link.stored, {
      issued_at: BEGUN * 1000,
      expires_at: OLD.exp * 1000,
    });
    const ahead = { ...world.clock, now: () => OLD.exp * 1000, after: world.clock.after.bind(world.clock) };
    await (LinkRenewer.of({ ...services, clock: ahead }) as LinkRenewer).look();
    world.clock.moveTo(OLD.exp * 1000);
    expect(await renewer.met(link)).toBe('kept');
    await renewer.look();
    expect(issuer.exchanged).toEqual([]);
  });

  it('is not sent after a sign-out at the site; the link ends', async () => {
    const link = await linked();
    await world.store.signOutMarks.add({
      ...{ iss: '', jti: 'j', iat: BEGUN, sub: 'ada', tenant_id: null, sid: null, expires_at: 1 },
    });
    expect(await renewer.met(link)).toBe('ended');
    expect([issuer.exchanged, await tokenNow(), told]).toEqual([[], null, []]);
  });

  const wrong: [what: string, made: () => Promise<string>, reason: string][] = [
    ['of another person', () => later({ sub: 'bob' }), 'other_person'],
    ['of another tenant', () => later({ tenant_id: 'acme' }), 'other_person'],
    ['for another audience', () => later({ aud: ['a'] }), 'other_audience'],
    ['for no audience', () => later({ aud: undefined }), 'other_audience'],
    ['that expires no later', () => later({ exp: OLD.exp }), 'not_later'],
    [
      'that is not signed by the site',
      () => issued({ exp: BEGUN + 1840 }, { secret: 'another one' }),
      'invalid_token',
    ],
    ['without an e-mail', () => later({ email: undefined }), 'invalid_token'],
    ['that is a logout token', () => later({ events: {} }), 'invalid_token'],
    ['that is no token', async () => 'opaque', 'invalid_token'],
  ];
  it.each(wrong)('is not replaced by one %s', async (_what, made, reason) => {
    issuer.answer = { access_token: await made() };
    expect(await renewer.met(await linked())).toBe('kept');
    expect(await tokenNow()).toBe(old);
    expect(await world.store.linkRenewals.find(KEY)).toMatchObject({ failed: { reason }, isOver: false });
  });

  it('is not replaced if the person signs out, or the link changes, while the issuer is asked', async () => {
    const signOut = () =>
      world.peer.signOutMarks.add({
        ...{ iss: '', jti: 'j', iat: BEGUN, sub: 'ada', tenant_id: null, sid: null, expires_at: 1 },
      });
    for (const change of [() => dropLink(world.peer.links, KEY), signOut]) {
      issuer.answer = { access_token: await later() };
      const link = await linked();
      const gate = Promise.withResolvers<void>();
      issuer.wait = gate.promise;
      const renewing = renewer.met(link);
      await expect.poll(() => issuer.exchanged.length).toBeGreaterThan(0);
      await change();
      gate.resolve();
      expect(await renewing).toBe('kept');
      expect([null, old]).toContain(await tokenNow());
      await dropLink(world.store.links, KEY);
      issuer.exchanged.length = 0;
    }
  });

  it('is replaced although it was sealed with another key while the issuer was asked', async () => {
    const fresh = await later();
    issuer.answer = { access_token: fresh };
    const link = await linked();
    const gate = Promise.withResolvers<void>();
    issuer.wait = gate.promise;
    const renewing = renewer.met(link);
    await expect.poll(() => issuer.exchanged.length).toBe(1);
    const resealed = world.services.seal.close(old, KEY);
    expect(await world.peer.replaceToken({ kind: 'link', key: KEY, token: link.stored }, resealed)).toBe(
      true,
    );
    gate.resolve();
    expect(await renewing).toBe('renewed');
    expect(await tokenNow()).toBe(fresh);
  });

  it('does not hold up a message for long', async () => {
    const gate = Promise.withResolvers<void>();
    issuer.wait = gate.promise;
    issuer.answer = { access_token: await later() };
    const renewing = renewer.met(await linked());
    await expect.poll(() => issuer.exchanged.length).toBe(1);
    world.clock.moveTo(world.clock.now() + 3000);
    expect(await renewing).toBe('kept');
    gate.resolve();
    await renewer.stop();
    expect(await tokenNow()).not.toBe(old);
  });
});

describe('an answer of the issuer', () => {
  it('`invalid_grant` ends the link, and the person is told once', async () => {
    answers(400, { error: 'invalid_grant', error_description: `no ${old}` });
    expect(await renewer.met(await linked())).toBe('ended');
    expect(await tokenNow()).toBeNull();
    await renewer.look();
    expect(told).toEqual(['telex u1 ada@example.com']);
    expect(JSON.stringify(world.lines)).not.toContain(old);
  });

  it('`invalid_grant` for a link that has changed since ends nothing, and tells nobody', async () => {
    answers(400, { error: 'invalid_grant' });
    const link = await linked();
    const gate = Promise.withResolvers<void>();
    issuer.wait = gate.promise;
    const renewing = renewer.met(link);
    await expect.poll(() => issuer.exchanged.length).toBe(1);
    const fresh = await later();
    const [person, sealed] = [personKey({ sub: 'ada' }), world.services.seal.close(fresh, KEY)];
    const made = { key: KEY, token: sealed, person, ttl_ms: 30 * DAY };
    await world.peer.links.put(made, new Map([[KEY, link.stored]]));
    gate.resolve();
    expect(await renewing).toBe('kept');
    expect([await tokenNow(), told]).toEqual([fresh, []]);
  });

  it('`invalid_request` ends the renewing of this token; the link stays', async () => {
    answers(400, { error: 'invalid_request' });
    const link = await linked();
    expect(await renewer.met(link)).toBe('kept');
    expect(await renewer.met(link)).toBe('kept');
    expect(await tokenNow()).toBe(old);
    expect(issuer.exchanged).toHaveLength(1);
    expect([told, outcomes]).toEqual([[], ['stopped']]);
    const failed = { reason: 'invalid_request' };
    expect(await world.store.linkRenewals.find(KEY)).toMatchObject({ isOver: true, failed });
  });

  it.each([
    [401, { error: 'invalid_grant' }, 'invalid_grant'],
    [403, {}, 'http_403'],
    [400, { error: 'invalid_client' }, 'invalid_client'],
  ])(
    '%s %j is our own fault: the links stay, and nothing is asked for a while',
    async (status, body, reason) => {
      answers(status, body);
      const link = await linked();
      expect(renewer.refusal).toBeNull();
      expect(await renewer.met(link)).toBe('kept');
      expect(renewer.refusal).toMatchObject({ reason, count: 1 });
      expect([await tokenNow(), told, outcomes]).toEqual([old, [], ['refused']]);
      const failed = { reason };
      expect(await world.store.linkRenewals.find(KEY)).toMatchObject({ isOver: false, failed, failures: 1 });
      await renewer.met(link);
      expect(issuer.exchanged).toHaveLength(1);
      const other = LinkRenewer.of({ ...services, store: world.peer }) as LinkRenewer;
      await other.look();
      expect(other.refusal).toMatchObject({ reason });
      issuer.instead = null;
      issuer.answer = { access_token: await later() };
      world.clock.moveTo(world.clock.now() + 70_000);
      expect(await renewer.met(link)).toBe('renewed');
      expect(renewer.refusal).toBeNull();
    },
  );

  it.each([
    [500, {}, 'http_500'],
    // A gateway may repeat an older answer.
    [503, { error: 'invalid_grant' }, 'invalid_grant'],
    [503, { error: 'invalid_request' }, 'invalid_request'],
    [400, { error: 'invalid_target' }, 'invalid_target'],
    [404, {}, 'http_404'],
    [302, {}, 'http_302'],
    [200, {}, 'no_token'],
  ])('%s %j is tried again after a while', async (status, body, reason) => {
    answers(status, body);
    const link = await linked();
    await renewer.met(link);
    expect(await world.store.linkRenewals.find(KEY)).toMatchObject({ failed: { reason }, failures: 1 });
    await renewer.met(link);
    expect(issuer.exchanged).toHaveLength(1);
    world.clock.moveTo(world.clock.now() + 1000);
    await renewer.met(link);
    expect(issuer.exchanged).toHaveLength(2);
    expect([await tokenNow(), told, renewer.refusal]).toEqual([old, [], null]);
  });

  it('that fails again and again is tried after ever longer waits', async () => {
    answers(500, {});
    const link = await linked();
    for (const longest of [1000, 2000, 4000, 8000]) {
      await renewer.met(link);
      const { due_at = 0 } = (await world.store.linkRenewals.find(KEY)) ?? {};
      const wait = due_at - world.clock.now();
      expect([wait > longest / 2, wait <= longest]).toEqual([true, true]);
      world.clock.moveTo(due_at);
    }
  });

  it('that does not come is tried again, too', async () => {
    const link = await linked();
    await issuer.close();
    expect(await renewer.met(link)).toBe('kept');
    expect(await world.store.linkRenewals.find(KEY)).toMatchObject({ failed: { reason: 'unreachable' } });
    issuer = await FakeAuthorizationServer.start('', RENEWAL);
  });
});

it('without a token endpoint, nothing is renewed', () => {
  expect(
    LinkRenewer.of({ ...services, settings: { ...services.settings, TOKEN_RENEWAL_URL: undefined } }),
  ).toBeNull();
});
