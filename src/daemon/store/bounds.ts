// The limits that every backend enforces.

const DAY_MS = 24 * 60 * 60 * 1000;

/** How long a repeated message of a platform is recognized, and gets its first verdict. */
export const SEEN_MS = 7 * DAY_MS;

/** Maximum number of messages in the inbox that have not ended. Beyond that, new messages are refused. */
export const INBOX_MAX = 100_000;
/** How long a message of the inbox is kept after it is done. */
export const DONE_MS = 7 * DAY_MS;
/** How long a failed message is kept. */
export const FAILED_MS = 30 * DAY_MS;
/** Maximum number of failed messages. Beyond that, the oldest are deleted. */
export const FAILED_MAX = 10_000;

/** Maximum number of traces. Beyond that, the oldest are deleted, regardless of TRACE_RETENTION_DAYS. */
export const TRACES_MAX = 100_000;
/** The same for traces of refused requests. */
export const REFUSED_MAX = 10_000;

/** How long the record of an action is kept if ACTIONS_RETENTION_DAYS is not given. */
export const ACTIONS_RETENTION_MS = 90 * DAY_MS;

/** Maximum number of messages of the inbox that a search returns: the newest. */
export const INBOX_FOUND_MAX = 100;
/** Maximum number of traces that a lookup returns: the newest. */
export const TRACES_FOUND_MAX = 200;
/** Maximum number of circuits, and of sessions, that a list of the guard returns: the newest. */
export const GUARD_LISTED_MAX = 1000;

/** Maximum number of memories of one owner. Beyond that, the least recently used one is deleted. */
export const MEMORIES_MAX = 500;
