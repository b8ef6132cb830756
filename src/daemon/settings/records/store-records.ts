import { choice, flag, integer, text } from './record.ts';

/** Stores, and how long they keep data. */
export const STORE_RECORDS = {
  SESSION_BACKEND: choice(
    { choices: ['sqlite', 'redis', 'postgres'], example: 'redis', needed_for: ['store'] },
    'Store of all shared state: sessions, links, guard, limits, streams, inbox. `postgres` is the database of DATABASE_URL; see agentd-store(7), "Postgres". If unset: redis if REDIS_URL is set, otherwise sqlite.',
  ),
  REDIS_URL: text(
    { secret: true, example: 'redis://user:password@redis.internal:6379/0', needed_for: ['store'] },
    'Address of Redis (7.0 or newer) or Valkey: redis://, rediss:// (TLS), redis+sentinel://, redis+cluster:// or unix: (a socket); see agentd-store(7), "Redis".',
  ),
  REDIS_DURABILITY: choice(
    {
      choices: ['everysec', 'always'],
      default: 'everysec',
      needed_for: ['store'],
      synonyms: { DEFAULT: 'everysec' },
    },
    'always: before the daemon acknowledges a write, a replica of Redis has it, or it is on the disk of Redis. everysec: Redis writes to disk by itself, so that a crash may lose the last second.',
  ),
  SESSION_TTL_SECONDS: integer(
    { reload: true, min: 1, max: 31_536_000, default: 86_400, unit: 'seconds', shared: true },
    'How long a session lasts after its last message.',
  ),
  TRACE_RETENTION_DAYS: integer(
    { min: 1, max: 365, default: 7, unit: 'days', shared: true, needed_for: ['store'] },
    'How long the traces of turns are kept for `agentd explain`.',
  ),
  ACTIONS_RETENTION_DAYS: integer(
    { min: 1, max: 3650, default: 90, unit: 'days', shared: true, needed_for: ['store'] },
    'How long the journal of actions is kept for `agentd actions list` and `my_actions`. `my_actions` shows at most the last 90 days.',
  ),
  RECORD_RUNS: choice(
    { choices: ['off', 'all', 'flagged'], default: 'off' },
    'Records what runs of the agent see and say, sealed, for `agentd replay` and `agentd eval add`. flagged: a recording is deleted after 24 hours unless the run failed, had a warning, or its answer was marked. Needs a key that seals tokens.',
  ),
  RECORDINGS_MAX_BYTES: integer(
    {
      min: 1_048_576,
      max: 1_099_511_627_776,
      default: 1_073_741_824,
      unit: 'bytes',
      shared: true,
      needed_for: ['store'],
    },
    'Space for the recordings of runs. Beyond it, the oldest are deleted. Recordings are kept for TRACE_RETENTION_DAYS.',
  ),
  ANONYMOUS_STORE_BYTES: integer(
    { min: 1_048_576, max: 1_099_511_627_776, default: 1_073_741_824, unit: 'bytes' },
    'Space in the embedded store for what anonymous web clients have stored: sessions, answers under an Idempotency-Key, streams and traces. Beyond it, the longest idle are deleted, beginning with those of the client address that stores the most.',
  ),
  MEMORY_BACKEND: choice(
    { choices: ['sqlite', 'postgres', 'cloudsql', 'none'], needed_for: ['memory'] },
    'Store of long-term memory: `sqlite` (the embedded database), `postgres` or its other name `cloudsql` (the database of DATABASE_URL), or `none`. If unset: `sqlite`; or, if state is in Redis, `postgres` with DATABASE_URL and `none` without it.',
  ),
  DATABASE_URL: text(
    { secret: true, needed_for: ['store'] },
    'Postgres database of long-term memory: `postgres://user:password@host/name`, with `sslmode=verify-full` for TLS.',
  ),
  INBOX_MAX_ATTEMPTS: integer(
    { reload: true, min: 1, max: 100, default: 5, shared: true },
    "Maximum number of failed runs of a platform's message; after that, the message has failed. A run counts if it fails for a reason that is not temporary, or if the daemon dies during the run.",
  ),
  INBOX_RUN_SECONDS: integer(
    { reload: true, min: 1, max: 86_400, default: 900, unit: 'seconds', shared: true },
    "How long the daemon repeats the runs of a platform's message while the model or the store is overloaded or unreachable, counted from the start of the first run.",
  ),
  INBOX_SEND_SECONDS: integer(
    { reload: true, min: 1, max: 604_800, default: 86_400, unit: 'seconds', shared: true },
    'How long the daemon keeps trying to send a reply that the platform has not accepted, counted from the time when the reply was stored.',
  ),
  COLLECT_MS: integer(
    { min: 0, max: 10_000, default: 0, unit: 'ms', shared: true },
    'How long a message of a platform waits for further messages, counted from the newest message of its session. The messages that one person sends meanwhile are answered together. 0 answers each message by itself.',
  ),
  COLLECT_MAX_MS: integer(
    { min: 0, max: 60_000, default: 4000, unit: 'ms', shared: true },
    'How long a message of a platform waits for further messages at most. Only with COLLECT_MS.',
  ),
};

/** Limits, and the loop guard. */
export const LIMIT_RECORDS = {
  // Limits
  RATE_LIMIT_TOKEN_MAX: integer(
    { reload: true, min: 1, max: 1_000_000_000, default: 100, shared: true },
    'Maximum number of requests in the window for a person with a valid token.',
  ),
  RATE_LIMIT_ANONYMOUS_MAX: integer(
    { reload: true, min: 1, max: 1_000_000_000, default: 20, shared: true },
    'Maximum number of requests without a valid token in the window for a client address.',
  ),
  RATE_LIMIT_WINDOW_SECONDS: integer(
    { reload: true, min: 1, max: 86_400, default: 60, unit: 'seconds', shared: true },
    'Length of the sliding window of the rate limits.',
  ),

  // The loop guard
  LOOP_GUARD_ENABLED: flag(
    { reload: true, default: true, shared: true },
    'Blocks bursts, repetition and endless sessions; false lets every message through.',
  ),
  LOOP_GUARD_MAX_MESSAGES: integer(
    { reload: true, min: 1, max: 1_000_000_000, default: 5, shared: true },
    'Maximum number of messages of one user in the burst window; the next one is blocked.',
  ),
  LOOP_GUARD_WINDOW_SECONDS: integer(
    { reload: true, min: 1, max: 86_400, default: 10, unit: 'seconds', shared: true },
    'Length of the sliding burst window.',
  ),
  LOOP_GUARD_COOLDOWN_SECONDS: integer(
    { reload: true, min: 1, max: 86_400, default: 30, unit: 'seconds', shared: true },
    'How long all messages of a user are blocked after a burst or repetition.',
  ),
  LOOP_GUARD_MAX_TURNS_PER_SESSION: integer(
    { reload: true, min: 1, max: 1_000_000_000, default: 200, shared: true },
    'Maximum number of turns in one session; the next one is blocked until the session ends or is reset.',
  ),
  LOOP_GUARD_REPEAT_THRESHOLD: integer(
    { reload: true, min: 2, max: 1_000_000_000, default: 3, shared: true },
    'If one user sends this many equal texts in the repetition window, the last one is blocked.',
  ),
  LOOP_GUARD_REPEAT_WINDOW_SECONDS: integer(
    { reload: true, min: 1, max: 86_400, default: 60, unit: 'seconds', shared: true },
    'Length of the sliding repetition window.',
  ),
};
