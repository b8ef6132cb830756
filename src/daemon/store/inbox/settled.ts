import { DONE_MS, FAILED_MS } from '../bounds.ts';
import type { Tx } from '../kernels/kernel.ts';
import type { TurnChanges } from '../sessions/turns.ts';
import type { AttemptOutcome, InboxMessage } from './inbox.ts';
import type { StoredMessage } from './inbox-document.ts';

/**
 * A claimed message after an attempt with this outcome.
 * @param message the message as it is stored now.
 */
export function settled(message: InboxMessage, outcome: AttemptOutcome, now: number): InboxMessage {
  const sending = message.state === 'replied';
  const uncounted = () => (sending ? unsent(message) : unrun(message));
  switch (outcome.kind) {
    case 'given_back':
      return { ...message, ...uncounted(), next_attempt_at: now };
    case 'again':
      return {
        ...message,
        ...failed(message, outcome.failure),
        state: sending ? 'replied' : 'waiting',
        passing: message.passing + (sending || outcome.counts ? 0 : 1),
        interrupted: 0,
        next_attempt_at: now + outcome.wait_ms,
      };
    case 'notify':
      // The run was committed after all, so the person gets the reply and no notice of a failure.
      if (sending) return { ...message, ...unsent(message), interrupted: 0, next_attempt_at: now };
      return {
        ...message,
        ...(outcome.begun === false ? unrun(message) : {}),
        state: 'replied',
        notice: outcome.notice,
        failure: outcome.failure,
        sends: 0,
        text_stored_at: now,
        parts_sent: 0,
        interrupted: 0,
        next_attempt_at: now,
      };
    case 'sent': {
      const end = message.notice === null ? ({ state: 'done', failure: null } as const) : FAILED;
      return { ...message, ...end, notice_failure: null, interrupted: 0, ended_at: now };
    }
    case 'failed':
      return {
        ...message,
        ...(outcome.begun === false ? uncounted() : {}),
        ...failed(message, outcome.failure),
        ...FAILED,
        interrupted: 0,
        ended_at: now,
      };
  }
}

const FAILED = { state: 'failed' } as const;

/** A message after its reply was stored, and the first attempt to send it has begun. */
export function replied(
  message: InboxMessage,
  { text: reply, question = null, sign_in, written_for }: Omit<NonNullable<TurnChanges['reply']>, 'claim'>,
  now: number,
): InboxMessage {
  return {
    ...message,
    reply,
    question,
    state: 'replied',
    sends: 1,
    text_stored_at: now,
    parts_sent: 0,
    failure: null,
    interrupted: 0,
    ...(sign_in === undefined ? {} : { sign_in }),
    ...(written_for === undefined ? {} : { written_for }),
  };
}

/** Records a failure. The failure to send a notice never replaces the failure of the run. */
function failed({ notice }: InboxMessage, failure: string): Partial<InboxMessage> {
  return notice === null ? { failure } : { notice_failure: failure };
}

function unrun({ attempts, first_run_at }: InboxMessage): Partial<InboxMessage> {
  const left = attempts - 1;
  return { state: 'waiting', attempts: left, first_run_at: left === 0 ? null : first_run_at };
}

function unsent({ sends }: InboxMessage): Partial<InboxMessage> {
  return { sends: sends - 1 };
}

/** A message with the wait and the end of its record that follow from its new state. */
export function changed(tx: Tx, stored: StoredMessage, message: InboxMessage): StoredMessage {
  const { state, ended_at, next_attempt_at } = message;
  const expires_at = ended_at === null ? null : ended_at + (state === 'done' ? DONE_MS : FAILED_MS);
  return { ...stored, message, wait_ms: next_attempt_at - tx.now, expires_at };
}
