import type { PersonKey } from '../../identity/identity.ts';
import type { Session } from '../../session/session.ts';

/** A session as it is stored in its table. */
export interface SessionRow {
  session_id: string;
  former_id: string | null;
  user_id: string;
  platform: string;
  space: string;
  generated: 0 | 1;
  owner: PersonKey | null;
  bound_user_id: string | null;
  bound_person: PersonKey | null;
  turns: number;
  created_at: number;
  last_active_at: number;
  expires_at: number;
  metadata: string;
  client: string | null;
}

export const SESSION_COLUMNS = `session_id, former_id, user_id, platform, space, generated, owner, bound_user_id, bound_person,
  turns, created_at, last_active_at, expires_at, metadata, client`;

export function rowOf({
  generated,
  credential_owner,
  namespace: space,
  metadata,
  client,
  ...session
}: Session): SessionRow {
  return {
    ...session,
    space,
    client: session.owner === null ? (client ?? null) : null,
    generated: generated ? 1 : 0,
    bound_user_id: credential_owner?.user_id ?? null,
    bound_person: credential_owner?.person ?? null,
    metadata: JSON.stringify(metadata),
  };
}

/**
 * Copies member by member: this function is called for each message and each tool call, and a spread would cost several
 * times as much.
 */
export function sessionOf(row: SessionRow): Session {
  const { bound_user_id, bound_person, client } = row;
  const session: Session = {
    session_id: row.session_id,
    former_id: row.former_id,
    user_id: row.user_id,
    platform: row.platform,
    namespace: row.space,
    generated: row.generated === 1,
    owner: row.owner,
    credential_owner:
      bound_user_id === null || bound_person === null
        ? null
        : { user_id: bound_user_id, person: bound_person },
    metadata: JSON.parse(row.metadata) as Session['metadata'],
    turns: row.turns,
    created_at: row.created_at,
    last_active_at: row.last_active_at,
    expires_at: row.expires_at,
  };
  if (client !== null) session.client = client;
  return session;
}
