import type { Action, ActionFilter, ActionStore, RunClaims, WithdrawnActions } from '../actions.ts';
import type { Steps } from './as-port.ts';
import type { MemoryContext } from './context.ts';
import { isPending, withdraw } from './pending-actions.ts';
import { findSession } from './sessions.ts';

export function actionSteps(context: MemoryContext): Steps<ActionStore> {
  const { state, clock, claims } = context;
  const all = () => allActions(context);
  const get = (action_id: string) => state.actions.get(action_id)?.action ?? null;
  const isOpen = (action: Action) => isOpenIn(context, action);
  const areHeld = ({ session, key }: RunClaims) =>
    claims.sessions.isHeld(session.session_tag, session.owner) &&
    (key === null || claims.keys.isHeld(key.key, key.owner));
  return {
    pendingIn: (session_tag) => pendingActionsIn(context, session_tag),
    find(action_id) {
      const action = get(action_id);
      return action && asItIsNow(context, action);
    },
    settle({ session_tag, owner }, action_id, to, turn_key) {
      if (!claims.sessions.isHeld(session_tag, owner)) return 'lost';
      const action = get(action_id);
      if (!action || action.session_tag !== session_tag || !isOpen(action)) return 'gone';
      const now = clock.now();
      const times = to === 'started' ? { attempt: 1, started_at: now } : { finished_at: now };
      Object.assign(action, { state: to, turn_key, ...times });
      return 'settled';
    },
    withdraw: (of) => withdraw(context, (action) => isWithdrawn(action, of)),
    start(held, action) {
      if (held !== null && !areHeld(held)) return { outcome: 'lost' };
      const known = get(action.action_id);
      if (known) return { outcome: 'known', action: asItIsNow(context, known) };
      const now = clock.now();
      state.actions.set(action.action_id, {
        action: {
          ...action,
          ...{ state: 'started', principal: null, attempt: 1, status: null, answer: null },
          ...{ asked_at: null, expires_at: null, created_at: now, started_at: now, finished_at: null },
        },
        asked_by: null,
        answer_ms: 0,
      });
      return { outcome: 'started' };
    },
    restart(held, action_id, attempt) {
      if (!areHeld(held)) return 'lost';
      const action = get(action_id);
      if (!action || action.attempt !== attempt || !isUncertain(action)) return 'gone';
      Object.assign(action, {
        ...{ state: 'started', attempt: attempt + 1, status: null, answer: null },
        ...{ started_at: clock.now(), finished_at: null },
      });
      return 'started';
    },
    finish(action_id, attempt, outcome) {
      const action = get(action_id);
      if (!action) return;
      const isLate = outcome.state === 'done' && (isUncertain(action) || action.state === 'failed');
      if (isLate || (action.attempt === attempt && isUncertain(action)))
        Object.assign(action, outcome, { finished_at: clock.now() });
    },
    ofTurn: (turn_key) => actionsOfTurn(context, turn_key),
    list: (filter) =>
      all()
        .filter((action) => isListed(action, filter))
        .reverse()
        .slice(0, filter.limit),
  };
}

/** `ActionStore.pendingIn`. */
export function pendingActionsIn(context: MemoryContext, session_tag: string): Action[] {
  return allActions(context).filter(
    (action) => action.session_tag === session_tag && isOpenIn(context, action),
  );
}

/** `ActionStore.ofTurn`. */
export function actionsOfTurn(context: MemoryContext, turn_key: string): Action[] {
  const isStoredPending = ({ action_id }: Action) =>
    context.state.actions.get(action_id)?.action.state === 'pending';
  return allActions(context).filter((action) => action.turn_key === turn_key && !isStoredPending(action));
}

function allActions(context: MemoryContext): Action[] {
  return [...context.state.actions.values()].map(({ action }) => asItIsNow(context, action));
}

function isOpenIn(context: MemoryContext, action: Action): boolean {
  return isPending(context, action) && isInLiveSession(context, action);
}

function isWithdrawn(action: Action, of: WithdrawnActions): boolean {
  if ('action_id' in of) return action.action_id === of.action_id;
  if ('session_tag' in of) return action.session_tag === of.session_tag;
  const isTheirs = action.platform === of.platform && action.user_id === of.user_id;
  return isTheirs && (action.person === null || action.person !== of.keep);
}

function isInLiveSession(context: MemoryContext, { session_tag }: Action): boolean {
  return session_tag !== null && findSession(context, session_tag) !== null;
}

/** Whether the call was sent or was about to be sent, but its outcome is not known. */
function isUncertain({ state }: Action): boolean {
  return state === 'started' || state === 'unknown';
}

function asItIsNow(context: MemoryContext, action: Action): Action {
  return action.state !== 'pending' || isPending(context, action) ? action : { ...action, state: 'expired' };
}

function isListed(action: Action, { who, session, since = 0 }: ActionFilter): boolean {
  if (action.started_at === null || action.started_at < since) return false;
  if (session !== undefined && session !== action.session_tag && session !== action.session_id) return false;
  if (who === undefined) return true;
  if ('person' in who) return action.person === who.person;
  const isTheirs = action.platform === who.platform && action.user_id === who.user_id;
  return isTheirs && !(who.nobodys && action.person !== null);
}
