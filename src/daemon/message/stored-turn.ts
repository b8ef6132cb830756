import type { ErrorCode } from '../errors.ts';
import type { StoredTurn } from '../session/session.ts';
import type { TurnChanges } from '../store/sessions/turns.ts';
import type { Services } from './services.ts';
import type { Answered, Arrived, Resolved } from './turn.ts';

/** How a turn ended, and when. */
type End = { finished_at: number } & (
  | (Pick<Answered, 'reply' | 'stopped' | 'usage' | 'run_record'> & {
      receipt_lines: StoredTurn['receipt_lines'] | null;
    })
  | { failure: ErrorCode }
);

/** The turn as it is stored with its session. */
export function toStoredTurn(
  turn: Arrived & Resolved,
  { settings }: Pick<Services, 'settings'>,
  end: End,
): NonNullable<TurnChanges['turn']> {
  const { message, principal } = turn;
  const isAnswered = 'reply' in end;
  return {
    record: {
      turn_id: turn.turn_id,
      request_id: turn.request_id,
      message_id: message.message_id ?? null,
      user_id: message.user_id,
      person: principal.person,
      text: message.text,
      reply: isAnswered ? end.reply : null,
      outcome: isAnswered ? 'answered' : 'failed',
      ...(isAnswered && end.stopped ? { stopped: true } : {}),
      ...(isAnswered && end.receipt_lines ? { receipt_lines: end.receipt_lines } : {}),
      ...(isAnswered && end.usage ? { usage: end.usage } : {}),
      ...(isAnswered ? end.run_record : {}),
      failure: isAnswered ? null : end.failure,
      credentials: principal.person === null ? 'default' : 'user',
      credentials_reason:
        principal.person === null ? (principal.token_reason ?? principal.reason) : 'valid_token',
      started_at: turn.started_at,
      finished_at: end.finished_at,
    },
    ttl_ms: settings.SESSION_TTL_SECONDS * 1000,
  };
}
