import type { Seal } from '../identity/seal.ts';
import type { StoredTurn } from './session.ts';

/** The parts of a turn that are sealed, because they may have any data that the person may see. */
export type TurnText = 'calls' | 'state';

type TurnOfPerson = Pick<StoredTurn, 'turn_id' | 'person'>;

/** Seals a part of a turn. A part that is copied to another turn, or to a turn of another person, cannot be opened. */
export function closeTurnText(
  seal: Pick<Seal, 'close'>,
  turn: TurnOfPerson,
  field: TurnText,
  value: unknown,
): string {
  return seal.close(JSON.stringify(value), recordOf(turn, field));
}

/** Opens a part of a turn. Undefined if there is none, or if no encryption key opens it. */
export function openTurnText(
  seal: Pick<Seal, 'open'>,
  turn: TurnOfPerson & Pick<StoredTurn, TurnText>,
  field: TurnText,
): unknown {
  const stored = turn[field];
  const text = stored === undefined ? null : seal.open(stored, recordOf(turn, field));
  return text === null ? undefined : (JSON.parse(text) as unknown);
}

function recordOf({ turn_id, person }: TurnOfPerson, field: TurnText): string {
  return `turn:${JSON.stringify([turn_id, person, field])}`;
}
