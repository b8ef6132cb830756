import type { ConfirmedAction, ToolAnswer } from '../../../agent/index.ts';
import { findSendersLink } from '../../linking/find-link.ts';
import type { Action } from '../../store/actions/actions.ts';
import { ClaimLost } from '../../store/failures.ts';
import { chooseCredentials } from '../../tools/choose-credential.ts';
import { type ConfirmedCall, type Executed, executeConfirmed } from '../../tools/confirmed-call.ts';
import { openActionText, recordedSummary } from '../../tools/journal/action-record.ts';
import type { TurnJournal } from '../../tools/journal/turn-journal.ts';
import type { ToolRun } from '../../tools/perform-call.ts';
import type { ToolArguments } from '../../tools/tool.ts';
import type { Run } from '../run/run.ts';
import type { RunServices, Services } from '../services.ts';
import { answerQuestion, settleAction } from '../settle-action.ts';
import type { Answering, Deduplicated, Locked, Resolved, Runnable, Settlement } from '../turn.ts';

/** A confirmed action whose call was made. */
export interface CarriedOut {
  action_id: string;
  /** The call and its answer, as the agent gets them. */
  told: ConfirmedAction;
}

/** A confirmed action whose call was not made. */
export interface LeftOut {
  /** Name of the tool. */
  tool: string;
  summary: string;
  cause: Cause;
}

/**
 * Why a confirmed call was not made. `changed`: it, or one before it, would have other arguments than those that the
 * person saw. If the call can be made with these, the desk of the run keeps it.
 */
type Cause = 'earlier_action' | 'sign_in' | 'token_expired' | 'stopped' | 'changed';

/** What became of the confirmed actions. Both lists are in the order of the question. */
export interface CarriedOutAll {
  made: readonly CarriedOut[];
  left_out: readonly LeftOut[];
}

/** What the agent is told about an action that was left out. */
export const NOT_MADE: ToolAnswer = {
  ok: false,
  message:
    'Nothing was done: an earlier action did not succeed, or the person is no longer signed in as before.',
};
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
 * Makes the calls that the person has confirmed, one after the other, in the order in which they were shown. Before
 * each, the person, the link and the token are looked at again. After a call that did not succeed, or whose outcome is
 * unknown, the rest is not made: the person did not agree to a part of it.
 * @returns `gone` if the question is no longer open. `token_expired` if the token expired while the message waited for its
 *   run: nothing is recorded, and the question stays open.
 * @throws ClaimLost
 */
export async function carryOutAll(
  { confirmed, declined, resumed }: Settlement,
  turn: Runnable,
  services: RunServices,
  run: Run,
): Promise<CarriedOutAll | 'gone' | 'token_expired'> {
  let isRecorded = resumed;
  let isOpen = true;
  // The answer is recorded with the begin of the first call: nothing can happen between them.
  const begin = async (begun?: Action) => {
    if (isRecorded) return begun !== undefined && settleAction(begun, 'started', turn, services);
    isRecorded = true;
    isOpen = await answerQuestion({ confirmed, declined }, turn, services, begun);
    return isOpen;
  };
  const made: CarriedOut[] = [];
  const left_out: LeftOut[] = [];
  let cause: Cause | null = null;
  for (const action of confirmed) {
    cause ??= await whyNot(action, turn, services, run);
    if (cause === 'token_expired' && !isRecorded) return cause;
    const done: CarriedOut | Cause =
      cause !== null && cause !== 'changed'
        ? cause
        : await carryOut(action, cause === 'changed' ? 'ask_again' : begin, turn, services, run);
    if (!isRecorded) await begin();
    if (!isOpen) return 'gone';
    if (typeof done === 'object') {
      made.push(done);
      if (!hasSucceeded(done, run)) cause = 'earlier_action';
    } else {
      cause = done;
      await settleAction(action, 'withdrawn', turn, services);
      left_out.push({ tool: action.tool, summary: recordedSummary(services.seal, action), cause });
    }
  }
  return { made, left_out };
}

