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
   * Judges a message and counts it, in all layers in one step, exactly, however many daemons ask at the same time.
   * A message with an id that was checked within the last 7 days gets its first verdict again, and counts for nothing:
   * its verdict and count are durable when it resolves. Those of a message without an id are durable with the next commit
   * of the store: what a request stores after the check is never durable without them, unless a commit failed in between.
   * A crash may forget those of requests that had stored nothing yet. For messages that are acknowledged before they are
   * answered, see `InboxStore.screen`.
   */
  check(message: GuardedMessage, limits: GuardLimits): Promise<GuardVerdict>;
  /** Takes back the turn of a message that passed and then did not run in this session. */
  giveBackTurn(session_tag: string): Promise<void>;
  /** Circuits that are open now, and sessions that messages were blocked in; at most 1000 each, newest first. */
  list(): Promise<GuardList>;
  /**
   * Closes the circuits of a user of a channel and empties their windows: of everyone with that `user_id`, and
   * of a person with that `sub`. False if the guard has not met them lately.
   */
  resetUser(platform: string, user: string): Promise<boolean>;
  /** Counts a session's turns from 0 again, named by either of its ids; false if none are counted. The count also ends with its session. */
  resetSession(session_id: string): Promise<boolean>;
  /** Closes all circuits, empties all windows, counts all turns from 0; verdicts that were given stay. */
  resetAll(): Promise<void>;
}

export interface GuardList {
  circuits: (Omit<GuardUser, 'key'> & Circuit)[];
  sessions: (SessionTurns & { session_id: string })[];
}
