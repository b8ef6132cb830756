import type { SessionClaim } from '../claims.ts';
import type { BegunTurn, CommitOutcome, TurnChanges } from '../turns.ts';
import type { SqliteActions } from './actions.ts';
import type { SqliteIdempotency } from './idempotency.ts';
import type { SqliteInbox } from './inbox.ts';
import type { PendingActions } from './pending-actions.ts';
import type { SqliteSessions } from './sessions.ts';
import type { SqliteStreams } from './streams.ts';
import type { SqliteTraces } from './traces.ts';
import type { GroupCommit } from './writer.ts';

/** The parts of the store that a turn reads and changes. */
export interface TurnParts {
  sessions: SqliteSessions;
  actions: SqliteActions;
  traces: SqliteTraces;
  inbox: SqliteInbox;
  idempotency: SqliteIdempotency;
  streams: SqliteStreams;
  pending: PendingActions;
}

/** Begins turns, and stores everything that a turn changes as one write of the group commit. */
export class SqliteTurns {
  readonly #commit: GroupCommit;
  readonly #parts: TurnParts;

  constructor(commit: GroupCommit, parts: TurnParts) {
    this.#commit = commit;
    this.#parts = parts;
  }

  /** `Store.beginTurn`. */
  async begin(session_tag: string, session_id: string, turn_key: string | null): Promise<BegunTurn | null> {
    const { sessions, actions } = this.#parts;
    const claim = await sessions.claim(session_tag);
    if (claim === null) return null;
    try {
      const [found, pending, earlier] = await Promise.all([
        sessions.find(session_id),
        actions.pendingIn(session_tag),
        turn_key === null ? [] : actions.ofTurn(turn_key),
      ]);
      return { claim, found, pending, earlier, turns: null };
    } catch (error) {
      await sessions.release(claim);
      throw error;
    }
  }

  /** `Store.commitTurn`. */
  async commit(claim: SessionClaim, changes: TurnChanges): Promise<CommitOutcome> {
    const outcome = await this.#commit.write(() => {
      if (!this.#holdsAll(claim, changes)) return 'lost';
      return this.#store(claim, changes);
    });
    const { events } = changes;
    if (events && outcome !== 'lost') this.#parts.streams.notify(events.claim.stream_id, events.events);
    return outcome;
  }

  #holdsAll(claim: SessionClaim, { reply, failed, answer, events }: TurnChanges): boolean {
    const { sessions, inbox, idempotency, streams } = this.#parts;
    return (
      sessions.holds(claim) &&
      (!reply || inbox.holds(reply.claim)) &&
      (!failed || inbox.holds(failed.claim)) &&
      (!answer || idempotency.holds(answer.claim)) &&
      (!events || streams.holds(events.claim))
    );
  }

  #store(
    claim: SessionClaim,
    { session, turn, trace, reply, failed, answer, pending, events, ends_claim }: TurnChanges,
  ): CommitOutcome {
    const { sessions, traces, inbox, idempotency, streams } = this.#parts;
    if (session) sessions.add(claim, session);
    const inserted = traces.insert(trace);
    const ended = turn && !sessions.addTurn(claim.session_tag, turn.record, inserted, turn.ttl_ms);
    if (reply) inbox.addReply(reply);
    if (failed) inbox.settleClaimed(failed.claim, failed.outcome);
    if (answer) idempotency.addAnswer(answer.claim, answer.answer, answer.ttl_ms);
    if (pending && !ended) this.#parts.pending.add(pending);
    if (events) streams.add(events.claim.stream_id, events.events);
    if (ends_claim) sessions.endClaim(claim);
    return ended ? 'session_ended' : 'committed';
  }
}