/** Why an action is not carried out; null if it is. Throws if the run has ended, so that a repeated run continues. */
async function whyNot(
  action: Action,
  turn: Runnable,
  services: RunServices,
  run: Run,
): Promise<Cause | null> {
  if (turn.stopped?.hasEnded) return 'stopped';
  run.limit.throwIfEnded();
  // The outcome of a call that was sent is told in any case.
  if (wasSent(action)) return null;
  if (action.state === 'withdrawn') return 'earlier_action';
  // An answer holds as long as its question: a run that is repeated much later does not continue.
  if (action.state === 'confirmed' && (action.expires_at ?? 0) <= services.clock.now())
    return 'earlier_action';
  return whyNotTheirs(action, turn, services, run);
}

/** Whether an earlier run of this message has begun the call. */
function wasSent({ started_at }: Action): boolean {
  return started_at !== null;
}

function hasSucceeded({ action_id, told }: CarriedOut, { journal }: Run): boolean {
  const write = journal.written.find((known) => known.action_id === action_id);
  return told.answer.ok && write?.state === 'done';
}

/**
 * Null if the sender is still the person, or the platform's user without one, who was asked: the link is read again, and
 * so are the token and its expiry.
 */
async function whyNotTheirs(
  { person }: Action,
  { channel, message, request_id }: Runnable,
  services: RunServices,
  { tools: { context, access } }: Run,
): Promise<'sign_in' | 'token_expired' | null> {
  if (person !== null) {
    if (context?.acts_for !== person) return 'sign_in';
    const chosen = await chooseCredentials(context, access, 'none');
    if (chosen.use === 'user') return null;
    return chosen.reason === 'stored_token_expired' ? 'token_expired' : 'sign_in';
  }
  if (!channel.has_platform) return 'sign_in';
  const link = await findSendersLink(services, channel, message);
  if (link === 'other_sender') return 'sign_in';
  const isLinked = link !== null && (await services.tokens.validate(link.token, request_id)).valid;
  return isLinked ? 'sign_in' : null;
}

type Uses = Pick<Services, 'store' | 'seal' | 'tools'>;

/** The part of a run that makes the call. */
interface CarryingRun {
  tools: ToolRun;
  journal: Pick<TurnJournal, 'repeat' | 'finish'>;
}

/**
 * Makes a call that the person has confirmed, exactly as it was stored. It is made only once, unless the tool is
 * idempotent (agentd-agent(7), "Confirmation").
 * @param start records that the call begins. `ask_again`: a call before it was not made because its arguments have
 *   changed, so neither is this one, and the person is asked about both.
 * @throws ClaimLost
 */
export async function carryOut(
  action: Action,
  start: ((begun: Action) => Promise<boolean>) | 'ask_again',
  turn: Answering & Deduplicated & Locked & Resolved,
  services: Uses,
  run: CarryingRun,
): Promise<CarriedOut | Cause> {
  const { action_id, tool } = action;
  let isBegun = wasSent(action);
  const begin = async () => {
    if (start === 'ask_again') return false;
    // If the store fails, it may have recorded the begin all the same.
    isBegun = true;
    isBegun = await start(action);
    return isBegun;
  };
  let executed: Executed;
  try {
    executed = isBegun
      ? await resume(action, turn, services, run)
      : await call(action, services, run, { again: false, begin });
  } catch (error) {
    if (!turn.stopped?.hasEnded || error instanceof ClaimLost) throw error;
    if (!isBegun) return 'stopped';
    executed = made(UNKNOWN);
  }
  if (executed.outcome === 'made')
    return {
      action_id,
      told: { tool, summary: recordedSummary(services.seal, action), answer: executed.answer },
    };
  // The session has ended.
  if (executed.outcome === 'gone' && start !== 'ask_again') return 'sign_in';
  if (executed.call !== null) await run.tools.confirmation?.ask(executed.call);
  return 'changed';
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
  const { action_id, tool, tool_digest } = action;
  const stored = openActionText(seal, action, 'args');
  if (stored !== null) {
    const args = JSON.parse(stored) as ToolArguments;
    return executeConfirmed(tools.tools(), { action_id, tool, tool_digest, args, again, begin }, run.tools);
  }
  if (!(await begin())) return { outcome: 'gone', call: null };
  const state = again ? 'unknown' : 'failed';
  await run.journal.finish(action_id, { state, status: null, answer: null });
  return made(again ? UNKNOWN : UNREADABLE);
}

function made(answer: ToolAnswer): Executed {
  return { outcome: 'made', answer };
}
