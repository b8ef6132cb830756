import type { Action, ActionState } from '../../store/actions.ts';

/**
 * How long a call that was sent may have no outcome, ms. After that, the process that sent it must have died, because
 * calls end within two minutes.
 */
const STILL_RUNNING_MS = 150_000;

/** The outcome of a write that was sent, as people see it. `unknown` if the process that sent the write died. */
export type ActionOutcomeNow = 'running' | 'done' | 'failed' | 'unknown';

export function outcomeOf(
  { state, started_at }: Pick<Action, 'state' | 'started_at'>,
  now: number,
): ActionOutcomeNow {
  if (state === 'done' || state === 'failed') return state;
  const is_running = state === 'started' && (started_at ?? 0) > now - STILL_RUNNING_MS;
  return is_running ? 'running' : 'unknown';
}

/** The states of an action that was not sent: the person was asked to confirm it, and has not confirmed it. */
const NOT_SENT = ['pending', 'declined', 'withdrawn', 'expired'] as const satisfies readonly ActionState[];
export type NotSent = (typeof NOT_SENT)[number];

/** Why an action was not sent; null if it was sent. */
export function whyNotSent(
  { state, expires_at }: Pick<Action, 'state' | 'expires_at'>,
  now: number,
): NotSent | null {
  // A store may return all data of a person without checking expiry, so a pending action may have expired.
  if (state === 'pending') return (expires_at ?? 0) <= now ? 'expired' : 'pending';
  return NOT_SENT.find((one) => one === state) ?? null;
}
