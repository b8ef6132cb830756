import type { PersonKey } from '../daemon/identity/identity.ts';
import { printable } from '../daemon/printable.ts';
import { Secret } from '../daemon/secret.ts';
import type { ExpirySettings } from '../daemon/session/jwt-context.ts';
import type { Session, StoredTurn } from '../daemon/session/session.ts';
import { type SessionState, sessionState } from '../daemon/session/state.ts';
import { CliError } from './errors.ts';
import { EXIT } from './exit-codes.ts';
import { isoTime } from './time-words.ts';

/** A person as people read it; the claims that make one (decisions §3). */
export interface PersonView {
  sub: string;
  issuer: string | null;
  tenant_id: string | null;
}

/** A session as it is printed: everything but the token. Times are ISO 8601. */
export interface SessionView {
  session_id: string;
  platform: string;
  user_id: string;
  state: SessionState;
  turns: number;
  created_at: string;
  last_active_at: string;
  expires_at: string;
}

export function sessionView(session: Session, now: number, settings: ExpirySettings): SessionView {
  return {
    session_id: session.session_id,
    platform: session.platform,
    user_id: session.user_id,
    state: sessionState(session, now, settings),
    turns: session.turns,
    created_at: isoTime(session.created_at),
    last_active_at: isoTime(session.last_active_at),
    expires_at: isoTime(session.expires_at),
  };
}

/** Takes a person key apart again. */
export function personView(key: PersonKey | null): PersonView | null {
  if (key === null) return null;
  const [issuer, tenant, sub] = JSON.parse(key) as [string, string, string];
  return { sub, issuer: issuer || null, tenant_id: tenant || null };
}

export function personInWords(person: PersonView | null): string {
  if (person === null) return 'nobody';
  const { sub, issuer, tenant_id } = person;
  const of = [issuer && `issuer ${issuer}`, tenant_id && `tenant ${tenant_id}`].filter(Boolean).join(', ');
  return of ? `${sub} (${of})` : sub;
}

/** `jwt_context` without the token; a sealed one has no beginning worth showing. */
export function contextView(session: Session) {
  const context = session.metadata.jwt_context;
  if (!context) return null;
  const { token, ...rest } = context;
  return { ...rest, token_hint: token.startsWith('sealed.') ? 'sealed' : new Secret(token).hint() };
}

export function turnView({ person, started_at, finished_at, ...turn }: StoredTurn) {
  return {
    ...turn,
    person: personView(person),
    started_at: isoTime(started_at),
    finished_at: isoTime(finished_at),
  };
}

/** What every command says of an id that no session has. */
export function sessionNotFound(id: string): CliError {
  return new CliError(
    EXIT.no,
    `there is no session '${printable(id)}'`,
    'It may have ended or expired; `agentd sessions list` shows those there are, `agentd explain` also tells of ended ones.',
  );
}
