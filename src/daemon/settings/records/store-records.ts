import type { SettingRecord } from '../../../channel/index.ts';

/** Stores, and what is kept in them for how long. */
export const STORE_RECORDS = [
  {
    name: 'SESSION_BACKEND',
    kind: 'choice',
    choices: ['sqlite', 'redis'],
    sentence:
      'Store of all shared state: sessions, links, guard, limits, streams, inbox. Unset: redis if REDIS_URL is set, else sqlite.',
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
      'always: what the daemon acknowledges was taken by a replica of Redis, or is on its disk; everysec: as the server persists by itself, so a crash may lose the last second.',
  },
  {
    name: 'SESSION_TTL_SECONDS',
    kind: 'integer',
    min: 1,
    max: 31_536_000,
    default: 86_400,
    unit: 'seconds',
    sentence: 'Life of a session after its last message.',
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
    sentence: 'How long the journal of actions is kept for `agentd actions list` and `my_actions`.',
  },
  {
    name: 'ANONYMOUS_STORE_BYTES',
    kind: 'integer',
    min: 1_048_576,
    max: 1_099_511_627_776,
    default: 1_073_741_824,
    unit: 'bytes',
    sentence:
      'Space for the sessions of anonymous web clients; past it, the longest idle sessions of the address that holds most are deleted first.',
  },
  {
    name: 'MEMORY_BACKEND',
    kind: 'choice',
    choices: ['sqlite', 'postgres', 'cloudsql', 'none'],
    sentence:
      'Store of long-term memory: `sqlite`, in the embedded database; `postgres` (`cloudsql` is another name), in the database of DATABASE_URL; `none`. Unset, `sqlite`; if state is in Redis, `postgres` with DATABASE_URL, else `none`.',
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
      "Runs of a platform's message that may fail for a reason that does not pass, or during which the daemon dies. After the last one the message fails.",
  },
  {
    name: 'INBOX_RUN_SECONDS',
    kind: 'integer',
    min: 1,
    max: 86_400,
    default: 900,
    unit: 'seconds',
    sentence:
      "How long after its first run began a platform's message is run again while the model or the store is out of reach or overloaded.",
  },
  {
    name: 'INBOX_SEND_SECONDS',
    kind: 'integer',
    min: 1,
    max: 604_800,
    default: 86_400,
    unit: 'seconds',
    sentence: 'How long after it was stored a reply is sent again that the platform has not taken.',
  },
] as const satisfies readonly SettingRecord[];
