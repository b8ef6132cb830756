import type { ConfirmedAction, ToolAnswer } from '../agent/agent.ts';
import { requestContext } from '../agent/context.ts';
import { summaryOf } from '../confirmation/summary-of.ts';
import type { TurnJournal } from '../journal/turn-journal.ts';
import type { Services } from '../services.ts';
import type { Action } from '../store/actions.ts';
import { ClaimLost } from '../store/claim-lost.ts';
import { actionTextRecord } from '../tools/action-texts.ts';
import { executeConfirmed, type ToolRun } from '../tools/bind-tools.ts';
import type { ToolArguments } from '../tools/tool.ts';
import type { Answering, Deduplicated, Locked, Resolved, Settlement } from './turn.ts';
import { turnKey } from './turn-key.ts';

type Confirmed = Extract<Settlement, { kind: 'confirmed' }>;

/** A confirmed action whose call was made. */
export interface CarriedOut {
  action_id: string;
  /** What the agent is told of it. */
  told: ConfirmedAction;
}

const UNKNOWN: ToolAnswer = {
  ok: false,
  message:
    'The service stopped while it did this. It is not known whether it was done, and it was not repeated. Say so to the person.',
};
const UNREADABLE: ToolAnswer = {
  ok: false,
  message: 'Nothing was done: the service cannot read any more what was to be done.',
};

/**
 * Makes the call that the person has confirmed, exactly as it was kept, and once (agentd-agent(7), "Confirmation"). To be
 * called within the request context, whose credentials it carries.
 * @returns null if it does not wait any more.
 * @throws ClaimLost
 */
export async function carryOut(
  { action, resumed }: Confirmed,
  turn: Answering & Deduplicated & Locked & Resolved,
  services: Services,
  run: ToolRun,
  journal: Pick<TurnJournal, 'repeat'>,
): Promise<CarriedOut | null> {
  const { action_id, tool } = action;
  const answer = resumed
    ? await resume(action, turn, services, run, journal)
    : await begin(action, turn, services, run);
  if (answer === null) return null;
  return { action_id, told: { tool, summary: summaryOf(action, services.seal), answer } };
}

async function begin(
  action: Action,
  turn: Answering & Deduplicated & Locked,
  services: Services,
  run: ToolRun,
): Promise<ToolAnswer | null> {
  const { actions } = services.store;
  const outcome = await actions.settle(turn.claim, action.action_id, 'started', turnKey(turn));
  if (outcome === 'lost') throw new ClaimLost();
  return outcome === 'gone' ? null : call(action, services, run, { again: false });
}

/** An earlier run of the message confirmed the action, and the process died: what is known of the call is the answer. */
async function resume(
  action: Action,
  { principal }: Resolved,
  services: Services,
  run: ToolRun,
  journal: Pick<TurnJournal, 'repeat'>,
): Promise<ToolAnswer> {
  const { action_id, answer } = action;
  const known = answer === null ? null : services.seal.open(answer, actionTextRecord(action_id, 'answer'));
  const tool = services.tools.tools().find(({ name }) => name === action.tool);
  if (known !== null && (action.state === 'done' || action.state === 'failed')) {
    // If the tool is gone, nobody can say where its answer came from.
    if (tool?.source.foreign !== false) await requestContext()?.memory?.noteForeignResult();
    return JSON.parse(known) as ToolAnswer;
  }
  // Who signed in since has not confirmed it.
  if (!tool?.idempotent || action.person !== principal.person) return UNKNOWN;
  const outcome = await journal.repeat(action_id);
  if (outcome === 'lost') throw new ClaimLost();
  return outcome === 'gone' ? UNKNOWN : call(action, services, run, { again: true });
}

async function call(
  { action_id, tool, args: stored }: Action,
  { seal, tools, store }: Services,
  run: ToolRun,
  { again }: { again: boolean },
): Promise<ToolAnswer> {
  const stored_args = seal.open(stored, actionTextRecord(action_id, 'args'));
  if (stored_args !== null) {
    const args = JSON.parse(stored_args) as ToolArguments;
    return executeConfirmed(tools.tools(), { action_id, tool, args, again }, run);
  }
  const attempt = (await store.actions.find(action_id))?.attempt ?? 1;
  const state = again ? 'unknown' : 'failed';
  await store.actions.finish(action_id, attempt, { state, status: null, answer: null });
  return again ? UNKNOWN : UNREADABLE;
}
