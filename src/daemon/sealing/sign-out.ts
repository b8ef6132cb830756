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
  store: Pick<Store, 'signOutMarks' | 'signOutEnds'>;
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
  for (const { token, claims } of openAll(await ends.tokensOf(signOut), seal)) {
    if (!(await marks.covers(claims)) || !(await ends.end(token))) continue;
    if (token.kind === 'link') told.push([token.key, claims]);
  }
  await ends.withdraw(signOut);
  await marks.finish(signOut);
  for (const [key, claims] of told) await tellEnded(userOfKey(key), claims);
  return outcome;
}

interface OpenedToken {
  token: EndedToken;
  claims: Claims;
}

/** A token that no key opens is of no use to anybody. It may belong to another person of the same session. */
function openAll(tokens: readonly EndedToken[], seal: Seal): OpenedToken[] {
  return tokens.flatMap((token) => {
    const opened = seal.open(token.token, sealedRecord(token));
    return opened === null ? [] : [{ token, claims: claimsOfStoredToken(opened) }];
  });
}
