import type { StoredTurn } from '../session/session.ts';
import type { HistoryReader } from './sessions.ts';

/** The answered turns that a reader may see, in the given order. */
export function shownTurns({ person, nobodys }: HistoryReader, turns: readonly StoredTurn[]): StoredTurn[] {
  return turns
    .filter((turn) => turn.outcome === 'answered')
    .filter((turn) => turn.person === person || (turn.person === null && nobodys));
}
