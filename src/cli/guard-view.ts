import type { CircuitReason } from '../daemon/guard/verdict.ts';
import type { GuardList } from '../daemon/store/guard.ts';
import { durationInWords } from './duration.ts';
import { type PersonView, personView } from './session-view.ts';
import { isoTime } from './time-words.ts';

/** What the guard blocks, as it is printed: a user while a circuit is open, or a session at its limit. */
export type BlockView = OpenCircuitView | LimitedSessionView;

export interface OpenCircuitView {
  kind: 'circuit';
  platform: string;
  user_id: string;
  person: PersonView | null;
  /** Client address of a user without a token, on channels that answer in the request. */
  address: string | null;
  reason: CircuitReason;
  /** So many opened it, where `max` are let through. */
  count: number;
  max: number;
  blocked: number;
  opened_at: string;
  open_until: string;
  seconds_left: number;
}

export interface LimitedSessionView {
  kind: 'session';
  session_id: string;
  reason: 'turn_limit';
  turns: number;
  max: number;
  blocked: number;
  ends_at: string;
  seconds_left: number;
}

export function blockViews({ circuits, sessions }: GuardList, now: number): BlockView[] {
  return [
    ...circuits.map(
      ({ covers_from: _inner, person, opened_at, open_until, ...circuit }): OpenCircuitView => ({
        kind: 'circuit',
        ...circuit,
        person: personView(person),
        opened_at: isoTime(opened_at),
        open_until: isoTime(open_until),
        seconds_left: secondsLeft(open_until, now),
      }),
    ),
    ...sessions.map(
      ({ ends_at, ...session }): LimitedSessionView => ({
        kind: 'session',
        ...session,
        reason: 'turn_limit',
        ends_at: isoTime(ends_at),
        seconds_left: secondsLeft(ends_at, now),
      }),
    ),
  ];
}

export const BLOCK_HEAD = ['CHANNEL', 'USER OR SESSION', 'REASON', 'COUNT', 'BLOCKED', 'TIME LEFT'];

/** One row of a table under `BLOCK_HEAD`. */
export function blockRow(block: BlockView): string[] {
  const left = durationInWords(block.seconds_left);
  if (block.kind === 'session') {
    const { session_id, reason, turns, max, blocked } = block;
    return ['', session_id, reason, `${turns}/${max}`, String(blocked), left];
  }
  const { platform, user_id, person, address, reason, count, max, blocked } = block;
  const known = person === null ? address && `at ${address}` : `signed in as ${person.sub}`;
  return [
    platform,
    known ? `${user_id} (${known})` : user_id,
    reason,
    reason === 'rate_limit' ? `${count}/${max}` : String(count),
    String(blocked),
    left,
  ];
}

function secondsLeft(until: number, now: number): number {
  return Math.max(0, Math.ceil((until - now) / 1000));
}
