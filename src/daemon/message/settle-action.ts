import type { Action } from '../store/actions/actions.ts';
import { ClaimLost } from '../store/failures.ts';
import { turnKey } from './keys.ts';
import type { Services } from './services.ts';
import type { Answering, Deduplicated, Locked } from './turn.ts';

type Turn = Answering & Deduplicated & Locked;

/**
 * Records that the call of an action begins, or that it is not made (`ActionStore.settle`).
 * @returns false if the action was settled before, or its session has ended
 * @throws ClaimLost
 */
export async function settleAction(
  { action_id }: Action,
  to: 'started' | 'withdrawn',
  turn: Turn,
  { store }: Pick<Services, 'store'>,
): Promise<boolean> {
  return isSettled(await store.actions.settle(turn.claim, action_id, to, turnKey(turn)));
}

/**
 * Records what the person answered to a question (`ActionStore.answer`).
 * @param begun the confirmed action whose call begins with it
 * @returns false if the question was no longer open
 * @throws ClaimLost
 */
export async function answerQuestion(
  { confirmed, declined }: Readonly<Record<'confirmed' | 'declined', readonly Action[]>>,
  turn: Turn,
  { store }: Pick<Services, 'store'>,
  begun?: Action,
): Promise<boolean> {
  const ids = (actions: readonly Action[]) => actions.map(({ action_id }) => action_id);
  const lists = { confirmed: ids(confirmed), declined: ids(declined) };
  const answer = { ...lists, begun: begun?.action_id, answered_at: turn.accepted_at };
  return isSettled(await store.actions.answer(turn.claim, answer, turnKey(turn)));
}

function isSettled(outcome: 'settled' | 'gone' | 'lost'): boolean {
  if (outcome === 'lost') throw new ClaimLost();
  return outcome === 'settled';
}
