import { tagOf } from '../../session/session.ts';
import type { SessionClaim } from '../claims.ts';
import type { CommitOutcome, TurnChanges } from '../turns.ts';
import { storedPending } from './actions.ts';
import type { RedisConnection } from './connection.ts';
import type { RedisInbox } from './inbox.ts';
import { changesOf, messageOf } from './inbox-message.ts';
import { sessionDefect, storedSession } from './sessions.ts';
import type { StreamChanges } from './stream-changes.ts';
import { eventGap, storedEvents } from './streams.ts';
import { traceFields } from './traces.ts';

/** `Store.commitTurn`: one script. */
export class RedisTurns {
  readonly #redis: RedisConnection;
  readonly #changes: StreamChanges;
  readonly #inbox: RedisInbox;

  constructor(redis: RedisConnection, changes: StreamChanges, inbox: RedisInbox) {
    this.#redis = redis;
    this.#changes = changes;
    this.#inbox = inbox;
  }

  async commit({ session_tag, owner }: SessionClaim, changes: TurnChanges): Promise<CommitOutcome> {
    const key = this.#redis.names.key('session', session_tag, 'claim');
    const { events, reply } = changes;
    let failing = changes.failed?.claim.message;
    for (;;) {
      const stored = JSON.stringify(storedChanges(changes, failing));
      const outcome = await this.#redis.run(
        'commit-turn',
        [key],
        ...[session_tag, owner, this.#changes.origin, stored],
      );
      switch (true) {
        case Array.isArray(outcome):
          failing = messageOf(outcome as string[]);
          continue;
        case outcome === 'lost':
          return 'lost';
        case outcome === 'committed' || outcome === 'session_ended':
          if (reply) this.#inbox.noteReply(reply.claim, reply.text);
          if (events && events.events.length > 0)
            this.#changes.tell(events.claim.stream_id, 'events', events.events);
          return outcome as CommitOutcome;
        case outcome === 'gap':
          throw eventGap();
        default:
          throw sessionDefect(outcome);
      }
    }
  }
}

/** @param failing the message that failed, as it was read last. */
function storedChanges(
  { session, turn, trace, reply, failed, answer, pending, events }: TurnChanges,
  failing: NonNullable<TurnChanges['failed']>['claim']['message'] | undefined,
): Record<string, unknown> {
  return {
    ...(session && { session: { ...storedSession(session), tag: tagOf(session) } }),
    ...(turn && { turn: { doc: JSON.stringify(turn.record), ttl_ms: turn.ttl_ms } }),
    trace: traceFields(trace),
    ...(reply && {
      reply: {
        queue: reply.claim.message.queue,
        id: reply.claim.message.id,
        owner: reply.claim.owner,
        text: reply.text,
        ...(reply.question && { question: JSON.stringify(reply.question) }),
      },
    }),
    ...(failed &&
      failing && {
        failed: {
          queue: failing.queue,
          id: failing.id,
          owner: failed.claim.owner,
          state: failing.state,
          changes: JSON.parse(changesOf(failing, failed.outcome)),
        },
      }),
    ...(answer && {
      answer: {
        key: answer.claim.key,
        owner: answer.claim.owner,
        fingerprint: answer.claim.fingerprint,
        answer: JSON.stringify(answer.answer),
        ttl_ms: answer.ttl_ms,
      },
    }),
    ...(pending && { pending: storedPending(pending) }),
    ...(events && {
      events: { id: events.claim.stream_id, owner: events.claim.owner, ...eventsOf(events.events) },
    }),
  };
}

/** Without null and 0, which Lua takes for something. */
function eventsOf(events: NonNullable<TurnChanges['events']>['events']): Record<string, unknown> {
  const { first, ending, list } = storedEvents(events);
  return { ...(first > 0 && { first }), ...(ending !== null && { ending }), list };
}
