import type { ToolAnswer } from '../../../agent/index.ts';
import { findSendersLink } from '../../linking/find-link.ts';
import type { Action } from '../../store/actions/actions.ts';
import { chooseCredentials } from '../../tools/choose-credential.ts';
import { recordedSummary } from '../../tools/journal/action-record.ts';
import type { Run } from '../run/run.ts';
import type { RunServices } from '../services.ts';
import { answerQuestion, settleAction } from '../settle-action.ts';
import type { Runnable, Settlement } from '../turn.ts';
import { type CarriedOut, carryOut } from './carry-out.ts';

type Confirmed = Extract<Settlement, { kind: 'confirmed' }>;

/** A confirmed action whose call was not made, because it was not its turn any more. */
export interface LeftOut {
  /** Name of the tool. */
  tool: string;
  summary: string;
  cause: 'earlier_action' | 'sign_in' | 'stopped';
}

/** The outcome of an answer that confirms actions. */
type CarryOutAll =
  /**
   * Some calls were made, or none if all were left out. Both lists are in the order of the question. Both are empty if
   * the person stopped the answer before the only call: its action still waits.
   */
  | { outcome: 'made'; made: readonly CarriedOut[]; left_out: readonly LeftOut[] }
  /** The question is no longer open. */
  | { outcome: 'gone' }
  /** As for `carryOut`: only if the question has a single action. */
  | { outcome: 'changed'; summary: string };

/**
 * Makes the calls that the person has confirmed, one after the other, in the order in which they were shown. Before
 * each, the person, the link and the token are looked at again. After a call that did not succeed, or whose outcome is
 * unknown, the rest is not made: the person did not agree to a part of it.
 * @throws ClaimLost
 */
export async function carryOutAll(
  confirmed: Confirmed,
  turn: Runnable,
  services: RunServices,
  run: Run,
): Promise<CarryOutAll> {
  const { actions, declined, resumed } = confirmed;
  const [only] = actions;
  if (only !== undefined && only.question === undefined) {
    if (!resumed && !(await isStillTheirs(only, turn, services, run))) {
      await settleAction(only, 'withdrawn', turn, services);
      return { outcome: 'made', made: [], left_out: [leftOut(only, 'sign_in', services)] };
    }
    const done = await carryOut({ action: only, resumed }, turn, services, run);
    if (done.outcome === 'stopped') return { outcome: 'made', made: [], left_out: [] };
    return done.outcome === 'made' ? { outcome: 'made', made: [done], left_out: [] } : done;
  }
  if (!resumed && !(await answerQuestion({ confirmed: actions, declined }, turn, services)))
    return { outcome: 'gone' };
  const made: CarriedOut[] = [];
  const left_out: LeftOut[] = [];
  let cause: LeftOut['cause'] | null = null;
  for (const action of actions) {
    cause ??= await whyNot(action, turn, services, run);
    const done = cause === null ? await carryOutOne(action, turn, services, run) : null;
    if (done === null) {
      cause ??= turn.stopped?.hasEnded ? 'stopped' : 'sign_in';
      await settleAction(action, 'withdrawn', turn, services);
      left_out.push(leftOut(action, cause, services));
      continue;
    }
    made.push(done);
    if (!hasSucceeded(done, run)) cause = 'earlier_action';
  }
  return { outcome: 'made', made, left_out };
}

function leftOut(action: Action, cause: LeftOut['cause'], { seal }: RunServices): LeftOut {
  return { tool: action.tool, summary: recordedSummary(seal, action), cause };
}

/** Why an action is not carried out; null if it is. Throws if the run has ended, so that a repeated run continues. */
async function whyNot(
  action: Action,
  turn: Runnable,
  services: RunServices,
  run: Run,
): Promise<LeftOut['cause'] | null> {
  if (turn.stopped?.hasEnded) return 'stopped';
  run.limit.throwIfEnded();
  // The outcome of a call that was sent is told in any case.
  if (wasSent(action)) return null;
  if (action.state === 'withdrawn') return 'earlier_action';
  // An answer holds as long as its question: a run that is repeated much later does not continue.
  if (action.state === 'confirmed' && (action.expires_at ?? 0) <= services.clock.now())
    return 'earlier_action';
  return (await isStillTheirs(action, turn, services, run)) ? null : 'sign_in';
}

function wasSent({ started_at }: Action): boolean {
  return started_at !== null;
}

/**
 * @returns null if the call was not made, because the person's sign-in has changed, the session has ended, or the person
 * stopped the answer.
 */
async function carryOutOne(
  action: Action,
  turn: Runnable,
  services: RunServices,
  run: Run,
): Promise<CarriedOut | null> {
  const tools = { ...run.tools, confirmation: null };
  const done = await carryOut({ action, resumed: wasSent(action) }, turn, services, { ...run, tools });
  return done.outcome === 'made' ? done : null;
}

function hasSucceeded({ action_id, told }: CarriedOut, { journal }: Run): boolean {
  const write = journal.written.find((known) => known.action_id === action_id);
  return told.answer.ok && write?.state === 'done';
}

/**
 * Whether the sender is still the person, or the platform's user without one, who was asked: the link is read again,
 * and so are the token and its expiry.
 */
async function isStillTheirs(
  { person }: Action,
  { channel, message, request_id }: Runnable,
  services: RunServices,
  { tools: { context, access } }: Run,
): Promise<boolean> {
  if (person !== null)
    return context?.acts_for === person && (await chooseCredentials(context, access, 'none')).use === 'user';
  if (!channel.has_platform) return false;
  const link = await findSendersLink(services, channel, message);
  if (link === 'other_sender') return false;
  return link === null || !(await services.tokens.validate(link.token, request_id)).valid;
}

/** What the agent is told about an action that was left out. */
export const NOT_MADE: ToolAnswer = {
  ok: false,
  message:
    'Nothing was done: an earlier action did not succeed, or the person is no longer signed in as before.',
};
