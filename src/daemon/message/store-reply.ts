import { StoreUnavailable } from '../errors.ts';
import type { StoredTurn } from '../session/session.ts';
import { type NewPendingAction, toQuestionId } from '../store/actions/actions.ts';
import { ClaimLost, CommitUnknown } from '../store/failures.ts';
import { ANONYMOUS_ANSWER_MS, clientOfKey } from '../store/idempotency.ts';
import type { TurnChanges } from '../store/sessions/turns.ts';
import type { CompleteReply, ReplyQuestion } from './outlet.ts';
import { principalKey } from './principal-key.ts';
import type { Step } from './sequence.ts';
import type { Services } from './services.ts';
import { toStoredTurn } from './stored-turn.ts';
import type {
  Answered,
  Answering,
  Arrived,
  AskedQuestion,
  Deduplicated,
  Locked,
  Resolved,
  Stored,
} from './turn.ts';
import { buildAnsweredTrace } from './turn-trace.ts';

type Uses = Pick<Services, 'sessions' | 'settings' | 'clock'>;

/** How long a person's answer can be found by its Idempotency-Key, ms (agentd-service(7), "Idempotency-Key"). */
const ANSWER_TTL_MS = 7 * 24 * 60 * 60 * 1000;

/** How long an action waits for the person's answer after the question was sent, ms. */
const ANSWER_MS = 15 * 60 * 1000;

/** Anybody can send messages without a token, so their answers are kept for a shorter time. */
function chooseAnswerTtl(key: string): number {
  return clientOfKey(key) === null ? ANSWER_TTL_MS : ANONYMOUS_ANSWER_MS;
}

type Turn = Answering & Deduplicated & Locked & Resolved & Answered;

/**
 * Stores everything that the turn changes in one commit, before anything is sent, so that an answer survives a crash.
 * If the reply asks about actions, they are stored with it, so that there is no question without its actions.
 *
 * Adds `record`, the turn as it is stored, and `complete`, the reply as it is sent. Throws `unavailable` if one of the
 * turn's claims is lost; in this case nothing is stored. Throws `unavailable` (`CommitUnknown`) if the store fails and it
 * is not known whether the turn is stored. Nothing is sent in either case.
 */
export const storeReply: Step<Turn, Stored> = {
  name: 'store-reply',
  async run(turn, services: Uses, line) {
    const { turn_id, session_id, reply, stopped, usage, run_record, asked, receipts, key, outlet } = turn;
    const finished_at = services.clock.now();
    const question = asked === null ? null : toReplyQuestion(asked, finished_at);
    const answer = {
      turn_id,
      session_id,
      response: reply,
      ...(question === null ? {} : { confirmation: question.confirmation }),
      ...(receipts === null ? {} : { receipts }),
      reader: turn.reader,
    };
    const turnOfSession = toStoredTurn(turn, services, {
      reply,
      stopped,
      usage,
      run_record,
      finished_at,
      receipt_lines: receiptLines(turn),
    });
    const complete = completeReply(turn, question);
    const closing = outlet.close({ answered: true, reply: complete });
    const changes: TurnChanges = {
      ...turn.changes,
      ...(closing instanceof Promise ? await closing : closing),
      turn: turnOfSession,
      trace: buildAnsweredTrace(turn, finished_at),
      ...(key === null ? {} : { answer: { claim: key, answer, ttl_ms: chooseAnswerTtl(key.key) } }),
      ...(asked === null || asked.pending.length === 0
        ? {}
        : {
            pending: pendingActions(asked, turn, services, finished_at),
            acted_with: turn.principal.person === null ? null : turn.principal.claims,
          }),
      ...replyToAsked(turn),
    };
    const outcome = await services.sessions.commit(turn.claim, changes).catch((error: unknown) => {
      throw error instanceof StoreUnavailable ? new CommitUnknown(error) : error;
    });
    if (outcome === 'lost') {
      line.reason = 'claim_lost';
      throw new ClaimLost();
    }
    if (outcome === 'session_ended') line.reason = 'session_ended_meanwhile';
    return { record: turnOfSession.record, complete };
  },
};

/** The reply as its outlet needs it. */
function completeReply(turn: Arrived & Resolved & Answered, question: ReplyQuestion | null): CompleteReply {
  const { turn_id, session_id, reply, receipts, stopped, sign_in, principal } = turn;
  return {
    turn_id,
    session_id,
    response: reply,
    question,
    receipts,
    stopped,
    replayed: false,
    ...(principal.person === null ? {} : { written_for: principal.person }),
    ...(sign_in === null ? {} : { sign_in }),
  };
}

function toReplyQuestion({ confirmation, stored, expires_at }: AskedQuestion, now: number): ReplyQuestion {
  const ends_at = new Date(expires_at ?? now + ANSWER_MS).toISOString();
  return { confirmation: { ...confirmation, expires_at: ends_at }, stored };
}

/**
 * The actions that the reply asks about. If the reply is sent later, the question counts as asked when the platform has
 * accepted the reply.
 */
function pendingActions(
  { pending }: AskedQuestion,
  { outlet, turn_id, run_record }: Turn,
  { settings }: Uses,
  now: number,
): NewPendingAction[] {
  return pending.map((action) => ({
    ...action,
    ...(run_record.tainted ? { tainted: true } : {}),
    ...(outlet.leaves === null ? { asked_by: turn_id } : { asked_by: null, told_end: now + ANSWER_MS }),
    answer_ms: ANSWER_MS,
    unasked_ms: settings.INBOX_SEND_SECONDS * 1000 + ANSWER_MS,
  }));
}

/** What the reply says about a question that was open before. Nothing if there was none, or its reader is not known. */
function replyToAsked(turn: Turn): Pick<TurnChanges, 'reply_to_asked'> {
  const { begun, open, asked, stopped, outlet, turn_id } = turn;
  const principal = principalKey(turn);
  if (principal === null || begun.pending.length + begun.lapsed.length === 0) return {};
  const question_id = open && toQuestionId(open.actions[0]);
  const isRepeated = asked?.pending.length === 0;
  const repeats = open && question_id && isRepeated ? { question_id, counts: open.counts } : null;
  // The reply of a stopped run says nothing about it. If the reply asks something else, that replaces it.
  const withdraws = stopped || asked !== null ? null : question_id;
  const sent_by = outlet.leaves === null ? turn_id : null;
  return { reply_to_asked: { principal, sent_by, repeats, withdraws } };
}

/** Where the lines about the writes are in the reply; null if there are none. */
function receiptLines({ reply, receipts, asked }: Answered): StoredTurn['receipt_lines'] | null {
  const begins_at = receipts?.begins_at;
  return begins_at === undefined ? null : { begins_at, ends_at: asked?.stored.begins_at ?? reply.length };
}
