import type { InboxMessage } from '../daemon/store/inbox.ts';
import { isoTime, relativeTime } from './time-words.ts';

/** A message of the inbox as it is listed: without what was said. Times are ISO 8601. */
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
  /** Why the last attempt failed. */
  failure: string | null;
  sent_at: string;
  received_at: string;
  /** Null while an attempt goes on, and after the end. */
  next_attempt_at: string | null;
  ended_at: string | null;
}

export function inboxView(message: InboxMessage): InboxView {
  const { id, platform, session_id, message_id, request_id, state, attempts, sends, failure } = message;
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
    sent_at: isoTime(message.sent_at),
    received_at: isoTime(message.received_at),
    next_attempt_at: waits ? isoTime(message.next_attempt_at) : null,
    ended_at: message.ended_at === null ? null : isoTime(message.ended_at),
  };
}

/** What the state means to the person who wrote. */
export function stateInWords({ state, attempts, sends, apology, session_id }: InboxMessage): string {
  switch (state) {
    case 'waiting':
      return attempts === 0 ? 'waits for its turn' : `waits for run ${attempts + 1}`;
    case 'running':
      return 'is being answered';
    case 'replied': {
      const what = apology !== null ? 'apology' : session_id === null ? 'text' : 'reply';
      return sends <= 1 ? `${what} is to be sent` : `${what} is to be sent again`;
    }
    case 'done':
      return session_id === null ? 'sent' : 'answered';
    case 'failed':
      return apology === null ? 'failed' : 'failed, with an apology';
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
 * When the next attempt is due, in words; empty where none is. @param isFirst no earlier message of its session
 * is open.
 */
export function nextInWords(message: InboxMessage, now: number, isFirst = true): string {
  if (message.ended_at !== null) return '';
  if (message.state === 'running') return 'under way';
  if (!isFirst) return 'after the one before it';
  return message.next_attempt_at <= now ? 'now' : relativeTime(message.next_attempt_at, now);
}
