import { byPerson, parsePersonKey } from '../../identity/identity.ts';
import type { LogoutClaims } from '../../identity/logout-token.ts';
import { sessionTag } from '../../session/session.ts';
import { pendingActionsFor, withdrawActions } from '../actions/questions.ts';
import type { Kernel, Tx } from '../kernels/kernel.ts';
import { type StoredToken, tokensOfCode, tokensOfSession } from '../persons/stored-tokens.ts';
import { findSession, putSession, SESSION } from '../sessions/session-document.ts';
import { stepsOf } from '../steps-of.ts';
import { endCode, LINK_CODE } from './link-codes.ts';
import { LINK, linksBy, removeLink, userOfKey } from './links.ts';
import { personsOfSiteSession } from './site-sessions.ts';

/**
 * Ends what stores tokens of a person who has signed out at the site. Marks already keep these tokens from being used;
 * this removes them, so that nobody is shown as signed in. Which tokens a mark covers is decided by the layer above,
 * because they are sealed.
 */
export interface SignOutEndStore {
  /**
   * The stored tokens of links, sessions and open codes of this person, in every tenant; if the sign-out names no
   * person, of the persons that are noted for its session.
   */
  tokensOf(signOut: Pick<LogoutClaims, 'iss' | 'sub' | 'sid'>): Promise<EndedToken[]>;
  /**
   * Removes a link, empties the stored context of a session, or ends a code, if it still has this token; pending actions
   * of its person there are withdrawn. False if it has another token, or is gone.
   */
  end(token: EndedToken): Promise<boolean>;
  /**
   * Withdraws the pending actions of the person, except those in sessions that store a token of the person: after `end`,
   * that token is newer, or of another session at the site.
   */
  withdraw(signOut: Pick<LogoutClaims, 'iss' | 'sub' | 'tenant_id'>): Promise<void>;
}

export type EndedToken = Extract<StoredToken, { kind: 'link' | 'session' | 'code' }>;

/** Maximum number of records of one person that a step reads. */
const READ_MAX = 10_000;

export function signOutEndStore(kernel: Kernel): SignOutEndStore {
  const step = stepsOf(kernel);
  return {
    tokensOf: step((tx, { iss, sub, sid }) => {
      const persons = sub === null ? personsOfSiteSession(tx, iss, sid ?? '') : [byPerson(iss, sub)];
      return persons.flatMap((person) => listTokens(tx, person));
    }),
    end: step(end),
    withdraw: step((tx, { iss, sub, tenant_id }) => {
      if (sub === null) return;
      for (const { action_id, person, session_tag } of pendingActionsFor(tx, byPerson(iss, sub))) {
        if (person === null || (tenant_id !== null && parsePersonKey(person).tenant_id !== tenant_id))
          continue;
        const session = session_tag === null ? null : findSession(tx, session_tag)?.session;
        if (session?.credential_owner?.person !== person) withdrawActions(tx, { action_id });
      }
    }),
  };
}

function listTokens(tx: Tx, person: string): EndedToken[] {
  const links = linksBy(tx, person).map(({ key, token }) => ({ kind: 'link' as const, key, token }));
  const sessions = tx.first(SESSION, person, READ_MAX).flatMap(({ doc }) => tokensOfSession(doc.session));
  const codes = tx.first(LINK_CODE, person, READ_MAX).flatMap(({ doc }) => tokensOfCode(doc));
  return [...links, ...sessions, ...codes];
}

function end(tx: Tx, ended: EndedToken): boolean {
  switch (ended.kind) {
    case 'link': {
      const link = tx.get(LINK, ended.key);
      if (link?.token !== ended.token) return false;
      withdrawActions(tx, userOfKey(ended.key));
      removeLink(tx, link);
      return true;
    }
    case 'session': {
      const stored = tx.get(SESSION, ended.tag);
      if (stored?.session.metadata.jwt_context?.token !== ended.token) return false;
      const person = stored.session.credential_owner?.person ?? null;
      withdrawActions(tx, { session_tag: sessionTag(stored.session), of: person });
      putSession(tx, { ...stored, session: { ...stored.session, metadata: {}, credential_owner: null } });
      return true;
    }
    case 'code': {
      if (tx.get(LINK_CODE, ended.code_id)?.[ended.field] !== ended.token) return false;
      endCode(tx, ended.code_id);
      return true;
    }
  }
}
