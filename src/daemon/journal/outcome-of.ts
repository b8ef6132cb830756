import type { Action } from '../store/actions.ts';

/** A call that is still open after this time was sent by a process that died, ms. Calls end within two minutes. */
const STILL_RUNNING_MS = 150_000;

/** The outcome of a write, for people. It is unknown if the process that sent the write died. */
export type ActionOutcomeNow = 'running' | 'done' | 'failed' | 'unknown';

export function outcomeOf(
  { state, started_at }: Pick<Action, 'state' | 'started_at'>,
  now: number,
): ActionOutcomeNow {
  if (state === 'done' || state === 'failed') return state;
  const is_running = state === 'started' && (started_at ?? 0) > now - STILL_RUNNING_MS;
  return is_running ? 'running' : 'unknown';
}
