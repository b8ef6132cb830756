import type { ToolAnswer } from '../../agent/agent.ts';
import type { PersonKey } from '../../identity/identity.ts';
import type { Seal } from '../../identity/seal.ts';
import type { Action, ActionState } from '../../store/actions.ts';
import { openActionText, recordedSummary } from '../action-texts.ts';

/** A write of a turn, as a run of the turn knows it. */
export interface TurnWrite {
  readonly action_id: string;
  readonly tool: string;
  /** The summary, on one line of plain text. */
  readonly summary: string;
  /**
   * Whether its outcome may be shown: the write was made for the person of this run, or for a sender who was not signed
   * in.
   */
  readonly is_shown: boolean;
  /** Whether the person has confirmed it. The agent then gets it as `confirmed`. */
  readonly is_confirmed: boolean;
  state: ActionState;
  attempt: number;
  status: number | null;
  answer: ToolAnswer | null;
  /** Whether this run is sending it now. */
  is_being_sent: boolean;
}

/** A write that an earlier run of the turn recorded. */
export function recordedWrite(action: Action, person: PersonKey | null, seal: Seal): TurnWrite {
  const answer = openActionText(seal, action, 'answer');
  return {
    action_id: action.action_id,
    tool: action.tool,
    summary: recordedSummary(seal, action),
    is_confirmed: action.principal !== null,
    is_shown: action.person === null || action.person === person,
    state: action.state,
    attempt: action.attempt,
    status: action.status,
    answer: answer === null ? null : (JSON.parse(answer) as ToolAnswer),
    is_being_sent: false,
  };
}

/**
 * Whether the write may have been carried out, but its outcome is not known. If the process that started the write
 * died, the write stays `started`.
 */
export function isUnknown({ state }: Pick<TurnWrite, 'state'>): boolean {
  return state === 'started' || state === 'unknown';
}

/** The answer for an agent that makes the same write again. */
export function knownAnswer({ is_shown, state, answer }: TurnWrite): ToolAnswer {
  if (!is_shown)
    return failure('An earlier run of this message made this call for somebody else. It was not made again.');
  if (answer) return answer;
  return state === 'done'
    ? { ok: true, result: { message: 'This was done already. Its answer is no longer known.' } }
    : failure('This has failed already, and it was not tried again.');
}

function failure(message: string): ToolAnswer {
  return { ok: false, message };
}
