import type { PersonKey } from '../identity/identity.ts';
import type { Session, StoredTurn } from '../session/session.ts';
import type { Action } from './actions.ts';
import type { InboxMessage } from './inbox.ts';
import type { Link } from './links.ts';

/**
 * Everything that is stored of a person, or of a platform's user (agentd-person(1)). Long-term memories are shown by a
 * store of their own (`MemoryStore`). Lines of the audit log stay.
 */
export interface PersonStore {
  show(of: PersonSelector): Promise<PersonRecords>;
  /**
   * Deletes what `show` returns, at once, with the memories that this store keeps. Turns of other people in shared threads stay.
   * When it resolves, no file of the store holds a byte of it, and the copies that the store made of itself are gone.
   * @throws FilesNotRewritten
   */
  erase(of: PersonSelector): Promise<PersonRecords>;
}

/** Everything is deleted, but files of the store may still hold bytes of it, for the reason that the message tells. */
export class FilesNotRewritten extends Error {}

export type PersonSelector =
  /** `link_keys`: the links that hold a token of the person. The tokens are sealed, so the store cannot know. */
  { person: PersonKey; link_keys: readonly string[] } | { platform: string; user_id: string };

export interface PersonRecords {
  sessions: PersonSession[];
  links: Link[];
  actions: Action[];
  inbox: InboxMessage[];
  /** How many records there are of each other kind. */
  others: Record<OtherRecord, number>;
}

/** A session that they opened or own, or in which they wrote. */
export interface PersonSession {
  session: Session;
  /** Their turns, oldest first. */
  turns: StoredTurn[];
  /** Other people wrote in it too: it stays, without what ties it to the person. */
  shared: boolean;
}

const OTHER_RECORDS = [
  'summaries',
  'traces',
  'streams',
  'answers',
  'seen_messages',
  'guard',
  'limits',
  'budgets',
] as const;
export type OtherRecord = (typeof OTHER_RECORDS)[number];

/**
 * For how long a run that was under way when its session or its message was erased stores nothing of it, ms: neither its
 * turn nor its trace, nor the answer of its key.
 */
export const ERASED_MS = 60 * 60 * 1000;

/** In the place of the user who opened a shared thread. */
export const ERASED_USER = 'erased';

/** How many records there are in all. */
export function countRecords({ sessions, links, actions, inbox, others }: PersonRecords): number {
  const other = Object.values(others).reduce((sum, count) => sum + count, 0);
  return sessions.length + links.length + actions.length + inbox.length + other;
}
