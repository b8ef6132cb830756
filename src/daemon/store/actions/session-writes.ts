import type { Kind, Tx } from '../kernels/kernel.ts';

/** A write that was sent, or was about to be sent, in a session. Its key is the id of its record in the journal. */
interface SessionWrite {
  session_tag: string;
  serial: number;
  /** When its record in the journal is deleted, ms since the epoch. */
  expires_at: number;
}

/** Leads from a session to its writes, newest first. The journal itself is too large to be searched during a run. */
export const SESSION_WRITE: Kind<SessionWrite> = {
  name: 'session_write',
  expires: ({ expires_at }) => expires_at,
  indexes: ({ session_tag, serial }) => [[writesKey(session_tag), -serial]],
  isWide: () => true,
};

function writesKey(session_tag: string): string {
  return `writes of ${session_tag}`;
}

/** Records that a write is about to be sent. No effect if it belongs to no session. */
export function noteWrite(tx: Tx, action_id: string, session_tag: string | null, expires_at: number): void {
  if (session_tag === null) return;
  tx.put(SESSION_WRITE, action_id, { session_tag, serial: tx.serial(), expires_at });
}

/** The ids of the newest writes of a session, newest first. */
export function newestWrites(tx: Tx, session_tag: string, limit: number): string[] {
  return tx.first(SESSION_WRITE, writesKey(session_tag), limit).map(({ key }) => key);
}
