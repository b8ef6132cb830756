import type { Action, ActionState } from '../store/actions.ts';

/** A call that is still open after this time was sent by a process that died, ms. Calls end within two minutes. */
const STILL_RUNNING_MS = 150_000;

/** The outcome of a write that was sent, for people. It is unknown if the process that sent the write died. */
export type ActionOutcomeNow = 'running' | 'done' | 'failed' | 'unknown';

export function outcomeOf(
  { state, started_at }: Pick<Action, 'state' | 'started_at'>,
  now: number,
): ActionOutcomeNow {
  if (state === 'done' || state === 'failed') return state;
  const is_running = state === 'started' && (started_at ?? 0) > now - STILL_RUNNING_MS;
  return is_running ? 'running' : 'unknown';
}

/** States of an action that was not sent: the person was asked, and has not confirmed it. */
const NOT_SENT = ['pending', 'declined', 'withdrawn', 'expired'] as const satisfies readonly ActionState[];
export type NotSent = (typeof NOT_SENT)[number];

/** Why an action was not sent; null if it was. */
export function whyNotSent(
  { state, expires_at }: Pick<Action, 'state' | 'expires_at'>,
  now: number,
): NotSent | null {
  // A store may show all that it has of a person as it is stored, so the time of a pending action may have passed.
  if (state === 'pending') return (expires_at ?? 0) <= now ? 'expired' : 'pending';
  return NOT_SENT.find((one) => one === state) ?? null;
}
