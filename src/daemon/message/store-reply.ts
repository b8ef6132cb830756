import { StoreUnavailable } from '../errors.ts';
import { ClaimLost } from '../store/claim-lost.ts';
import { CommitUnknown } from '../store/commit-unknown.ts';
import type { TurnChanges } from '../store/turns.ts';
import type { Step } from './sequence.ts';
import { storedTurn } from './stored-turn.ts';
import { answeredTrace } from './trace-of.ts';
import type { Answered, Answering, Deduplicated, Locked, Resolved, Stored } from './turn.ts';

/** How long an answer is found again by its Idempotency-Key (agentd-service(7), "Idempotency-Key"). */
const ANSWER_TTL_MS = 7 * 24 * 60 * 60 * 1000;

type Turn = Answering & Deduplicated & Locked & Resolved & Answered;

/**
 * Everything that the turn changes is stored in one commit, before anything leaves: what was answered survives a crash.
 *
 * Adds `record`, the turn as it is stored. Throws `unavailable` if one of the turn's claims is lost, and nothing is stored then; or if the store
 * fails, and nobody knows whether the turn is stored (`CommitUnknown`). Nothing leaves in either case.
 */
export const storeReply: Step<Turn, Stored> = {
  name: 'store-reply',
  async run(turn, services, line) {
    const { session_id, reply, stopped, usage, key, outlet, claim } = turn;
    const finished_at = services.clock.now();
    const complete = { session_id, response: reply, stopped, replayed: false };
    const answer = { session_id, response: reply, reader: turn.reader };
    const turnOfSession = storedTurn(turn, services, { reply, stopped, usage, finished_at });
    const changes: TurnChanges = {
      ...turn.changes,
      ...(await outlet.changes({ answered: true, reply: complete })),
      turn: turnOfSession,
      trace: answeredTrace(turn, finished_at),
      ...(key === null ? {} : { answer: { claim: key, answer, ttl_ms: ANSWER_TTL_MS } }),
    };
    const outcome = await services.store.commitTurn(claim, changes).catch((error: unknown) => {
      throw error instanceof StoreUnavailable ? new CommitUnknown(error) : error;
    });
    if (outcome === 'lost') {
      line.reason = 'claim_lost';
      throw new ClaimLost();
    }
    if (outcome === 'session_ended') line.reason = 'session_ended_meanwhile';
    return { record: turnOfSession.record };
  },
};
