import type { OwnJournal } from '../../agent/agent.ts';
import type { Seal } from '../../identity/seal.ts';
import type { ActionStore, OwnActions } from '../../store/actions/actions.ts';
import type { Clock } from '../../time/clock.ts';
import { recordedSummary, resolveOutcome } from './action-record.ts';

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
          outcome: resolveOutcome(action, now),
          ...(action.operator === null ? {} : { made_by_operator: action.operator }),
        }));
    },
  };
}
