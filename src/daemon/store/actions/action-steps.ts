import { keepsSession } from '../claims/claim-state.ts';
import type { SessionClaim } from '../claims/claims.ts';
import { holdsKey, noteStarted } from '../idempotency.ts';
import type { Kernel, Tx } from '../kernels/kernel.ts';
import { findFirst } from '../scans.ts';
import { declinedIn, findSession, noteDeclined } from '../sessions/session-document.ts';
import { stepsOf } from '../steps-of.ts';
import {
  ACTION,
  actionsOfQuestion,
  asItIsNow,
  change,
  isOpen,
  newestWrites,
  noteWrite,
  ofTurn,
  SESSION_WRITE,
} from './action-document.ts';
import {
  type Action,
  type ActionFilter,
  type ActionOutcome,
  type ActionStore,
  isUnknown,
  type NewAction,
  type QuestionAnswer,
  type RunClaims,
  SENT_MAX,
  type Started,
  toQuestionId,
} from './actions.ts';
import { closeCards } from './question-cards.ts';
import { pendingActionsIn, withdrawActions } from './questions.ts';

/** Maximum number of actions of one turn that a step reads. */
const READ_MAX = 1000;

export function actionStore(
  kernel: Kernel,
  { actionsRetentionMs }: { actionsRetentionMs: number },
): ActionStore {
  const step = stepsOf(kernel);
  return {
    pendingIn: step(pendingActionsIn),
    find: step(find),
    ofQuestion: step(ofQuestion),
    answer: step(answer, { journal: true }),
    settle: step(settle, { journal: true }),
    withdraw: step(withdrawActions),
    start: step((tx, claims, action) => start(tx, claims, action, tx.now + actionsRetentionMs), {
      journal: true,
    }),
    restart: step(restart, { journal: true }),
    finish: step(finish),
    ofTurn: step(actionsOfTurn),
    sentIn: step(sentIn),
    wroteSince: step(wroteSince),
    list: async (filter) => {
      const found = await findFirst(kernel, ACTION, {
        isMeant: ({ action }) => isListed(action, filter),
        compare: (a, b) => b.serial - a.serial,
        limit: filter.limit,
      });
      return found.map(({ action }) => action);
    },
  };
}

function find(tx: Tx, action_id: string): Action | null {
  const stored = tx.get(ACTION, action_id);
  return stored && asItIsNow(stored.action, tx.now);
}

function ofQuestion(tx: Tx, question_id: string): Action[] {
  return actionsOfQuestion(tx, question_id).map((action) => asItIsNow(action, tx.now));
}

function answer(
  tx: Tx,
  claim: SessionClaim,
  { confirmed, declined, begun, answered_at }: QuestionAnswer,
  turn_key: string,
): 'settled' | 'gone' | 'lost' {
  if (!keepsSession(tx, claim)) return 'lost';
  const answered = [
    ...confirmed.map((id) => [id, { state: 'confirmed', answered_at }] as const),
    ...declined.map((id) => [id, { state: 'declined', finished_at: tx.now, answered_at }] as const),
  ].map(([id, to]) => ({ stored: tx.get(ACTION, id), to }));
  for (const { stored } of answered)
    if (stored?.action.session_tag !== claim.session_tag || !isOpen(tx, stored.action)) return 'gone';
  for (const { stored, to } of answered) if (stored !== null) change(tx, stored, { ...to, turn_key });
  noteDeclined(tx, claim.session_tag, declined);
  return begun === undefined ? 'settled' : settle(tx, claim, begun, 'started', turn_key);
}

function settle(
  tx: Tx,
  claim: SessionClaim,
  action_id: string,
  to: 'started' | 'withdrawn',
  turn_key: string,
): 'settled' | 'gone' | 'lost' {
  if (!keepsSession(tx, claim)) return 'lost';
  const stored = tx.get(ACTION, action_id);
  if (stored?.action.session_tag !== claim.session_tag || !maySettle(tx, stored.action, to, turn_key))
    return 'gone';
  const times = to === 'started' ? { attempt: 1, started_at: tx.now } : { finished_at: tx.now };
  change(tx, stored, { state: to, turn_key, ...times });
  if (to === 'started') noteWrite(tx, action_id, claim.session_tag, stored.expires_at);
  else if (stored.action.state === 'pending') closeCards(tx, toQuestionId(stored.action));
  return 'settled';
}

