import type { Action } from '../store/actions.ts';

/** A call ends within its time limit, two minutes; one that was sent before that was sent by a process that died. */
const STILL_RUNNING_MS = 150_000;

/** What came of a write, for people: nobody knows it of one that was sent by a process that died. */
export type ActionOutcomeNow = 'running' | 'done' | 'failed' | 'unknown';

export function outcomeOf(
  { state, started_at }: Pick<Action, 'state' | 'started_at'>,
  now: number,
): ActionOutcomeNow {
  if (state === 'done' || state === 'failed') return state;
  const is_running = state === 'started' && (started_at ?? 0) > now - STILL_RUNNING_MS;
  return is_running ? 'running' : 'unknown';
}
