import type { InboxMessage } from '../daemon/store/inbox.ts';
import type { Outage } from '../daemon/store/outages.ts';
import { isoTime, relativeTime } from './time-words.ts';

/** A message of the inbox as it is listed: without its texts. Times are ISO 8601. */
export interface InboxView {
  id: string;
  platform: string;
  /** Null: a text of the channel's own, which nobody wrote. */
  user_id: string | null;
  session_id: string | null;
  message_id: string | null;
  request_id: string;
  state: InboxMessage['state'];
  /** Runs and attempts to send that were begun. */
  attempts: number;
  sends: number;
  /** Why the last run failed or, once a reply is stored, the last attempt to send it. */
  failure: string | null;
  /** Why the person could not be told of it. */
  notice_failure: string | null;
  sent_at: string;
  received_at: string;
  /** At the earliest; null while an attempt goes on, and after the end. */
  next_attempt_at: string | null;
  ended_at: string | null;
}

/** @param outage of its platform, if that is out of reach */
export function inboxView(message: InboxMessage, outage?: Outage): InboxView {
  const { id, platform, session_id, message_id, request_id, state, attempts, sends } = message;
  const { failure, notice_failure } = message;
  const waits = message.ended_at === null && state !== 'running';
  return {
    id,
    platform,
    user_id: message.message?.user_id ?? null,
    session_id,
    message_id,
    request_id,
    state,
    attempts,
    sends,
    failure,
    notice_failure,
    sent_at: isoTime(message.sent_at),
    received_at: isoTime(message.received_at),
    next_attempt_at: waits ? isoTime(Math.max(message.next_attempt_at, heldUntil(message, outage))) : null,
    ended_at: message.ended_at === null ? null : isoTime(message.ended_at),
  };
}

/** What the state means to the person who wrote. */
export function stateInWords(message: InboxMessage): string {
  const { state, attempts, interrupted, sends, session_id } = message;
  switch (state) {
    case 'waiting':
      if (interrupted > 0) return `waits for run ${attempts + 1}, alone: the daemon died during the last one`;
      return attempts === 0 ? 'waits for its turn' : `waits for run ${attempts + 1}`;
    case 'running':
      return 'is being answered';
    case 'replied':
      return sends <= 1 ? `${textName(message)} is to be sent` : `${textName(message)} is to be sent again`;
    case 'done':
      return session_id === null ? 'sent' : 'answered';
    case 'failed':
      return failedInWords(message);
  }
}

/** `2 runs, 1 send`. */
export function attemptsInWords({ attempts, sends }: InboxMessage): string {
  const count = (number: number, word: string) => `${number} ${word}${number === 1 ? '' : 's'}`;
  return [attempts > 0 && count(attempts, 'run'), sends > 0 && count(sends, 'send')]
    .filter(Boolean)
    .join(', ');
}

/**
 * When the next attempt is due, in words; empty if there is none.
 * @param isFirst no earlier message of its session is open
 * @param outage of its platform, if that is out of reach
 */
export function nextInWords(message: InboxMessage, now: number, isFirst = true, outage?: Outage): string {
  if (message.ended_at !== null) return '';
  if (message.state === 'running') return 'under way';
  if (!isFirst) return 'after the one before it';
  if (message.state === 'replied' && outage) {
    const probe = outage.probe_at <= now ? 'now' : relativeTime(outage.probe_at, now);
    return `when the platform is in reach again, next probe ${probe}`;
  }
  return message.next_attempt_at <= now ? 'now' : relativeTime(message.next_attempt_at, now);
}

function textName({ notice, session_id }: InboxMessage): string {
  if (notice !== null) return 'notice of the failure';
  return session_id === null ? 'text' : 'reply';
}

function failedInWords({ notice, notice_failure, reply, session_id }: InboxMessage): string {
  if (notice !== null)
    return notice_failure === null ? 'failed, the person was told' : 'failed, the person could not be told';
  if (reply !== null) return session_id === null ? 'failed, not sent' : 'failed, its reply was not sent';
  return 'failed';
}

function heldUntil({ state }: InboxMessage, outage: Outage | undefined): number {
  return state === 'replied' && outage ? outage.probe_at : 0;
}
