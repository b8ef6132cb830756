// The limits that every backend enforces.

export const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * How long a message of a platform is remembered, ms. A repeat within this time is recognized and gets the first
 * verdict.
 */
export const SEEN_MS = 7 * DAY_MS;

/**
 * Maximum number of messages in the inbox that are not done and have not failed. Beyond that, new messages are refused.
 */
export const INBOX_MAX = 100_000;
/** How long a message stays in the inbox after it is done, ms. */
export const DONE_MS = 7 * DAY_MS;
/** How long a failed message is kept, ms. */
export const FAILED_MS = 30 * DAY_MS;
/** Maximum number of failed messages. Beyond that, the oldest are deleted. */
export const FAILED_MAX = 10_000;

/** Maximum number of traces. Beyond that, the oldest are deleted, regardless of TRACE_RETENTION_DAYS. */
export const TRACES_MAX = 100_000;
/** Maximum number of traces of refused requests. Beyond that, the oldest are deleted. */
export const REFUSED_MAX = 10_000;

/** How long the record of an action is kept if ACTIONS_RETENTION_DAYS is not given, ms. */
export const ACTIONS_RETENTION_MS = 90 * DAY_MS;

/** Maximum number of inbox messages that a search returns. Beyond that, it returns the newest. */
export const INBOX_FOUND_MAX = 100;
/** Maximum number of traces that a lookup returns. Beyond that, it returns the newest. */
export const TRACES_FOUND_MAX = 200;
/** Maximum number of circuits, and of sessions, in a list of the guard. */
export const GUARD_LISTED_MAX = 1000;

/** Maximum number of memories of one owner. Beyond that, the least recently used memory is deleted. */
export const MEMORIES_MAX = 500;
