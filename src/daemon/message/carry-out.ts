import type { ConfirmedAction, ToolAnswer } from '../agent/agent.ts';
import { requestContext } from '../agent/context.ts';
import type { TurnJournal } from '../journal/turn-journal.ts';
import type { Services } from '../services.ts';
import type { Action } from '../store/actions.ts';
import { ClaimLost } from '../store/claim-lost.ts';
import { openActionText, recordedSummary } from '../tools/action-texts.ts';
import { executeConfirmed } from '../tools/bind-tools.ts';
import type { ToolArguments } from '../tools/tool.ts';
import type { ToolRun } from '../tools/tool-run.ts';
import type { Answering, Deduplicated, Locked, Resolved, Settlement } from './turn.ts';
import { turnKey } from './turn-key.ts';

type Confirmed = Extract<Settlement, { kind: 'confirmed' }>;

/** A confirmed action whose call was made. */
export interface CarriedOut {
  action_id: string;
  /** The call and its answer, as the agent gets them. */
  told: ConfirmedAction;
}

const UNKNOWN: ToolAnswer = {
  ok: false,
  message:
    'The service stopped while it did this. It is not known whether it was done, and it was not repeated. Tell the person.',
};
const UNREADABLE: ToolAnswer = {
  ok: false,
  message: 'Nothing was done: the service can no longer read the stored action.',
};

/**
 * Makes the call that the person has confirmed, exactly as it was stored. It is made only once, unless the tool is
 * idempotent (agentd-agent(7), "Confirmation"). This function must be called within the request context, because the
 * call uses the credentials of that context.
 * @returns null if the action is no longer pending.
 * @throws ClaimLost
 */
export async function carryOut(
  { action, resumed }: Confirmed,
  turn: Answering & Deduplicated & Locked & Resolved,
  services: Services,
  run: ToolRun,
  journal: Pick<TurnJournal, 'repeat' | 'finish'>,
): Promise<CarriedOut | null> {
  const { action_id, tool } = action;
  const answer = resumed
    ? await resume(action, turn, services, run, journal)
    : await begin(action, turn, services, run, journal);
  if (answer === null) return null;
  return { action_id, told: { tool, summary: recordedSummary(services.seal, action), answer } };
}

async function begin(
  action: Action,
  turn: Answering & Deduplicated & Locked,
  services: Services,
  run: ToolRun,
  journal: Pick<TurnJournal, 'finish'>,
): Promise<ToolAnswer | null> {
  const { actions } = services.store;
  const outcome = await actions.settle(turn.claim, action.action_id, 'started', turnKey(turn));
  if (outcome === 'lost') throw new ClaimLost();
  return outcome === 'gone' ? null : call(action, services, run, journal, { again: false });
}

/**
 * Called if an earlier run of the message has started the confirmed action, and the process of that run died. Returns
 * the known answer of the call, or repeats the call if that is allowed.
 */
async function resume(
  action: Action,
  { principal }: Resolved,
  services: Services,
  run: ToolRun,
  journal: Pick<TurnJournal, 'repeat' | 'finish'>,
): Promise<ToolAnswer> {
  const known = openActionText(services.seal, action, 'answer');
  const tool = services.tools.tools().find(({ name }) => name === action.tool);
  if (known !== null && (action.state === 'done' || action.state === 'failed')) {
    // If the tool no longer exists, it is not known where its answer came from.
    if (tool?.source.foreign !== false) await requestContext()?.taint.mark();
    return JSON.parse(known) as ToolAnswer;
  }
  // If somebody else has signed in since then, this person has not confirmed the action.
  if (!tool?.idempotent || action.person !== principal.person) return UNKNOWN;
  const outcome = await journal.repeat(action.action_id);
  if (outcome === 'lost') throw new ClaimLost();
  return outcome === 'gone' ? UNKNOWN : call(action, services, run, journal, { again: true });
}

async function call(
  action: Action,
  { seal, tools }: Services,
  run: ToolRun,
  journal: Pick<TurnJournal, 'finish'>,
  { again }: { again: boolean },
): Promise<ToolAnswer> {
  const { action_id, tool } = action;
  const stored = openActionText(seal, action, 'args');
  if (stored !== null) {
    const args = JSON.parse(stored) as ToolArguments;
    return executeConfirmed(tools.tools(), { action_id, tool, args, again }, run);
  }
  const state = again ? 'unknown' : 'failed';
  await journal.finish({ action_id, key: action_id }, { state, status: null, answer: null });
  return again ? UNKNOWN : UNREADABLE;
}
