import type { ToolAnswer } from '../agent/agent.ts';
import type { WriteOutcome } from './call-journal.ts';
import type { ServerPage } from './show-pages.ts';

/** The outcome of a call: the answer to the agent, and what the trace and the journal record. */
export interface CallOutcome {
  answer: ToolAnswer;
  /** A stable word for the trace; absent if the call was made and succeeded. */
  reason?: string;
  /** What the journal records; absent if nothing was sent. */
  written?: Omit<WriteOutcome, 'answer'>;
  /** The record in the journal; absent if there is none. */
  action_id?: string;
  /** Pages that the server asks the person to open. */
  pages?: readonly ServerPage[];
}

/** The outcome of a call that failed or was not made, with the reason. */
export type Refusal = CallOutcome & { answer: { ok: false; message: string }; reason: string };

export function refusal(reason: string, message: string): Refusal {
  return { answer: { ok: false, message }, reason };
}

/** The call needs the person's token, and there is no usable one. */
export function signInNeeded(reason: string): Refusal {
  return refusal(
    reason,
    'Sign-in is needed for this: nothing was done. Tell the person that they must sign in first.',
  );
}
