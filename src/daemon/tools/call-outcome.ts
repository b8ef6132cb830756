import type { ToolAnswer } from '../../agent/index.ts';
import type { ServerPage } from './answer.ts';
import type { WriteOutcome } from './journal/turn-journal.ts';

/** The outcome of a call: the answer to the agent, and what the trace and the journal record. */
export interface CallOutcome {
  answer: ToolAnswer;
  /** A stable word for the trace; absent if the call was made and succeeded. */
  reason?: string;
  /** The argument that caused a refusal, for the trace: its name, never its value. */
  argument?: string;
  /** What the journal records; absent if nothing was sent. */
  written?: Omit<WriteOutcome, 'answer'>;
  /** The record in the journal; absent if there is none. */
  action_id?: string;
  /** Set if the call was not made because the person must sign in first. */
  sign_in_needed?: true;
  /** Pages that the server asks the person to open. */
  pages?: readonly ServerPage[];
}

/** The outcome of a call that failed or was not made, with the reason. */
export type Refusal = CallOutcome & { answer: { ok: false; message: string }; reason: string };

/** The arguments do not fit. `message` names them in backticks, as `check-arguments.ts` does. */
export function invalidArguments(message: string): Refusal {
  const [, argument = ''] = /argument `([^`]*)`/.exec(message) ?? [];
  // A model may have written anything in place of the name of an argument.
  const isName = /^[A-Za-z0-9_.$[\]-]{1,64}$/.test(argument);
  return { ...refusal('invalid_arguments', message), ...(isName ? { argument } : {}) };
}

export function refusal(reason: string, message: string): Refusal {
  return { answer: { ok: false, message }, reason };
}

/** It cannot be found out whether the person is signed in, because the store cannot be reached. */
export const SESSION_UNREACHABLE = 'session_unreachable';

/** What the agent is told then, if the call needs the person's token. */
export const CANNOT_CHECK =
  'Nothing was done: it cannot be checked at the moment whether the person is signed in. Tell the person to try again later.';

/** The call needs the person's token, and there is no usable one. */
export function signInNeeded(reason: string): Refusal {
  if (reason === SESSION_UNREACHABLE) return refusal(reason, CANNOT_CHECK);
  const message =
    'Sign-in is needed for this: nothing was done. Tell the person that they must sign in first.';
  return { ...refusal(reason, message), sign_in_needed: true };
}
