import type { PersonKey } from '../../identity/identity.ts';
import type { Session } from '../../session/session.ts';

/** A session as its table holds it. */
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

export function sessionOf({
  generated,
  space,
  bound_user_id,
  bound_person,
  metadata,
  client,
  ...row
}: SessionRow): Session {
  return {
    ...row,
    namespace: space,
    ...(client === null ? {} : { client }),
    generated: generated === 1,
    credential_owner:
      bound_user_id === null || bound_person === null
        ? null
        : { user_id: bound_user_id, person: bound_person },
    metadata: JSON.parse(metadata) as Session['metadata'],
  };
}
