import type { SettingRecord } from '../../../channel/index.ts';

/** Stores, and how long they keep data. */
export const STORE_RECORDS = [
  {
    name: 'SESSION_BACKEND',
    kind: 'choice',
    choices: ['sqlite', 'redis', 'postgres'],
    sentence:
      'Store of all shared state: sessions, links, guard, limits, streams, inbox. `postgres` is the database of DATABASE_URL; see agentd-store(7), "Postgres". If unset: redis if REDIS_URL is set, otherwise sqlite.',
    example: 'redis',
  },
  {
    name: 'REDIS_URL',
    kind: 'string',
    secret: true,
    sentence:
      'Address of Redis (7.0 or newer) or Valkey: redis://, rediss:// (TLS), redis+sentinel://, redis+cluster:// or unix: (a socket); see agentd-store(7), "Redis".',
    example: 'redis://user:password@redis.internal:6379/0',
  },
  {
    name: 'REDIS_DURABILITY',
    kind: 'choice',
    choices: ['everysec', 'always'],
    default: 'everysec',
    sentence:
      'always: before the daemon acknowledges a write, a replica of Redis has it, or it is on the disk of Redis. everysec: Redis writes to disk by itself, so that a crash may lose the last second.',
  },
  {
    name: 'SESSION_TTL_SECONDS',
    kind: 'integer',
    min: 1,
    max: 31_536_000,
    default: 86_400,
    unit: 'seconds',
    sentence: 'How long a session lasts after its last message.',
  },
  {
    name: 'TRACE_RETENTION_DAYS',
    kind: 'integer',
    min: 1,
    max: 365,
    default: 7,
    unit: 'days',
    sentence: 'How long the traces of turns are kept for `agentd explain`.',
  },
  {
    name: 'ACTIONS_RETENTION_DAYS',
    kind: 'integer',
    min: 1,
    max: 3650,
    default: 90,
    unit: 'days',
    sentence:
      'How long the journal of actions is kept for `agentd actions list` and `my_actions`. `my_actions` shows at most the last 90 days.',
  },
  {
    name: 'ANONYMOUS_STORE_BYTES',
    kind: 'integer',
    min: 1_048_576,
    max: 1_099_511_627_776,
    default: 1_073_741_824,
    unit: 'bytes',
    sentence:
      'Space in the embedded store for what anonymous web clients have stored: sessions, answers under an Idempotency-Key, streams and traces. Beyond it, the longest idle are deleted, beginning with those of the client address that stores the most.',
  },
  {
    name: 'MEMORY_BACKEND',
    kind: 'choice',
    choices: ['sqlite', 'postgres', 'cloudsql', 'none'],
    sentence:
      'Store of long-term memory: `sqlite` (the embedded database), `postgres` or its other name `cloudsql` (the database of DATABASE_URL), or `none`. If unset: `sqlite`; or, if state is in Redis, `postgres` with DATABASE_URL and `none` without it.',
  },
  {
    name: 'DATABASE_URL',
    kind: 'string',
    secret: true,
    sentence:
      'Postgres database of long-term memory: `postgres://user:password@host/name`, with `sslmode=verify-full` for TLS.',
  },
  {
    name: 'INBOX_MAX_ATTEMPTS',
    kind: 'integer',
    min: 1,
    max: 100,
    default: 5,
    sentence:
      "Maximum number of failed runs of a platform's message; after that, the message has failed. A run counts if it fails for a reason that is not temporary, or if the daemon dies during the run.",
  },
  {
    name: 'INBOX_RUN_SECONDS',
    kind: 'integer',
    min: 1,
    max: 86_400,
    default: 900,
    unit: 'seconds',
    sentence:
      "How long the daemon repeats the runs of a platform's message while the model or the store is overloaded or unreachable, counted from the start of the first run.",
  },
  {
    name: 'INBOX_SEND_SECONDS',
    kind: 'integer',
    min: 1,
    max: 604_800,
    default: 86_400,
    unit: 'seconds',
    sentence:
      'How long the daemon keeps trying to send a reply that the platform has not accepted, counted from the time when the reply was stored.',
  },
] as const satisfies readonly SettingRecord[];

/** Limits, and the loop guard. */
export const LIMIT_RECORDS = [
  // Limits
  {
    name: 'RATE_LIMIT_TOKEN_MAX',
    kind: 'integer',
    min: 1,
    max: 1_000_000_000,
    default: 100,
    sentence: 'Maximum number of requests in the window for a person with a valid token.',
  },
  {
    name: 'RATE_LIMIT_ANONYMOUS_MAX',
    kind: 'integer',
    min: 1,
    max: 1_000_000_000,
    default: 20,
    sentence: 'Maximum number of requests without a valid token in the window for a client address.',
  },
  {
    name: 'RATE_LIMIT_WINDOW_SECONDS',
    kind: 'integer',
    min: 1,
    max: 86_400,
    default: 60,
    unit: 'seconds',
    sentence: 'Length of the sliding window of the rate limits.',
  },

  // The loop guard
  {
    name: 'LOOP_GUARD_ENABLED',
    kind: 'boolean',
    default: true,
    sentence: 'Blocks bursts, repetition and endless sessions; false lets every message through.',
  },
  {
    name: 'LOOP_GUARD_MAX_MESSAGES',
    kind: 'integer',
    min: 1,
    max: 1_000_000_000,
    default: 5,
    sentence: 'Maximum number of messages of one user in the burst window; the next one is blocked.',
  },
  {
    name: 'LOOP_GUARD_WINDOW_SECONDS',
    kind: 'integer',
    min: 1,
    max: 86_400,
    default: 10,
    unit: 'seconds',
    sentence: 'Length of the sliding burst window.',
  },
  {
    name: 'LOOP_GUARD_COOLDOWN_SECONDS',
    kind: 'integer',
    min: 1,
    max: 86_400,
    default: 30,
    unit: 'seconds',
    sentence: 'How long all messages of a user are blocked after a burst or repetition.',
  },
  {
    name: 'LOOP_GUARD_MAX_TURNS_PER_SESSION',
    kind: 'integer',
    min: 1,
    max: 1_000_000_000,
    default: 200,
    sentence:
      'Maximum number of turns in one session; the next one is blocked until the session ends or is reset.',
  },
  {
    name: 'LOOP_GUARD_REPEAT_THRESHOLD',
    kind: 'integer',
    min: 2,
    max: 1_000_000_000,
    default: 3,
    sentence: 'If one user sends this many equal texts in the repetition window, the last one is blocked.',
  },
  {
    name: 'LOOP_GUARD_REPEAT_WINDOW_SECONDS',
    kind: 'integer',
    min: 1,
    max: 86_400,
    default: 60,
    unit: 'seconds',
    sentence: 'Length of the sliding repetition window.',
  },
] as const satisfies readonly SettingRecord[];
