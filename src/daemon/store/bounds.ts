// What every backend bounds, and how.

const DAY_MS = 24 * 60 * 60 * 1000;

/** How long a platform's message is recognized when it comes again, and its first verdict stands. */
export const SEEN_MS = 7 * DAY_MS;

/** Messages of the inbox that have not ended, at most; beyond it none is taken. */
export const INBOX_MAX = 100_000;
/** How long a message of the inbox is kept after it was done. */
export const DONE_MS = 7 * DAY_MS;
/** How long a failed message is kept. */
export const FAILED_MS = 30 * DAY_MS;
/** Failed messages that are kept; beyond it the oldest are deleted. */
export const FAILED_MAX = 10_000;

/** Traces that are kept; beyond it the oldest are deleted, whatever TRACE_RETENTION_DAYS says. */
export const TRACES_MAX = 100_000;
/** The same for traces of refused requests. */
export const REFUSED_MAX = 10_000;

/** How long the record of an action is kept if ACTIONS_RETENTION_DAYS does not say. */
export const ACTIONS_RETENTION_MS = 90 * DAY_MS;

/** Messages of the inbox that one search returns: the newest. */
export const INBOX_FOUND_MAX = 100;
/** Traces that one look-up returns: the newest. */
export const TRACES_FOUND_MAX = 200;
/** Circuits, and sessions, that one list of the guard returns: the newest. */
export const GUARD_LISTED_MAX = 1000;

/** Memories of one owner; beyond it the one that was used longest ago is deleted. */
export const MEMORIES_MAX = 500;
