import type { RunTaint } from '../agent/context.ts';
import type { StoredTurn } from '../session/session.ts';
import { closeTurnText } from '../session/turn-texts.ts';
import type { KeptCalls } from './kept-calls.ts';
import type { RunHistory } from './run-history.ts';
import type { RunState } from './run-state.ts';
import type { Services } from './services.ts';
import type { Answering, Resolved } from './turn.ts';

/** What a turn keeps about its run for later runs. */
export type RunRecord = Pick<StoredTurn, 'tainted' | 'calls' | 'calls_bytes' | 'state'>;

/** A state is stored again if it is in none of this many latest turns that the run may see. */
const STATE_TURNS = 25;

/** Makes the record of a run that has ended. Nothing is stored about calls and state if there are none. */
export function runRecord(
  { turn_id, principal: { person } }: Pick<Answering & Resolved, 'turn_id' | 'principal'>,
  { seal }: Pick<Services, 'seal'>,
  { taint, calls, state }: { taint: RunTaint; calls: KeptCalls; state: RunState },
  history: Pick<RunHistory, 'state'>,
): RunRecord {
  const turn = { turn_id, person };
  const next = state.changed ?? stateToRenew(history);
  return {
    tainted: taint.isTainted,
    ...(calls.all.length === 0 ? {} : { calls: closeTurnText(seal, turn, 'calls', calls.all) }),
    ...(calls.bytes === 0 ? {} : { calls_bytes: calls.bytes }),
    ...(next === null ? {} : { state: closeTurnText(seal, turn, 'state', next.value) }),
  };
}

/** Old turns leave the history. A state that is still in use is stored again before that. */
function stateToRenew({ state }: Pick<RunHistory, 'state'>): { value: unknown } | null {
  return state !== null && state.value !== null && state.turns_ago > STATE_TURNS ? state : null;
}
