import type {
  Circuit,
  GuardedMessage,
  GuardLimits,
  GuardUser,
  GuardVerdict,
  SessionTurns,
} from '../guard/verdict.ts';

/** The loop guard's counters (agentd-message(7), "Loop guard"). The rules are in src/daemon/guard. */
export interface GuardStore {
  /**
   * Judges a message and counts it in all layers, in one atomic step. Exact even if many daemons ask at the same time.
   *
   * For a message with an id, the verdict and the counts are durable when it resolves. If the id was checked within the
   * last 7 days, the message gets its first verdict again and is not counted.
   *
   * For a message without an id, the verdict and the counts are durable with the next commit of the store. Therefore,
   * data that a request stores after the check is never durable without them, unless a commit failed in between. A
   * crash may lose the counts of requests that had stored nothing yet.
   *
   * For messages that are acknowledged before they are answered, see `InboxStore.screen`.
   */
  check(message: GuardedMessage, limits: GuardLimits): Promise<GuardVerdict>;
  /**
   * Subtracts one turn from the count of a session, because a message passed the guard but did not run in this session.
   */
  giveBackTurn(session_tag: string): Promise<void>;
  /**
   * The circuits that are open now, most recently opened first, and the sessions with blocked messages, latest end
   * first; at most 1000 of each.
   */
  list(): Promise<GuardList>;
  /**
   * Closes the circuits of a channel's user and empties the user's windows. This applies to everybody with that
   * `user_id`, and to the person with that `sub`. False if the guard stores nothing about them.
   */
  resetUser(platform: string, user: string): Promise<boolean>;
  /**
   * Resets the count of a session's turns to 0. The session is named by one of its two ids. False if there is no count.
   * The count also ends with its session.
   */
  resetSession(session_id: string): Promise<boolean>;
  /**
   * Closes all circuits, empties all windows, and resets all counts of turns to 0. Verdicts that were given are kept.
   */
  resetAll(): Promise<void>;
}

export interface GuardList {
  circuits: (Omit<GuardUser, 'key'> & Circuit)[];
  sessions: (SessionTurns & { session_id: string })[];
}
