import type { Settings } from '../settings/settings.ts';
import type { GuardLimits } from './verdict.ts';

/** The settings of the loop guard, times in ms. */
export function guardLimits(settings: Settings): GuardLimits {
  return {
    max_messages: settings.LOOP_GUARD_MAX_MESSAGES,
    window_ms: settings.LOOP_GUARD_WINDOW_SECONDS * 1000,
    cooldown_ms: settings.LOOP_GUARD_COOLDOWN_SECONDS * 1000,
    max_turns: settings.LOOP_GUARD_MAX_TURNS_PER_SESSION,
    repeat_threshold: settings.LOOP_GUARD_REPEAT_THRESHOLD,
    repeat_window_ms: settings.LOOP_GUARD_REPEAT_WINDOW_SECONDS * 1000,
    session_ttl_ms: settings.SESSION_TTL_SECONDS * 1000,
  };
}
