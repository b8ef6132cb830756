import { ALICE, signToken } from './fake-api.ts';
import { type BoundUser, contextOf, sessionOf, type TestContext } from './request-context.ts';

/** The secret with which the API checks the tokens of people. */
export const secret = 'a secret of the tests that is long enough';

/** A person with a token that the API accepts. */
export function personOf(sub: string, claims: Record<string, unknown> = {}): BoundUser {
  const email = `${sub}@example.com`;
  return { sub, email, token: signToken({ sub, email, ...claims }, secret) };
}

export const token = signToken({ sub: 'user-1', email: ALICE.email }, secret);
export const alice: BoundUser = { sub: 'user-1', email: ALICE.email, token };

/** The context of a message of this person. */
export const signedIn = (person = alice): TestContext => contextOf(sessionOf('s', 'u', person));
/** The context of a message of nobody. */
export const anonymous = (): TestContext => contextOf(sessionOf('s', 'u', null));
