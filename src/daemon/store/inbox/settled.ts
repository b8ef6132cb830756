import { DONE_MS, FAILED_MS } from '../bounds.ts';
import type { Tx } from '../kernels/kernel.ts';
import type { AttemptOutcome, InboxMessage } from './inbox.ts';
import type { StoredMessage } from './inbox-document.ts';

/** The members of a message that an attempt can change. */
type InboxChange = Pick<
  InboxMessage,
  | 'state'
  | 'attempts'
  | 'passing'
  | 'first_run_at'
  | 'sends'
  | 'text_stored_at'
  | 'parts_sent'
  | 'interrupted'
  | 'next_attempt_at'
  | 'notice'
  | 'failure'
  | 'notice_failure'
  | 'ended_at'
>;

/**
 * How a claimed message changes after an attempt with this outcome.
 * @param message the message as it is stored now.
 */
export function settled(message: InboxMessage, outcome: AttemptOutcome, now: number): InboxChange {
  const before = changeable(message);
  const sending = message.state === 'replied';
  const uncounted = () => (sending ? unsent(message) : unrun(message));
  switch (outcome.kind) {
    case 'given_back':
      return { ...before, ...uncounted(), next_attempt_at: now };
    case 'again':
      return {
        ...before,
        ...failed(message, outcome.failure),
        state: sending ? 'replied' : 'waiting',
        passing: message.passing + (sending || outcome.counts ? 0 : 1),
        interrupted: 0,
        next_attempt_at: now + outcome.wait_ms,
      };
    case 'notify':
      // The run was committed after all, so the person gets the reply and no notice of a failure.
      if (sending) return { ...before, ...unsent(message), interrupted: 0, next_attempt_at: now };
      return {
        ...before,
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
      return { ...before, ...end, notice_failure: null, interrupted: 0, ended_at: now };
    }
    case 'failed':
      return {
        ...before,
        ...(outcome.begun === false ? uncounted() : {}),
        ...failed(message, outcome.failure),
        ...FAILED,
        interrupted: 0,
        ended_at: now,
      };
  }
}

const FAILED = { state: 'failed' } as const;

/** Records a failure. The failure to send a notice never replaces the failure of the run. */
function failed({ notice }: InboxMessage, failure: string): Partial<InboxChange> {
  return notice === null ? { failure } : { notice_failure: failure };
}

function unrun({ attempts, first_run_at }: InboxMessage): Partial<InboxChange> {
  const left = attempts - 1;
  return { state: 'waiting', attempts: left, first_run_at: left === 0 ? null : first_run_at };
}

function unsent({ sends }: InboxMessage): Partial<InboxChange> {
  return { sends: sends - 1 };
}

function changeable(message: InboxMessage): InboxChange {
  const { state, attempts, passing, first_run_at, sends, text_stored_at, parts_sent, interrupted } = message;
  const { next_attempt_at, notice, failure, notice_failure, ended_at } = message;
  return {
    state,
    attempts,
    passing,
    first_run_at,
    sends,
    text_stored_at,
    parts_sent,
    interrupted,
    next_attempt_at,
    notice,
    failure,
    notice_failure,
    ended_at,
  };
}

/** A message with the wait and the end of its record that follow from its new state. */
export function changed(tx: Tx, stored: StoredMessage, message: InboxMessage): StoredMessage {
  const { state, ended_at, next_attempt_at } = message;
  const expires_at = ended_at === null ? null : ended_at + (state === 'done' ? DONE_MS : FAILED_MS);
  return { ...stored, message, wait_ms: next_attempt_at - tx.now, expires_at };
}
