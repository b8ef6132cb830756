import type { OwnJournal } from '../../agent/agent.ts';
import type { Seal } from '../../identity/seal.ts';
import {
  type Action,
  type ActionState,
  type ActionStore,
  type OwnActions,
  RUNNING_MS,
} from '../../store/actions/actions.ts';
import type { Clock } from '../../time/clock.ts';

/** The texts of an action that are sealed. */
type ActionText = 'args' | 'summary' | 'answer';

/** The record that a sealed text of an action is bound to: the id of the action and the name of the field. */
export function actionTextRecord(action_id: string, field: ActionText): string {
  return `action:${JSON.stringify([action_id, field])}`;
}

/** Seals a text of an action, so that it can be stored. */
export function closeActionText(seal: Seal, action_id: string, field: ActionText, text: string): string {
  return seal.close(text, actionTextRecord(action_id, field));
}

/** Opens a stored text of an action. Null if there is none, or if no encryption key opens it. */
export function openActionText(
  seal: Pick<Seal, 'open'>,
  action: Pick<Action, 'action_id'> & Partial<Pick<Action, ActionText>>,
  field: ActionText,
): string | null {
  const stored = action[field] ?? null;
  return stored === null ? null : seal.open(stored, actionTextRecord(action.action_id, field));
}

/** Returns the summary of an action, on one line of plain text, or the tool's name if no encryption key opens it. */
export function recordedSummary(seal: Seal, action: Pick<Action, 'action_id' | 'summary' | 'tool'>): string {
  return openActionText(seal, action, 'summary') ?? action.tool;
}

/** The state of an action as people see it. Stores may return all data of a person without checking the time. */
export function stateNow(
  { state, started_at, expires_at }: Pick<Action, 'state' | 'started_at' | 'expires_at'>,
  now: number,
): ActionState {
  const isOver = (expires_at ?? 0) <= now;
  if (state === 'pending') return isOver ? 'expired' : 'pending';
  // Its run has died, and no repeated one will carry it out any more.
  if (state === 'confirmed') return isOver ? 'withdrawn' : 'confirmed';
  // The process that sent it has died.
  if (state === 'started') return (started_at ?? 0) > now - RUNNING_MS ? 'started' : 'unknown';
  return state;
}

/** How far back the list goes, ms. */
const LISTED_MS = 90 * 24 * 60 * 60 * 1000;
/** Maximum number of actions in the list. */
const LISTED_MAX = 100;

interface OwnJournalParts {
  store: { actions: Pick<ActionStore, 'list'> };
  seal: Seal;
  clock: Clock;
}

/** The actions in the journal that belong to the person or user `who`. */
export function ownJournal(
  { who, alias_id }: OwnActions,
  { store, seal, clock }: OwnJournalParts,
): OwnJournal {
  return {
    async list() {
      const now = clock.now();
      const found = await store.actions.list({ who, since: now - LISTED_MS, limit: LISTED_MAX });
      return found
        .filter((action) => 'person' in who || action.alias_id === alias_id)
        .map((action) => ({
          time: new Date(action.started_at ?? action.created_at).toISOString(),
          summary: recordedSummary(seal, action),
          outcome: stateNow(action, now),
          ...(action.operator === null ? {} : { made_by_operator: action.operator }),
        }));
    },
  };
}
