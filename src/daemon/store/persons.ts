import type { PersonKey } from '../identity/identity.ts';
import type { Session, StoredTurn } from '../session/session.ts';
import type { Action } from './actions.ts';
import type { InboxMessage } from './inbox.ts';
import type { Link } from './links.ts';

/**
 * Everything that is stored about a person or a platform's user (agentd-person(1)). Long-term memories are shown by a
 * separate store (`MemoryStore`). Lines of the audit log stay.
 */
export interface PersonStore {
  show(of: PersonSelector): Promise<PersonRecords>;
  /**
   * Deletes everything that `show` returns, and the memories that this store keeps, at once. Turns of other people in
   * shared threads stay. When it resolves, the files of the store contain none of this data, and the copies that the
   * store made of itself are gone.
   * @throws FilesNotRewritten
   */
  erase(of: PersonSelector): Promise<PersonRecords>;
}

/** Everything is deleted, but files of the store may still contain some of the data. The message says why. */
export class FilesNotRewritten extends Error {}

export type PersonSelector =
  /**
   * `link_keys`: the links that contain a token of the person. The store cannot find them itself, because the tokens
   * are sealed.
   */
  { person: PersonKey; link_keys: readonly string[] } | { platform: string; user_id: string };

export interface PersonRecords {
  sessions: PersonSession[];
  links: Link[];
  actions: Action[];
  inbox: InboxMessage[];
  /** The number of records of each other kind. */
  others: Record<OtherRecord, number>;
}

/** A session that the person or user opened, owns or wrote in. */
export interface PersonSession {
  session: Session;
  /** The turns of the person or user, oldest first. */
  turns: StoredTurn[];
  /** Other people wrote in it, too, so it stays, without the data that ties it to the person. */
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
 * How long ids of erased sessions and messages are remembered, ms. A run that was under way during the erasure stores
 * nothing in this time: not its turn, its trace, or the answer of its key.
 */
export const ERASED_MS = 60 * 60 * 1000;

/** Replaces the user id of the person who opened a shared thread. */
export const ERASED_USER = 'erased';

/** The total number of records. */
export function countRecords({ sessions, links, actions, inbox, others }: PersonRecords): number {
  const other = Object.values(others).reduce((sum, count) => sum + count, 0);
  return sessions.length + links.length + actions.length + inbox.length + other;
}
