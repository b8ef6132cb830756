import { hash } from 'node:crypto';
import type { TokenOrigin } from '../../identity/identity.ts';
import type { LogoutClaims } from '../../identity/logout-token.ts';
import { DAY_MS } from '../bounds.ts';
import type { Kernel, Kind, Tx } from '../kernels/kernel.ts';
import { stepsOf } from '../steps-of.ts';

/**
 * Marks of sign-out at the site (agentd-identity(7), "Sign-out at the site"): which tokens are of no use anymore,
 * although they have not expired. Everything that uses a token asks for the marks, each time.
 *
 * Nobody can tell how long a token is valid that was never seen here, so the mark of a person is kept forever; it is one
 * small document for each person. Marks survive the erasure of the person, whose old tokens must not become usable
 * again. Therefore they hold only hashes and times.
 */
export interface SignOutMarkStore {
  /**
   * Stores the mark of a logout token, together with its `jti`; atomic, and on disk when it resolves. `repeated`: a
   * logout token with this `jti` was stored before, and nothing changes.
   */
  add(signOut: LogoutClaims): Promise<AddOutcome>;
  /** Records that everything that the mark covers was ended. */
  finish(signOut: Pick<LogoutClaims, 'iss' | 'jti'>): Promise<void>;
  /** Whether a mark covers a token with these claims (`isSignedOut`). */
  covers(token: TokenOrigin): Promise<boolean>;
}

/** `unfinished`: repeated, but it is not known whether everything that the mark covers was ended. */
export type AddOutcome = 'added' | 'unfinished' | 'repeated';

/** Covers the tokens of one person that were issued at `iat` or earlier. */
interface Mark {
  /** Hash of the tenant; null for every tenant. */
  tenant: string | null;
  /** Hash of the session at the site. Tokens of the person that name no session are covered, too. Null: every token. */
  sid: string | null;
  iat: number;
}

/** Maximum number of marks of one person. Beyond it, the oldest ones become wider, so that no token is forgotten. */
export const MARKS_MAX = 100;

/** How long a `jti` is remembered at least, whatever the clocks of the site and of the daemon are, ms. */
const JTI_MIN_MS = DAY_MS;
/** How long a `jti` is remembered at most. A later repeat marks nothing new, because `iat` is the same. */
const JTI_MAX_MS = 400 * DAY_MS;
/** How long a session's mark is kept beside that of its person, which covers the tokens of that person. */
const SID_MS = 400 * DAY_MS;

/** The marks of a person, by the hash of `iss` and `sub`. */
const SIGN_OUT_MARKS: Kind<{ marks: readonly Mark[] }> = {
  name: 'sign_out_marks',
  expires: () => null,
};

/** The mark of a session at the site, by the hash of `iss` and `sid`. It never ends if its person is not known. */
const SIGN_OUT_SID: Kind<{ iat: number; expires_at: number | null }> = {
  name: 'sign_out_sid',
  expires: ({ expires_at }) => expires_at,
};

/** The logout tokens that were stored, by the hash of `iss` and `jti`. */
const LOGOUT_TOKEN: Kind<{ expires_at: number; isFinished: boolean }> = {
  name: 'logout_token',
  expires: ({ expires_at }) => expires_at,
};

export function signOutMarkStore(kernel: Kernel): SignOutMarkStore {
  const step = stepsOf(kernel);
  return {
    add: step(add, { journal: true }),
    finish: step((tx, { iss, jti }) => {
      const known = hashIds(iss, jti);
      const found = tx.get(LOGOUT_TOKEN, known);
      if (found !== null) tx.put(LOGOUT_TOKEN, known, { ...found, isFinished: true });
    }),
    covers: step(isSignedOut),
  };
}

/**
 * Whether a mark covers a token with these claims. A token without `iat` may be older than any mark. A token that names
 * no session may belong to any session of its person.
 */
export function isSignedOut(tx: Tx, { iss = '', sub, tenant_id = '', sid, iat }: TokenOrigin): boolean {
  const isOlder = (mark: { iat: number }) => iat === undefined || iat <= mark.iat;
  const ofSession = sid === undefined ? null : tx.get(SIGN_OUT_SID, hashIds(iss, sid));
  const ofPerson = tx.get(SIGN_OUT_MARKS, hashIds(iss, sub))?.marks ?? [];
  if (ofSession !== null && isOlder(ofSession)) return true;
  return ofPerson.some(
    (mark) =>
      isOlder(mark) &&
      (mark.tenant === null || mark.tenant === hashIds(tenant_id)) &&
      (mark.sid === null || sid === undefined || mark.sid === hashIds(sid)),
  );
}

function add(tx: Tx, { iss, jti, iat, sub, tenant_id, sid, expires_at }: LogoutClaims): AddOutcome {
  const known = hashIds(iss, jti);
  const repeated = tx.get(LOGOUT_TOKEN, known);
  const person = sub === null ? null : hashIds(iss, sub);
  const marks = person === null ? [] : (tx.get(SIGN_OUT_MARKS, person)?.marks ?? []);
  const session = sid === null ? null : hashIds(iss, sid);
  const earlier = session === null ? null : tx.get(SIGN_OUT_SID, session);
  if (repeated !== null) return repeated.isFinished ? 'repeated' : 'unfinished';
  const until = Math.min(Math.max(expires_at, tx.now + JTI_MIN_MS), tx.now + JTI_MAX_MS);
  tx.put(LOGOUT_TOKEN, known, { expires_at: until, isFinished: false });
  if (person !== null) {
    const tenant = tenant_id === null ? null : hashIds(tenant_id);
    const mark: Mark = { tenant, sid: sid === null ? null : hashIds(sid), iat };
    tx.put(SIGN_OUT_MARKS, person, { marks: withMark(marks, mark) });
  }
  if (session !== null) {
    const endless = person === null || earlier?.expires_at === null;
    tx.put(SIGN_OUT_SID, session, {
      iat: Math.max(iat, earlier?.iat ?? iat),
      expires_at: endless ? null : tx.now + SID_MS,
    });
  }
  return 'added';
}

/** The marks with another one, without those that it makes superfluous. */
function withMark(marks: readonly Mark[], added: Mark): Mark[] {
  if (marks.some((mark) => includes(mark, added))) return [...marks];
  const kept = marks.filter((mark) => !includes(added, mark));
  if (kept.length < MARKS_MAX) return [...kept, added];
  const all = [...kept, added].sort((a, b) => a.iat - b.iat);
  const oldest = all.find(({ tenant, sid }) => tenant !== null || sid !== null) as Mark;
  const wider: Mark = oldest.sid === null ? { ...oldest, tenant: null } : { ...oldest, sid: null };
  return withMark(
    all.filter((mark) => mark !== oldest),
    wider,
  );
}

/** Whether every token that `inner` covers is also covered by `outer`. */
function includes(outer: Mark, inner: Mark): boolean {
  return (
    outer.iat >= inner.iat &&
    (outer.tenant === null || outer.tenant === inner.tenant) &&
    (outer.sid === null || outer.sid === inner.sid)
  );
}

/** A hash of ids that are stored nowhere else. */
export function hashIds(...ids: readonly string[]): string {
  return hash('sha256', JSON.stringify(ids), 'base64url');
}
