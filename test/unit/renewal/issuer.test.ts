import { createServer, type Server } from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { claimsOfStoredToken } from '../../../src/daemon/identity/decode-token.ts';
import { personKey } from '../../../src/daemon/identity/identity.ts';
import { importKeys } from '../../../src/daemon/identity/keys.ts';
import { createValidator } from '../../../src/daemon/identity/token-checks.ts';
import type { Log } from '../../../src/daemon/process/log.ts';
import { LinkRenewer } from '../../../src/daemon/renewal/link-renewer.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import { listenOnFreePort } from '../../support/free-ports.ts';
import { CLIENT, Issuer, type Visit } from '../../support/issuer.ts';
import { type StepWorld, stepWorld } from '../../support/step.ts';

// Renewal at an authorization server, by two daemons.

const KEY = 'telex:jwt:u1';
const HOUR = 3_600_000;

let world: StepWorld;
let site: Server;
let issuer: Issuer;
let ada: Visit;
let told: string[];
let renewers: [LinkRenewer, LinkRenewer];
/** Two daemons with this client secret. */
let renewersWith: (secret: string) => [LinkRenewer, LinkRenewer];

beforeEach(async () => {
  world = await stepWorld({ sealKey: Buffer.alloc(32, 1).toString('base64') });
  site = createServer((_request, response) => response.end());
  const port = await listenOnFreePort(site);
  issuer = await Issuer.start(async () => `http://127.0.0.1:${port}/backchannel-logout`);
  ada = await issuer.signIn('ada');
  told = [];
  const settings = {
    ...world.services.settings,
    ...{ JWT_ALGORITHM: 'RS256' as const, JWT_SECRET_KEY: undefined, JWT_JWKS_URL: `${issuer.url}/jwks` },
    ...{ JWT_ISSUER: issuer.url, JWT_AUDIENCE: CLIENT.client_id },
    ...{ TOKEN_RENEWAL_URL: `${issuer.url}/token`, TOKEN_RENEWAL_CLIENT_ID: CLIENT.client_id },
  };
  const log = world.services.log as Log;
  const tokens = createValidator(settings, await importKeys(settings), world.clock, log);
  const parts = {
    ...{ ...world.services, settings, tokens },
    observer: { downstreamEnded() {}, tokenRenewed() {} },
    tellEnded: async (_link: object, { email }: { email: string }) => void told.push(email),
  };
  renewersWith = (secret) => {
    const withSecret = { ...settings, TOKEN_RENEWAL_CLIENT_SECRET: new Secret(secret) };
    const made = [world.store, world.peer].map((store) =>
      LinkRenewer.of({ ...parts, settings: withSecret, store }),
    );
    return made as [LinkRenewer, LinkRenewer];
  };
  renewers = renewersWith(CLIENT.client_secret);
});
afterEach(async () => {
  await issuer.close();
  site.closeAllConnections();
  site.close();
});

/** A link with the token of ada, at a time when it is to be renewed. */
async function dueLink() {
  const person = personKey(claimsOfStoredToken(ada.token));
  const stored = world.services.seal.close(ada.token, KEY);
  await world.store.links.put({ key: KEY, token: stored, person, how: 'code', ttl_ms: 720 * HOUR });
  world.clock.moveTo(Date.now() + 0.9 * HOUR);
  return { key: KEY, token: ada.token, stored };
}

/** A new token expires later only if the clock of the issuer has moved on since the sign-in. */
async function issuerMovesOn(): Promise<void> {
  const { iat = 0 } = claimsOfStoredToken(ada.token);
  await expect.poll(() => Math.floor(Date.now() / 1000)).toBeGreaterThan(iat);
}

it('the token of a link is exchanged once, for one that lasts longer', async () => {
  const link = await dueLink();
  await issuerMovesOn();
  await Promise.all(renewers.map((one) => one.met(link)));
  const found = await world.store.links.get(KEY);
  const fresh = claimsOfStoredToken(world.services.seal.open(found?.token ?? '', KEY) ?? '');
  expect(fresh).toMatchObject({ sub: 'ada', email: 'ada@example.com', aud: CLIENT.client_id });
  expect(fresh.exp).toBeGreaterThan(claimsOfStoredToken(ada.token).exp);
  expect(issuer.exchanged).toEqual([ada.token]);
});

it('a wrong client secret ends no link, and the token is exchanged once the secret is right', async () => {
  const link = await dueLink();
  const wrong = renewersWith('not the secret');
  await Promise.all(wrong.map((one) => one.met(link)));
  expect(await world.store.links.get(KEY)).toMatchObject({ token: link.stored });
  expect(await world.store.linkRenewals.find(KEY)).toMatchObject({ failed: { reason: 'invalid_client' } });
  expect([issuer.exchanged, told]).toEqual([[], []]);
  await issuerMovesOn();
  world.clock.moveTo(world.clock.now() + 70_000);
  await Promise.all(renewers.map((one) => one.met(link)));
  expect(issuer.exchanged).toEqual([ada.token]);
});

it('an outage ends no link, and the token is exchanged once it is over', async () => {
  const link = await dueLink();
  await issuer.close();
  await Promise.all(renewers.map((one) => one.met(link)));
  expect(await world.store.links.get(KEY)).toMatchObject({ token: link.stored });
  expect(await world.store.linkRenewals.find(KEY)).toMatchObject({ failed: { reason: 'unreachable' } });
  await issuer.open();
  await issuerMovesOn();
  world.clock.moveTo(world.clock.now() + 70_000);
  await Promise.all(renewers.map((one) => one.met(link)));
  expect(issuer.exchanged).toEqual([ada.token]);
  expect((await world.store.links.get(KEY))?.token).not.toBe(link.stored);
});

it('a token of another person is never stored', async () => {
  const link = await dueLink();
  issuer.mistaken = 'bob';
  await issuerMovesOn();
  await Promise.all(renewers.map((one) => one.met(link)));
  expect(issuer.exchanged).toEqual([ada.token]);
  expect((await world.store.links.get(KEY))?.token).toBe(link.stored);
  expect(await world.store.linkRenewals.find(KEY)).toMatchObject({ failures: 1 });
  expect(told).toEqual([]);
});

it('the link of a person who has signed out ends, and the person is told once', async () => {
  const link = await dueLink();
  await ada.signOut();
  await Promise.all(renewers.map((one) => one.met(link)));
  expect(await world.store.links.get(KEY)).toBeNull();
  expect(told).toEqual(['ada@example.com']);
});
