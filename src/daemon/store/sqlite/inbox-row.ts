import type { InboxMessage } from '../inbox.ts';

/** A message as it is stored in its table, without `seq`. */
export interface InboxRow extends Omit<InboxMessage, 'message' | 'reply_to' | 'question'> {
  message: string | null;
  reply_to: string;
  question: string | null;
}

/** The columns of an `InboxRow`, for SELECT and RETURNING. */
export const COLUMNS = `id, platform, queue, session_id, message_id, user_id, message, reply_to, reply, question, notice, failure,
  notice_failure, request_id, state, attempts, passing, first_run_at, sends, text_stored_at, parts_sent, interrupted,
  sent_at, received_at, next_attempt_at, ended_at`;

export function messageOf({ message, reply_to, question, ...row }: InboxRow): InboxMessage {
  return {
    ...row,
    message: message === null ? null : (JSON.parse(message) as InboxMessage['message']),
    reply_to: JSON.parse(reply_to) as InboxMessage['reply_to'],
    question: question === null ? null : (JSON.parse(question) as InboxMessage['question']),
  };
}
