import type { Action, NewPendingAction } from '../actions.ts';
import type { MemoryContext } from './context.ts';

/** Stores an action that the committed turn asks the person to confirm. */
export function addPending(context: MemoryContext, added: NewPendingAction): void {
  const { asked_by, answer_ms, unasked_ms, ...action } = added;
  const { session_tag, principal } = action;
  withdraw(context, (before) => before.session_tag === session_tag && before.principal === principal);
  const now = context.clock.now();
  context.state.actions.set(action.action_id, {
    action: {
      ...action,
      ...{ state: 'pending', attempt: 0, status: null, answer: null, created_at: now },
      ...(asked_by === null
        ? { asked_at: now, expires_at: now + answer_ms }
        : { asked_at: null, expires_at: now + unasked_ms }),
      ...{ started_at: null, finished_at: null },
    },
    asked_by,
    answer_ms,
  });
}

/** Records that the reply of this inbox message was sent, and with it the question at its end, if it has one. */
export function noteAsked(context: MemoryContext, message_id: string): void {
  const now = context.clock.now();
  for (const { action, asked_by, answer_ms } of context.state.actions.values())
    if (asked_by === message_id && action.asked_at === null && isPending(context, action))
      Object.assign(action, { asked_at: now, expires_at: now + answer_ms });
}

/** Withdraws the pending actions that `isMeant` selects. */
export function withdraw(
  context: MemoryContext,
  isMeant: (action: Action, asked_by: string | null) => boolean,
): void {
  const finished_at = context.clock.now();
  for (const { action, asked_by } of context.state.actions.values())
    if (isPending(context, action) && isMeant(action, asked_by))
      Object.assign(action, { state: 'withdrawn', finished_at });
}

/** Whether the action waits to be confirmed and has not expired. */
export function isPending({ clock }: MemoryContext, { state, expires_at }: Action): boolean {
  return state === 'pending' && (expires_at ?? 0) > clock.now();
}