function start(tx: Tx, claims: RunClaims | null, action: NewAction, expires_at: number): Started {
  if (claims !== null && !areHeld(tx, claims)) return { outcome: 'lost' };
  const known = tx.get(ACTION, action.action_id)?.action;
  if (known) return { outcome: 'known', action: asItIsNow(known, tx.now) };
  if (claims?.key) noteStarted(tx, claims.key.key);
  noteWrite(tx, action.action_id, action.session_tag, expires_at);
  tx.put(ACTION, action.action_id, {
    action: {
      ...action,
      state: 'started',
      principal: null,
      attempt: 1,
      status: null,
      answer: null,
      asked_at: null,
      expires_at: null,
      created_at: tx.now,
      started_at: tx.now,
      finished_at: null,
    },
    answer_ms: 0,
    serial: tx.serial(),
    expires_at,
  });
  return { outcome: 'started' };
}

function restart(tx: Tx, claims: RunClaims, action_id: string, attempt: number): 'started' | 'gone' | 'lost' {
  if (!areHeld(tx, claims)) return 'lost';
  const stored = tx.get(ACTION, action_id);
  if (stored?.action.attempt !== attempt || !isUnknown(stored.action)) return 'gone';
  change(tx, stored, {
    state: 'started',
    attempt: attempt + 1,
    status: null,
    answer: null,
    started_at: tx.now,
    finished_at: null,
  });
  return 'started';
}

function finish(tx: Tx, action_id: string, attempt: number, outcome: ActionOutcome): void {
  const stored = tx.get(ACTION, action_id);
  if (stored === null) return;
  const { action } = stored;
  const isLate = outcome.state === 'done' && (isUnknown(action) || action.state === 'failed');
  if (isLate || (action.attempt === attempt && isUnknown(action)))
    change(tx, stored, { ...outcome, finished_at: tx.now });
}

function wroteSince(tx: Tx, session_tag: string, tool: string, within_ms: number): boolean {
  const late = sentIn(tx, session_tag).filter(
    ({ started_at, finished_at }) => (finished_at ?? started_at ?? 0) > tx.now - within_ms,
  );
  return late.length >= SENT_MAX || late.some((action) => action.tool === tool && action.state !== 'failed');
}

/** Deletes an action. */
export function dropAction(tx: Tx, action_id: string): void {
  tx.delete(SESSION_WRITE, action_id);
  tx.delete(ACTION, action_id);
}

function sentIn(tx: Tx, session_tag: string): Action[] {
  return newestWrites(tx, session_tag, SENT_MAX).flatMap((id) => tx.get(ACTION, id)?.action ?? []);
}

/** `ActionStore.ofTurn`. */
export function actionsOfTurn(tx: Tx, turn_key: string): Action[] {
  return tx.first(ACTION, ofTurn(turn_key), READ_MAX).map(({ doc }) => doc.action);
}

function areHeld(tx: Tx, { session, key }: RunClaims): boolean {
  return keepsSession(tx, session) && (key === null || holdsKey(tx, key));
}

function isListed(action: Action, { who, session, since = 0 }: ActionFilter): boolean {
  if (action.started_at === null || action.started_at < since) return false;
  if (session !== undefined && session !== action.session_tag && session !== action.session_id) return false;
  if (who === undefined) return true;
  if ('person' in who) return action.person === who.person;
  const isTheirs = action.platform === who.platform && action.user_id === who.user_id;
  return isTheirs && !(who.nobodys && action.person !== null);
}

/** The actions of the session that were declined in the last 10 minutes, oldest first. */
export function declinedActionsIn(tx: Tx, session_tag: string): Action[] {
  return declinedIn(tx, session_tag).flatMap((action_id) => tx.get(ACTION, action_id)?.action ?? []);
}

/** Whether this turn may settle the action: it has recorded that the action is confirmed, or withdraws a pending one. */
function maySettle(tx: Tx, action: Action, to: 'started' | 'withdrawn', turn_key: string): boolean {
  if (action.state !== 'confirmed') return to === 'withdrawn' && isOpen(tx, action);
  return action.turn_key === turn_key && findSession(tx, action.session_tag ?? '') !== null;
}
