import type { ConfirmedAction, ToolAnswer } from '../../../agent/index.ts';
import type { Action } from '../../store/actions/actions.ts';
import { ClaimLost } from '../../store/failures.ts';
import { type ConfirmedCall, type Executed, executeConfirmed } from '../../tools/confirmed-call.ts';
import { openActionText, recordedSummary } from '../../tools/journal/action-record.ts';
import type { TurnJournal } from '../../tools/journal/turn-journal.ts';
import type { ToolRun } from '../../tools/perform-call.ts';
import type { ToolArguments } from '../../tools/tool.ts';
import type { Services } from '../services.ts';
import { settleAction } from '../settle-action.ts';
import type { Answering, Deduplicated, Locked, Resolved } from '../turn.ts';

type Uses = Pick<Services, 'store' | 'seal' | 'tools'>;

/** An action that the person has confirmed. `resumed`: an earlier run of this message has already started the call. */
interface Confirmed {
  action: Action;
  resumed: boolean;
}

/** A confirmed action whose call was made. */
export interface CarriedOut {
  action_id: string;
  /** The call and its answer, as the agent gets them. */
  told: ConfirmedAction;
}

/** The part of a run that makes the call. */
interface CarryingRun {
  tools: ToolRun;
  journal: Pick<TurnJournal, 'repeat' | 'finish'>;
}

/** The outcome of a confirmed action. */
type CarryOut =
  | ({ outcome: 'made' } & CarriedOut)
  /** The action is no longer pending. */
  | { outcome: 'gone' }
  /** The person stopped the answer before the call was begun. The action is as before. */
  | { outcome: 'stopped' }
  /**
   * Nothing was made, because the call would have other arguments than those that the person saw. If the call can be
   * made with these, the desk of the run keeps it, and the action is withdrawn when the new question is stored.
   * Otherwise the action has been withdrawn. `summary`: what the person had confirmed.
   */
  | { outcome: 'changed'; summary: string };

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
 * idempotent (agentd-agent(7), "Confirmation").
 * @throws ClaimLost
 */
export async function carryOut(
  { action, resumed }: Confirmed,
  turn: Answering & Deduplicated & Locked & Resolved,
  services: Uses,
  run: CarryingRun,
): Promise<CarryOut> {
  const { action_id, tool } = action;
  const summary = recordedSummary(services.seal, action);
  let isBegun = resumed;
  const begin = async () => {
    // If the store fails, it may have recorded the begin all the same.
    isBegun = true;
    isBegun = await settleAction(action, 'started', turn, services);
    return isBegun;
  };
  let executed: Executed | { outcome: 'stopped' };
  try {
    executed = resumed
      ? await resume(action, turn, services, run)
      : await call(action, services, run, { again: false, begin });
  } catch (error) {
    if (!turn.stopped?.hasEnded || error instanceof ClaimLost) throw error;
    executed = isBegun ? made(UNKNOWN) : { outcome: 'stopped' };
  }
  if (executed.outcome === 'made')
    return { outcome: 'made', action_id, told: { tool, summary, answer: executed.answer } };
  if (executed.outcome !== 'changed') return executed;
  const asked = executed.call === null ? null : await run.tools.confirmation?.ask(executed.call);
  const isPending = asked?.outcome === 'waits' || (await settleAction(action, 'withdrawn', turn, services));
  return isPending ? { outcome: 'changed', summary } : { outcome: 'gone' };
}

/**
 * Called if an earlier run of the message has started the confirmed action, and the process of that run died. Returns
 * the known answer of the call, or repeats the call if that is allowed.
 */
async function resume(
  action: Action,
  { principal }: Resolved,
  services: Uses,
  run: CarryingRun,
): Promise<Executed> {
  const known = openActionText(services.seal, action, 'answer');
  const tool = services.tools.tools().find(({ name }) => name === action.tool);
  if (known !== null && (action.state === 'done' || action.state === 'failed')) {
    // If the tool no longer exists, it is not known where its answer came from.
    if (tool?.source.foreign !== false) await run.tools.context?.taint.mark();
    return made(JSON.parse(known) as ToolAnswer);
  }
  // If somebody else has signed in since then, this person has not confirmed the action.
  if (!tool?.idempotent || action.person !== principal.person) return made(UNKNOWN);
  const outcome = await run.journal.repeat(action.action_id);
  if (outcome === 'lost') throw new ClaimLost();
  if (outcome === 'gone') return made(UNKNOWN);
  return call(action, services, run, { again: true, begin: async () => true });
}

async function call(
  action: Action,
  { seal, tools }: Uses,
  run: CarryingRun,
  { again, begin }: Pick<ConfirmedCall, 'again' | 'begin'>,
): Promise<Executed> {
  const { action_id, tool } = action;
  const stored = openActionText(seal, action, 'args');
  if (stored !== null) {
    const args = JSON.parse(stored) as ToolArguments;
    return executeConfirmed(tools.tools(), { action_id, tool, args, again, begin }, run.tools);
  }
  if (!(await begin())) return { outcome: 'gone' };
  const state = again ? 'unknown' : 'failed';
  await run.journal.finish(action_id, { state, status: null, answer: null });
  return made(again ? UNKNOWN : UNREADABLE);
}

function made(answer: ToolAnswer): Executed {
  return { outcome: 'made', answer };
}
