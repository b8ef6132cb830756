import { ERRORS, type ErrorCode } from '../errors.ts';
import type { Seal } from '../identity/seal.ts';
import { formatLogLine } from '../process/log-line.ts';
import { shortId } from '../session/ids.ts';
import { type ExpirySettings, type SessionState, sessionState } from '../session/jwt-context.ts';
import { openTurnText, type Session, type StoredTurn, tagOf } from '../session/session.ts';
import type { Action } from '../store/actions.ts';
import {
  type ActionOutcomeNow,
  type NotSent,
  openActionText,
  outcomeOf,
  whyNotSent,
} from '../tools/journal/action-record.ts';

/** The meaning of what the daemon has stored and logged: sessions, turns, actions, codes of errors, log lines. */
export type { ExpirySettings, Session, SessionState, StoredTurn };
/** `sessionTag`: the name of a session that its sign-in does not change. */
export { ERRORS, type ErrorCode, formatLogLine, sessionState, shortId, tagOf as sessionTag };

/** An action with its texts, as far as the key opens them, and its outcome at this time. */
export interface OpenedAction {
  outcome: ActionOutcomeNow | NotSent;
  /** Whether the call was sent. */
  wasSent: boolean;
  /** Null if no encryption key decrypts it. */
  summary: string | null;
  arguments: unknown;
}

export function openAction(action: Action, now: number, seal: Pick<Seal, 'open'>): OpenedAction {
  const args = openActionText(seal, action, 'args');
  const not_sent = whyNotSent(action, now);
  return {
    outcome: not_sent ?? outcomeOf(action, now),
    wasSent: not_sent === null,
    summary: openActionText(seal, action, 'summary'),
    arguments: args === null ? null : (JSON.parse(args) as unknown),
  };
}

/**
 * The sealed parts of a turn: what its tools answered, and the state of the runtime. They may have personal data. A part
 * that no key opens is null; a part that was not stored is absent.
 */
export function openTurn(turn: StoredTurn, seal: Pick<Seal, 'open'>): { calls?: unknown; state?: unknown } {
  return {
    ...(turn.calls === undefined ? {} : { calls: openTurnText(seal, turn, 'calls') ?? null }),
    ...(turn.state === undefined ? {} : { state: openTurnText(seal, turn, 'state') ?? null }),
  };
}
