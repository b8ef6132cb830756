import { type StoredTurn, tagOf } from '../../session/session.ts';
import { randomSuffix } from '../../time/clock.ts';
import type { SessionClaim } from '../claims.ts';
import type { InboxMessage } from '../inbox.ts';
import { BEGUN_TURNS, type BegunTurn, type CommitOutcome, type TurnChanges } from '../turns.ts';
import { actionsIn, storedPending } from './action-record.ts';
import type { Reply } from './connection.ts';
import { placeOfKey } from './idempotency.ts';
import type { CommittedInbox } from './inbox.ts';
import { changesOf, messageOf } from './inbox-message.ts';
import type { RedisKeyspace } from './keyspace.ts';
import { type RedisSessions, sessionDefect, sessionOf, storedSession } from './sessions.ts';
import type { StreamChanges } from './stream-changes.ts';
import { eventGap, storedEvents } from './streams.ts';
import { traceFields } from './traces.ts';

/** `Store.beginTurn` and `Store.commitTurn`: one script each. */
export class RedisTurns {
  readonly #redis: RedisKeyspace;
  readonly #changes: StreamChanges;
  readonly #inbox: CommittedInbox;
  readonly #sessions: RedisSessions;

  constructor(
    redis: RedisKeyspace,
    changes: StreamChanges,
    { inbox, sessions }: { inbox: CommittedInbox; sessions: RedisSessions },
  ) {
    this.#redis = redis;
    this.#changes = changes;
    this.#inbox = inbox;
    this.#sessions = sessions;
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
    const isHere = this.#redis.lieTogether(session_tag, session_id);
    return {
      claim: { session_tag, owner },
      found: isHere ? found && sessionOf(found) : await this.#sessions.find(session_id),
      pending: actionsIn([now, ...pending]),
      earlier: actionsIn([now, ...earlier]),
      turns: isHere ? turns.map((turn): StoredTurn => JSON.parse(turn)) : null,
    };
  }

  async commit({ session_tag, owner }: SessionClaim, changes: TurnChanges): Promise<CommitOutcome> {
    const key = this.#claim(session_tag);
    const { events, reply } = changes;
    let failing = changes.failed?.claim.message;
    for (;;) {
      const parts = this.#partsByShard(changes, failing);
      const here = { ...storedChanges(changes), ...parts.get(this.#redis.at(session_tag)) };
      parts.delete(this.#redis.at(session_tag));
      const refused = await this.#commitParts('check', parts);
      const args = [session_tag, owner, this.#changes.origin, JSON.stringify(here)];
      const outcome = refused ?? (await this.#redis.run('commit-turn', [key], ...args));
      switch (true) {
        case Array.isArray(outcome):
          failing = messageOf(outcome as string[]);
          continue;
        case outcome === 'lost':
          return 'lost';
        case outcome === 'committed' || outcome === 'session_ended':
          // A claim in another shard was lost after the check. With ids that the daemon made, there are no parts in
          // other shards.
          if ((await this.#commitParts('store', parts)) !== null) return 'lost';
          if (reply) this.#inbox.noteReply(reply.claim, reply.text);
          if (changes.failed) this.#inbox.noteFailed(changes.failed.claim);
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

  /**
   * The parts of a commit that have separate claims, by their shards. The daemon makes all ids of a turn so that they
   * are in the shard of its session (`Store.lieTogether`). Then one script stores everything. With any other ids, the
   * parts in other shards are checked before the script and stored after it.
   */
  #partsByShard(
    changes: TurnChanges,
    failing: InboxMessage | undefined,
  ): Map<RedisKeyspace, Record<string, unknown>> {
    const parts = new Map<RedisKeyspace, Record<string, unknown>>();
    for (const { name, place, part } of partsOf(changes, failing)) {
      const shard = this.#redis.at(place);
      parts.set(shard, { ...parts.get(shard), [name]: part });
    }
    return parts;
  }

  /** @returns why the parts are refused; null if they are not. */
  async #commitParts(
    what: 'check' | 'store',
    parts: ReadonlyMap<RedisKeyspace, Record<string, unknown>>,
  ): Promise<Reply> {
    for (const [shard, some] of parts) {
      const key = shard.names.key('inbox', null, 'names');
      const args = [what, this.#changes.origin, JSON.stringify(some)];
      const outcome = await shard.run('commit-parts', [key], ...args);
      if (outcome !== 'stored') return outcome;
    }
    return null;
  }

  #claim(session_tag: string): string {
    return this.#redis.names.key('session', session_tag, 'claim');
  }
}

function storedChanges({ session, turn, trace, pending, ends_claim }: TurnChanges): Record<string, unknown> {
  return {
    ...(session && { session: { ...storedSession(session), tag: tagOf(session) } }),
    ...(turn && { turn: { doc: JSON.stringify(turn.record), ttl_ms: turn.ttl_ms } }),
    trace: traceFields(trace),
    ...(pending && { pending: storedPending(pending) }),
    ...(ends_claim && { ends_claim }),
  };
}

/** A part as in parts.lua, and the name that decides its shard. */
interface Part {
  name: 'reply' | 'failed' | 'answer' | 'events';
  place: string;
  part: Record<string, unknown>;
}

/** @param failing the message that failed, as it was last read. */
function partsOf({ reply, failed, answer, events }: TurnChanges, failing: InboxMessage | undefined): Part[] {
  const parts: Part[] = [];
  if (reply) {
    const { text, question, claim } = reply;
    const { id, queue } = claim.message;
    const asked = question ? { question: JSON.stringify(question) } : {};
    parts.push({ name: 'reply', place: queue, part: { id, queue, owner: claim.owner, text, ...asked } });
  }
  if (failed && failing) {
    const { id, queue, state } = failing;
    const changes = JSON.parse(changesOf(failing, failed.outcome));
    const part = { id, queue, owner: failed.claim.owner, state, changes };
    parts.push({ name: 'failed', place: queue, part });
  }
  if (answer) {
    const { key, owner, fingerprint } = answer.claim;
    const stored = { answer: JSON.stringify(answer.answer), ttl_ms: answer.ttl_ms };
    parts.push({
      name: 'answer',
      place: placeOfKey(answer.claim),
      part: { key, owner, fingerprint, ...stored },
    });
  }
  if (events) {
    const { stream_id, owner } = events.claim;
    const part = { id: stream_id, owner, ...eventsOf(events.events) };
    parts.push({ name: 'events', place: stream_id, part });
  }
  return parts;
}

/** Leaves out null and 0, which are true in Lua. */
function eventsOf(events: NonNullable<TurnChanges['events']>['events']): Record<string, unknown> {
  const { first, ending, list } = storedEvents(events);
  return { ...(first > 0 && { first }), ...(ending !== null && { ending }), list };
}
