import type { PersonKey } from '../identity/identity.ts';
import type { Session, StoredTurn } from '../session/session.ts';
import type { Action } from './actions.ts';
import type { InboxMessage } from './inbox.ts';
import type { Link } from './links.ts';

/**
 * Everything that is stored about a person or a platform's user (agentd-person(1)), except for long-term memories,
 * which a separate store shows (`MemoryStore`). Lines of the audit log are not deleted.
 */
export interface PersonStore {
  show(of: PersonSelector): Promise<PersonRecords>;
  /**
   * Deletes everything that `show` returns, and the memories that this store keeps. The embedded store does this in one
   * step. Redis does it in several steps: if it is interrupted, a repeat finds the rest. If a turn was stored in a session
   * meanwhile, the session may be kept; it is then not in the result, and a repeat finds it. In shared threads, turns of
   * other people are not deleted. When it resolves, the files of the store contain none of the deleted data, and the
   * copies that the store made of itself are gone.
   * @throws FilesNotRewritten
   */
  erase(of: PersonSelector): Promise<PersonRecords>;
}

/** Everything is deleted, but files of the store may still contain some of the data. The error message says why. */
export class FilesNotRewritten extends Error {
  /** What an administrator can do about it. */
  readonly advice: string;

  constructor(message: string, advice: string) {
    super(message);
    this.advice = advice;
  }
}

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
  /** The number of records of every other kind. */
  others: Record<OtherRecord, number>;
}

/** A session that the person or user opened, owns or wrote in. */
export interface PersonSession {
  session: Session;
  /** The turns of the person or user, oldest first. */
  turns: StoredTurn[];
  /**
   * Other people wrote in the session, too. It is not deleted, but loses the data that ties it to the person or user.
   * Their data is not shown.
   */
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
 * How long ids of erased sessions and messages are remembered, ms. During this time, a run that was under way during
 * the erasure cannot store its turn, its trace, or the answer of its key.
 */
export const ERASED_MS = 60 * 60 * 1000;

/** The user id of a shared session after the person who opened it was erased. */
export const ERASED_USER = 'erased';

/** Stands for the id of somebody else who opened a shared session, where a person's data is shown. */
export const OTHER_USER = 'another user';

/** The total number of records. */
export function countRecords({ sessions, links, actions, inbox, others }: PersonRecords): number {
  const other = Object.values(others).reduce((sum, count) => sum + count, 0);
  return sessions.length + links.length + actions.length + inbox.length + other;
}
