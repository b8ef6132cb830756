import { claimsOfStoredToken } from '../identity/decode-token.ts';
import type { Claims } from '../identity/identity.ts';
import type { LogoutClaims } from '../identity/logout-token.ts';
import type { Seal } from '../identity/seal.ts';
import { userOfKey } from '../store/links/links.ts';
import type { EndedToken } from '../store/links/sign-out-ends.ts';
import type { AddOutcome } from '../store/links/sign-out-marks.ts';
import type { Store } from '../store/store.ts';
import { sealedRecord } from './stored-tokens.ts';

interface SignOutServices {
  store: Pick<Store, 'signOutMarks' | 'signOutEnds' | 'storedTokens'>;
  seal: Seal;
  /** Tells a user of a platform that the link has ended with the sign-in. */
  tellEnded(link: { platform: string; user_id: string }, claims: Claims): Promise<void>;
}

/**
 * Signs a person out (agentd-identity(7), "Sign-out at the site"): stores the mark, then ends the links, stored contexts,
 * codes and pending actions that it covers. From the mark on, no daemon uses the tokens; if this fails after the mark, a
 * repeat of the logout token ends the rest. Users of platforms are told at the end, because the sign-out must not wait for it.
 */
export async function signOutAtSite(
  { store, seal, tellEnded }: SignOutServices,
  signOut: LogoutClaims,
): Promise<AddOutcome> {
  const { signOutMarks: marks, signOutEnds: ends } = store;
  const outcome = await marks.add(signOut);
  if (outcome === 'repeated') return outcome;
  const told: [key: string, claims: Claims][] = [];
  for await (const token of listTokens(store, signOut)) {
    const opened = seal.open(token.token, sealedRecord(token));
    // A token that no key opens is of no use to anybody. It may belong to another person of the same session.
    if (opened === null) continue;
    const claims = claimsOfStoredToken(opened);
    if (!(await marks.covers(claims)) || !(await ends.end(token))) continue;
    if (token.kind === 'link') told.push([token.key, claims]);
  }
  await ends.withdraw(signOut);
  await marks.finish(signOut);
  for (const [key, claims] of told) await tellEnded(userOfKey(key), claims);
  return outcome;
}

/** No stored token begins with it. */
const NO_PREFIX = '\n';

/** The tokens that the mark may cover. If the site names no person, that is every stored token. */
async function* listTokens(
  { signOutEnds, storedTokens }: SignOutServices['store'],
  { iss, sub }: LogoutClaims,
): AsyncGenerator<EndedToken> {
  if (sub !== null) {
    yield* await signOutEnds.tokensOf(iss, sub);
    return;
  }
  for await (const batch of storedTokens(NO_PREFIX))
    for (const token of batch)
      if (token.kind === 'link' || token.kind === 'session' || token.kind === 'code') yield token;
}
