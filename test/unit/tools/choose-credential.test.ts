import { expect, test } from 'vitest';
import { NO_MARKS, personKey, type SignOutMarks } from '../../../src/daemon/identity/identity.ts';
import { createSeal } from '../../../src/daemon/identity/seal.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import { chooseCredentials } from '../../../src/daemon/tools/choose-credential.ts';
import { collectLog } from '../../support/log-lines.ts';
import { contextOf, sessionOf, type TestContext } from '../../support/request-context.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const alice = { sub: 'user-1', email: 'alice@example.com', token: 'alices-token', expires_at: NOW + 60_000 };
const key = (byte: number) => new Secret(Buffer.alloc(32, byte).toString('base64'));

async function choose(
  context: TestContext | null,
  options: {
    verifyExp?: boolean;
    skew?: number;
    seal?: ReturnType<typeof createSeal>;
    marks?: SignOutMarks;
  } = {},
) {
  const { log, lines, text } = collectLog();
  const sources = {
    settings: { JWT_VERIFY_EXP: options.verifyExp ?? true, JWT_CLOCK_SKEW_SECONDS: options.skew ?? 0 },
    seal: options.seal ?? createSeal(undefined),
    marks: options.marks ?? NO_MARKS,
    clock: { now: () => NOW },
    log,
  };
  const choice = await chooseCredentials(context, sources, 'user-or-default');
  expect(text()).not.toContain(alice.token);
  return { choice, level: lines[0]?.level, message: lines[0]?.msg };
}

const useDefault = (reason: string, level: string) => ({
  choice: { use: 'default', reason },
  level,
  message: `tool uses default credentials: ${reason}`,
});

test('if all checks pass, the credential is the token of the user', async () => {
  const { choice, level } = await choose(contextOf(sessionOf('s', 'u', alice)));
  expect(choice).toMatchObject({ use: 'user', claims: { sub: 'user-1', email: 'alice@example.com' } });
  expect(choice.use === 'user' && choice.token.reveal()).toBe('alices-token');
  expect(level).toBeUndefined();
});

const mallory = personKey({ sub: 'user-1', iss: 'https://elsewhere.example' });
const ofAlice = (rest: Partial<TestContext> = {}) => contextOf(sessionOf('s', 'u', alice), rest);
const unreachable = () => Promise.reject(new Error('disk on fire'));

test.each<[string, () => TestContext | null, reason: string, level: string]>([
  ['without a request context', () => null, 'no_request_context', 'warn'],
  ['without a session', () => contextOf(null), 'session_not_found', 'warn'],
  [
    'if the store cannot be reached',
    () => ofAlice({ readSession: unreachable }),
    'session_unreachable',
    'warn',
  ],
  ['without a jwt_context', () => contextOf(sessionOf('s', 'u', null)), 'no_jwt_context', 'info'],
  [
    'for a message without sign-in',
    () => ofAlice({ acts_for: null, acts_for_nobody_because: 'client_chosen_session' }),
    'client_chosen_session',
    'info',
  ],
  ['for a message of another person', () => ofAlice({ acts_for: mallory }), 'other_sender', 'info'],
  ['for a message of another channel user', () => ofAlice({ user_id: 'other' }), 'other_sender', 'info'],
])('the token of the person is not used %s, and the log says why', async (_, context, reason, level) => {
  expect(await choose(context())).toEqual(useDefault(reason, level));
});

test.each(['stored_token_expired', 'stored_token_unreadable'])(
  'a stored token that this message had to give up (%s) is named, with a warning',
  async (reason) => {
    const context = contextOf(sessionOf('s', 'u', null), {
      acts_for: null,
      acts_for_nobody_because: reason,
    });
    expect(await choose(context)).toEqual(useDefault(reason, 'warn'));
  },
);

test.each(['no_token', 'no_link', 'signed_out', 'invalid_token', 'other_sender'])(
  'a session without a jwt_context is the reason if the message gave up no expired token (%s)',
  async (reason) => {
    const context = contextOf(sessionOf('s', 'u', null), { acts_for: null, acts_for_nobody_because: reason });
    expect(await choose(context)).toEqual(useDefault('no_jwt_context', 'info'));
  },
);

test.each([NOW, NOW - 1, Number.NaN])(
  'a stored token that has expired or has no valid expiry (%d) means default credentials',
  async (expires_at) => {
    const session = sessionOf('s', 'u', { ...alice, expires_at: NOW });
    if (session.metadata.jwt_context) {
      session.metadata.jwt_context.token_exp = Number.isNaN(expires_at)
        ? 'never'
        : new Date(expires_at).toISOString();
    }
    expect(await choose(contextOf(session))).toEqual(useDefault('stored_token_expired', 'warn'));
  },
);

test('the clock skew applies to the stored token, too', async () => {
  const context = contextOf(sessionOf('s', 'u', { ...alice, expires_at: NOW - 4_000 }));
  expect((await choose(context, { skew: 5 })).choice.use).toBe('user');
  expect((await choose(context, { skew: 4 })).choice.use).toBe('default');
});

test('with JWT_VERIFY_EXP=false the expiry is not checked', async () => {
  const context = contextOf(sessionOf('s', 'u', { ...alice, expires_at: NOW - 4_000 }));
  expect((await choose(context, { verifyExp: false })).choice.use).toBe('user');
});

test('a sealed token can be opened with its key, and counts as absent without that key', async () => {
  const context = contextOf(sessionOf('s', 'u', alice, createSeal(key(1))));
  expect((await choose(context, { seal: createSeal(key(1)) })).choice.use).toBe('user');
  expect(await choose(context, { seal: createSeal(key(2)) })).toEqual(
    useDefault('stored_token_unreadable', 'warn'),
  );
});
