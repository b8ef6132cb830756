import type { SettingRecord } from '../../../channel/index.ts';

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
