import { randomSuffix } from '../../clock.ts';
import { type StoredTurn, tagOf } from '../../session/session.ts';
import type { SessionClaim } from '../claims.ts';
import { BEGUN_TURNS, type BegunTurn, type CommitOutcome, type TurnChanges } from '../turns.ts';
import { actionsIn, storedPending } from './actions.ts';
import type { RedisConnection, Reply } from './connection.ts';
import type { RedisInbox } from './inbox.ts';
import { changesOf, messageOf } from './inbox-message.ts';
import { sessionDefect, sessionOf, storedSession } from './sessions.ts';
import type { StreamChanges } from './stream-changes.ts';
import { eventGap, storedEvents } from './streams.ts';
import { traceFields } from './traces.ts';

/** `Store.beginTurn` and `Store.commitTurn`: one script each. */
export class RedisTurns {
  readonly #redis: RedisConnection;
  readonly #changes: StreamChanges;
  readonly #inbox: RedisInbox;

  constructor(redis: RedisConnection, changes: StreamChanges, inbox: RedisInbox) {
    this.#redis = redis;
    this.#changes = changes;
    this.#inbox = inbox;
  }

  async begin(session_tag: string, session_id: string, turn_key: string | null): Promise<BegunTurn | null> {
    const owner = randomSuffix();
    const args = [session_tag, owner, session_id, turn_key ?? '', BEGUN_TURNS];
    const begun = await this.#redis.run('begin-turn', [this.#claim(session_tag)], ...args);
    if (begun === null) return null;
    const [now, found, turns, pending, earlier] = begun as [
      number,
      string[] | null,
      string[],
      Reply[],
      Reply[],
    ];
    return {
      claim: { session_tag, owner },
      found: found && sessionOf(found),
      pending: actionsIn([now, ...pending]),
      earlier: actionsIn([now, ...earlier]),
      turns: turns.map((turn): StoredTurn => JSON.parse(turn)),
    };
  }

  async commit({ session_tag, owner }: SessionClaim, changes: TurnChanges): Promise<CommitOutcome> {
    const key = this.#claim(session_tag);
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

  #claim(session_tag: string): string {
    return this.#redis.names.key('session', session_tag, 'claim');
  }
}

/** @param failing the message that failed, as it was last read. */
function storedChanges(
  { session, turn, trace, reply, failed, answer, pending, events, ends_claim }: TurnChanges,
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
    ...(ends_claim && { ends_claim }),
  };
}

/** Leaves out null and 0, which are true in Lua. */
function eventsOf(events: NonNullable<TurnChanges['events']>['events']): Record<string, unknown> {
  const { first, ending, list } = storedEvents(events);
  return { ...(first > 0 && { first }), ...(ending !== null && { ending }), list };
}
