import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { GuardedMessage, GuardLimits } from '../../src/daemon/guard/verdict.ts';
import { guardUser } from '../../src/daemon/message/keys.ts';
import { type Session, sessionTag } from '../../src/daemon/session/session.ts';
import { actionIds, type NewPendingAction, toQuestionId } from '../../src/daemon/store/actions/actions.ts';
import type { KeyClaim, SessionClaim, StreamClaim } from '../../src/daemon/store/claims/claims.ts';
import type {
  AttemptOutcome,
  FinalFailure,
  InboxClaim,
  InboxState,
  ScreenedMessage,
} from '../../src/daemon/store/inbox/inbox.ts';
import { MemoryState } from '../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../src/daemon/store/kernels/memory/store.ts';
import { openPostgresStore } from '../../src/daemon/store/kernels/postgres/store.ts';
import { openRedisStore } from '../../src/daemon/store/kernels/redis/store.ts';
import { openSqliteStore } from '../../src/daemon/store/kernels/sqlite/store.ts';
import type { TurnChanges } from '../../src/daemon/store/sessions/turns.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { effort } from '../support/effort.ts';
import { Postgres, withoutPostgres } from '../support/postgres.ts';
import { type SeededRandom, seededRandom } from '../support/random.ts';
import { startCluster } from '../support/redis-cluster.ts';
import { hasRedis, startRedis } from '../support/redis-server.ts';
import {
  ada,
  anAction,
  anInboxMessage,
  aPendingAction,
  aSession,
  aStream,
  aTrace,
  aTurn,
  bob,
  GUARD_LIMITS,
} from './fixtures.ts';
import { sweepAll } from './store-writes.ts';

// Each backend must give the same answers as the reference store, for any commands in any order.

/** Number of runs for each backend; SAME_ANSWERS_RUNS=334 makes about 50,000 commands. */
const RUNS = Number(process.env.SAME_ANSWERS_RUNS ?? effort(1, 334));
const COMMANDS = 150;
const TRACE_RETENTION_MS = 7 * 24 * 3600 * 1000;

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const STATES: InboxState[] = ['waiting', 'running', 'replied', 'done', 'failed'];
const TIGHT: GuardLimits = { ...GUARD_LIMITS, max_messages: 3, max_turns: 4, session_ttl_ms: HOUR };

/** A store, and the claims that it has granted. The backend and the reference have their claims in the same order. */
interface Side {
  store: Store;
  sessions: SessionClaim[];
  keys: KeyClaim[];
  streams: StreamClaim[];
  inbox: InboxClaim[];
}

const FINAL_FAILURES: readonly FinalFailure[] = [
  { kind: 'notify', notice: 'Sorry.', failure: 'agent_failed' },
  { kind: 'failed', failure: 'agent_failed', begun: false },
];

type Command = (side: Side) => Promise<unknown>;

/** The random choices of one run. */
class Choices {
  readonly random: SeededRandom;
  readonly stream_ids: string[] = ['unknown'];
  readonly session_ids: string[];
  readonly message_ids: string[] = ['unknown'];
  readonly action_ids: string[] = ['unknown'];
  now = Date.UTC(2030, 0, 1);
  #made = 0;

  constructor(random: SeededRandom) {
    this.random = random;
    this.session_ids = ['s0', 's1', 's2', 's3'];
  }

  id(of: string): string {
    return `${of}-${this.#made++}`;
  }

  command(): [name: string, command: Command] {
    const commands = Object.entries<() => Command>({
      ...this.#sessions(),
      ...this.#actions(),
      ...this.#keys(),
      ...this.#streams(),
      ...this.#inbox(),
      ...this.#guard(),
      ...this.#links(),
      ...this.#outages(),
      ...this.#budgets(),
      ...this.#summaries(),
      ...this.#toolDigests(),
    });
    const [name, make] = this.random.pick(commands);
    return [name, make()];
  }

  #sessions(): Record<string, () => Command> {
    const { pick, chance, below } = this.random;
    const id = () => pick(this.session_ids);
    const claimOf = (place: number) => (side: Side) => side.sessions.at(-1 - place);
    return {
      claimSession: () => {
        const tag = id();
        return async (side) => keep(side.sessions, await side.store.sessions.claim(tag));
      },
      beginTurn: () => {
        const [tag, named, turn] = [id(), id(), pick([null, 't1', 't2'])];
        return async (side) => {
          const begun = await side.store.beginTurn(tag, named, turn);
          if (begun === null) return null;
          const { claim, found, pending, lapsed, declined, earlier } = begun;
          return [keep(side.sessions, claim), found, pending, lapsed, declined, earlier];
        };
      },
      renewSession: () => under(claimOf(below(3)), ({ store }, claim) => store.sessions.renew(claim)),
      releaseSession: () => under(claimOf(below(3)), ({ store }, claim) => store.sessions.release(claim)),
      saveNew: () => {
        const as = pick(['new', 'replaced'] as const);
        const [owner, now] = [pick([null, ada]), this.now];
        return under(claimOf(below(2)), ({ store }, claim) =>
          store.sessions.save(claim, aSession(now, { session_id: claim.session_tag, owner }), as),
        );
      },
      saveChanged: () => {
        const [renamed, owner] = [chance(0.4) ? this.id('renamed') : null, pick([ada, bob])];
        if (renamed !== null) this.session_ids.push(renamed);
        return under(claimOf(below(2)), async ({ store }, claim) => {
          const found = (await store.sessions.find(claim.session_tag)) ?? aSession(0);
          const ids = renamed === null ? {} : { session_id: renamed, former_id: sessionTag(found) };
          return store.sessions.save(claim, { ...found, ...ids, owner }, 'changed');
        });
      },
      commitTurn: () => this.#commitTurn(claimOf(below(2))),
      endSession: () => {
        const ended = id();
        return ({ store }) => store.sessions.end(ended);
      },
      history: () => {
        const [of, person, nobodys] = [id(), pick([null, ada, bob]), chance(0.5)];
        return ({ store }) => store.sessions.history(of, { person, nobodys }, 3);
      },
    };
  }

  #commitTurn(claimOf: (side: Side) => SessionClaim | undefined): Command {
    const { pick, chance, below } = this.random;
    const parts = { session: chance(0.4), turn: chance(0.9), reply: chance(0.3), answer: chance(0.3) };
    const failed = !parts.reply && chance(0.2) ? pick(FINAL_FAILURES) : null;
    const [record, place, now] = [aTurn({ person: pick([null, ada, bob]) }), below(2), this.now];
    const [created, ends] = [aSession(now, { user_id: pick(['u1', 'u2']) }), chance(0.5)];
    const ends_claim = chance(0.3);
    const trace = aTrace(null, { turn_id: record.turn_id, session_id: created.session_id });
    const ttl_ms = pick([HOUR / 4, HOUR, 2 * HOUR]);
    // A question is stored with the turn that asks it.
    const pending = chance(0.4) && parts.turn ? this.#pending() : null;
    const [asks, counts, withdraws, reader] = [
      chance(0.5),
      chance(0.5),
      chance(0.2),
      pick([ada, bob, 'chat:u1']),
    ];
    return under(claimOf, async ({ store, inbox, keys, streams }, claim) => {
      const [open] = await store.actions.pendingIn(claim.session_tag);
      const question_id = open ? toQuestionId(open) : 'unknown';
      const session: Session = { ...created, session_id: claim.session_tag };
      const [message, key, stream] = [inbox.at(-1 - place), keys.at(-1 - place), streams.at(-1 - place)];
      const last = stream ? ((await store.streams.find(stream.stream_id))?.last_event ?? 0) : 0;
      const data = '{}';
      const changes: TurnChanges = {
        ...(parts.session && { session }),
        ...(parts.turn && { turn: { record, ttl_ms } }),
        trace,
        ...(parts.reply && message && { reply: { claim: message, text: 'the reply' } }),
        ...(failed && message && { failed: { claim: message, outcome: failed } }),
        ...(parts.answer &&
          key && { answer: { claim: key, answer: { session_id: 's', response: 'x' }, ttl_ms } }),
        ...(pending && {
          pending: pending.map((action) => ({
            ...action,
            ...{ session_tag: claim.session_tag, session_id: claim.session_tag },
            asked_by: parts.reply && message ? message.message.id : null,
          })),
        }),
        ...(parts.turn && {
          reply_to_asked: {
            principal: reader,
            sent_by: parts.reply && message ? message.message.id : null,
            repeats: asks ? { question_id, counts } : null,
            withdraws: withdraws ? question_id : null,
          },
        }),
        ...(ends &&
          stream && { events: { claim: stream, events: [{ id: last + 1, event: 'complete', data }] } }),
        ...(ends_claim && { ends_claim }),
      };
      return store.commitTurn(claim, changes);
    });
  }

  #budgets(): Record<string, () => Command> {
    const { pick, below } = this.random;
    const key = () => pick(['person', 'address']);
    const reservations = ['r0', 'r1', 'r2'];
    return {
      reserveTokens: () => {
        const request = { id: this.id('r'), tokens: below(600), max: 1000, ttl_ms: pick([SECOND, HOUR]) };
        const of = key();
        return ({ store }) => store.budgets.reserve(of, request);
      },
      settleTokens: () => {
        const [of, id, tokens] = [key(), pick(reservations), below(600)];
        return ({ store }) => store.budgets.settle(of, id, tokens);
      },
    };
  }

  /** A summary is begun and stored by a single command, because the tokens of the two stores differ. */
  #summaries(): Record<string, () => Command> {
    const { pick, chance } = this.random;
    return {
      keepSummary: () => {
        const [of, isKept] = [pick(this.session_ids), chance(0.8)];
        const summary = {
          principal: pick([ada, bob]),
          text: this.id('text'),
          tainted: chance(0.5),
          through_turn: 't',
          through_at: 1,
        };
        return async ({ store }) => {
          // Summaries are found by the tag of their session, not by an id that the session got later.
          const session = await store.sessions.find(of);
          if (session && sessionTag(session) !== of) return 'no tag';
          const token = await store.summaries.begin(of, SECOND);
          if (token === null) return 'not begun';
          return isKept ? store.summaries.keep(of, token, summary) : 'begun';
        };
      },
      findSummary: () => {
        const [of, principal] = [pick(this.session_ids), pick([ada, bob])];
        return async ({ store }) => {
          const session = await store.sessions.find(of);
          return session && sessionTag(session) !== of ? 'no tag' : store.summaries.find(of, principal);
        };
      },
    };
  }

  /** The actions of one question. */
  #pending(): NewPendingAction[] {
    const { pick, below } = this.random;
    const principal = pick([ada, bob, 'chat:u1']);
    const question_id = this.id('action');
    const turn_key = pick(['t1', 't2']);
    return actionIds(question_id, 1 + below(3)).map((action_id) =>
      aPendingAction(aSession(this.now), {
        ...{ action_id, turn_key, principal, args: pick(['{}', 'sealed.v1.x']) },
        ...{ person: principal === ada ? ada : null, answer_ms: 60 * SECOND, unasked_ms: 90 * SECOND },
      }),
    );
  }

  #actions(): Record<string, () => Command> {
    const { pick, below } = this.random;
    const id = () => {
      // A new id stands for the random id of a pending action. A known id stands for the hash of an equal call.
      const action_id = pick([this.id('action'), ...this.action_ids.slice(-5)]);
      this.action_ids.push(action_id);
      return action_id;
    };
    const claimOf = (place: number) => (side: Side) => side.sessions.at(-1 - place);
    return {
      startAction: () => {
        const [place, owner] = [below(2), pick([null, ada, bob])];
        const about = { person: owner, turn_key: pick(['t1', 't2']), session_tag: pick(this.session_ids) };
        const action = anAction({ action_id: id(), ...about, args: pick(['{}', 'sealed.v1.x']) });
        return under(claimOf(below(2)), ({ store, keys }, session) =>
          store.actions.start({ session, key: keys.at(-1 - place) ?? null }, action),
        );
      },
      restartAction: () => {
        const [action_id, attempt] = [id(), 1 + below(2)];
        return under(claimOf(below(2)), ({ store }, session) =>
          store.actions.restart({ session, key: null }, action_id, attempt),
        );
      },
      finishAction: () => {
        const [action_id, attempt] = [id(), 1 + below(2)];
        const state = pick(['done', 'failed', 'unknown'] as const);
        return ({ store }) => store.actions.finish(action_id, attempt, { state, status: 200, answer: 'x' });
      },
      settleAction: () => {
        const [to, place] = [pick(['started', 'withdrawn'] as const), below(3)];
        return under(claimOf(below(2)), async ({ store }, claim) => {
          const pending = await store.actions.pendingIn(claim.session_tag);
          const settled = [...(await store.actions.ofTurn('t3')), ...pending].at(-1 - place);
          return store.actions.settle(claim, settled?.action_id ?? 'unknown', to, 't3');
        });
      },
      answerQuestion: () => {
        const [yes, no, turn_key, begins] = [below(3), below(3), pick(['t1', 't3']), pick([true, false])];
        return under(claimOf(below(2)), async ({ store }, claim) => {
          const waiting = (await store.actions.pendingIn(claim.session_tag)).map(
            ({ action_id }) => action_id,
          );
          const [confirmed, declined] = [waiting.slice(0, yes), waiting.slice(yes, yes + no)];
          const begun = begins ? confirmed[0] : undefined;
          const asked = await store.actions.ofQuestion(waiting.at(0)?.split(':')[0] ?? 'unknown');
          return [
            asked,
            await store.actions.answer(claim, { confirmed, declined, begun, answered_at: 7 }, turn_key),
          ];
        });
      },
      withdrawActions: () => {
        const of = pick([
          { session_tag: pick(this.session_ids) },
          { platform: 'chat', user_id: 'u1', keep: ada },
          { action_id: id() },
        ]);
        return ({ store }) => store.actions.withdraw(of);
      },
      listActions: () => {
        const who = pick([{ person: ada }, { platform: 'chat', user_id: 'u1', nobodys: true }]);
        const filter = pick([
          { who },
          { session: pick(this.session_ids) },
          { since: this.now - 60 * SECOND },
        ]);
        return ({ store }) => store.actions.list({ ...filter, limit: 5 });
      },
    };
  }

  #keys(): Record<string, () => Command> {
    const { pick, below, chance } = this.random;
    const key = () => pick(['k0', 'k1', 'k2']);
    const body = () => pick(['body', 'another']);
    const claimOf = (place: number) => (side: Side) => side.keys.at(-1 - place);
    return {
      claimKey: () => {
        const [claimed, of] = [key(), body()];
        return async (side) => {
          const found = await side.store.idempotency.claim(claimed, of);
          if (found.outcome !== 'new') return found;
          keep(side.keys, found.claim);
          return 'new';
        };
      },
      lookKey: () => {
        const [looked, of] = [key(), body()];
        return ({ store }) => store.idempotency.look(looked, of);
      },
      renewKey: () => under(claimOf(below(3)), ({ store }, claim) => store.idempotency.renew(claim)),
      releaseKey: () => {
        const counted = chance(0.5);
        return under(claimOf(below(3)), ({ store }, claim) => store.idempotency.release(claim, { counted }));
      },
      finishKey: () => {
        const answer = { session_id: 's', response: this.id('answer'), reader: pick([null, ada]) };
        return under(claimOf(below(3)), ({ store }, claim) => store.idempotency.finish(claim, answer, HOUR));
      },
    };
  }

  #streams(): Record<string, () => Command> {
    const { pick, chance, below } = this.random;
    const stream_id = () => pick(this.stream_ids.slice(-4));
    const claimOf = (place: number) => (side: Side) => side.streams.at(-1 - place);
    return {
      createStream: () => {
        const made = { stream_id: this.id('stream'), idempotency_key: pick([null, 'one', 'two']) };
        this.stream_ids.push(made.stream_id);
        const stream = aStream({ ...made, token: pick([null, 'a.b.c']), owner: pick([null, ada]) });
        return ({ store }) => store.streams.create(stream);
      },
      claimStream: () => {
        const [id, claimant] = [stream_id(), { owner: pick([null, bob]), reader: pick([null, bob]) }];
        const first = pick([[], [{ id: 1, event: 'stream_start' as const, data: '{}' }]]);
        return async (side) => keep(side.streams, await side.store.streams.claim(id, claimant, first));
      },
      renewStream: () => under(claimOf(below(3)), ({ store }, claim) => store.streams.renew(claim)),
      appendEvents: () => {
        const [gap, event] = [
          chance(0.1) ? 1 : 0,
          pick(['text_chunk', 'text_chunk', 'stream_complete', 'error']),
        ];
        return under(claimOf(below(3)), async ({ store }, claim) => {
          const last = (await store.streams.find(claim.stream_id))?.last_event ?? 0;
          const events = [{ id: last + 1 + gap, event: event as 'text_chunk', data: '{"text":"ü"}' }];
          return store.streams.append(claim, events);
        });
      },
      requestStop: () => {
        const id = stream_id();
        return ({ store }) => store.streams.requestStop(id);
      },
      releaseStream: () => under(claimOf(below(3)), ({ store }, claim) => store.streams.release(claim)),
      reapStreams:
        () =>
        ({ store }) =>
          store.streams.reap({ event: 'error', data: '{}' }),
    };
  }

  #inbox(): Record<string, () => Command> {
    const { pick, chance, below } = this.random;
    const message = () => {
      const id = this.id('message');
      this.message_ids.push(id);
      const queue = pick(['chat:a', 'chat:b', 'chat:c']);
      const message_id = chance(0.7) ? pick(['m0', 'm1', 'm2', 'm3', 'm4', 'm5']) : null;
      const reply = chance(0.2) ? 'a text' : null;
      const about = { id, queue, session_id: queue, message_id, reply, request_id: this.id('request') };
      const collects = chance(0.5) ? { wait_ms: SECOND, max_ms: 3 * SECOND } : undefined;
      return anInboxMessage({
        ...about,
        platform: pick(['chat', 'chat', 'mail']),
        ...(collects && { collects }),
      });
    };
    const id = () => pick(this.message_ids.slice(-8));
    const outcome = (): AttemptOutcome =>
      pick<AttemptOutcome>([
        { kind: 'given_back' },
        { kind: 'again', wait_ms: pick([0, 5 * SECOND]), failure: 'again', counts: chance(0.5) },
        { kind: 'notify', notice: 'sorry', failure: 'notify' },
        { kind: 'sent' },
        { kind: 'failed', failure: 'failed' },
      ]);
    const claimOf = (place: number) => (side: Side) => side.inbox.at(-1 - place);
    const onId = (act: (store: Store, id: string) => Promise<unknown>) => () => {
      const one = id();
      return ({ store }: Side) => act(store, one);
    };
    return {
      enqueue: () => {
        const messages = Array.from({ length: 1 + below(3) }, message);
        return ({ store }) => store.inbox.enqueue(messages);
      },
      screen: () => {
        const arrivals = Array.from({ length: 1 + below(3) }, (): ScreenedMessage => {
          const arrived = { ...message(), reply: null } as ScreenedMessage['message'];
          const about = { message: null, session_id: null, queue: 'chat/x', message_id: null };
          return {
            message: arrived,
            guarded: { ...this.guarded(), message_id: arrived.message_id },
            notice: { ...message(), ...about },
          };
        });
        return ({ store }) => store.inbox.screen(arrivals, TIGHT);
      },
      claimMessages: () => {
        const [kind, limit] = [pick(['run', 'send'] as const), 1 + below(2)];
        const platforms = pick([['chat'], ['mail'], ['chat', 'mail']]);
        return async (side) => {
          const claims = await side.store.inbox.claim(kind, platforms, limit);
          return claims.map((claim) => keep(side.inbox, claim));
        };
      },
      takeMessages: () => {
        const room = { run: below(3), send: below(3), idle: below(2) === 0 };
        const platforms = pick([['chat'], ['mail'], ['chat', 'mail']]);
        return async (side) => {
          const { outages, interrupted, claims } = await side.store.inbox.take(platforms, room);
          const names = outages.map(({ platform }) => platform).sort();
          return [names, interrupted, claims.map((claim) => keep(side.inbox, claim))];
        };
      },
      renewMessage: () => under(claimOf(below(3)), ({ store }, claim) => store.inbox.renew(claim)),
      settle: () => {
        const to = outcome();
        return under(claimOf(below(2)), ({ store }, claim) => store.inbox.settle(claim, to));
      },
      collect: () => under(claimOf(below(2)), ({ store }, claim) => store.inbox.collect(claim)),
      endCollecting: () => {
        const user_id = pick(['u0', 'u1']);
        return ({ store }) => store.inbox.endCollecting('chat', user_id);
      },
      edit: () => {
        const message_id = pick(['m0', 'm1', 'm2']);
        const [user_id, session_id] = [pick(['u0', 'u1']), pick(['a', 'b'])];
        return ({ store }) =>
          store.inbox.edit({ platform: 'chat', message_id, user_id, session_id, text: 'edited' });
      },
      nextDueAt: () => {
        const kind = pick(['run', 'send'] as const);
        return ({ store }) => store.inbox.nextDueAt(kind, ['chat', 'mail']);
      },
      notePartsSent: onId((store, one) => store.inbox.notePartsSent(one, 2)),
      partsSent: onId((store, one) => store.inbox.partsSent(one)),
      retry: onId((store, one) => store.inbox.retry(one)),
      discard: onId((store, one) => store.inbox.discard(one)),
      search: onId((store, one) => store.inbox.search(one)),
      searchNamed: () => {
        const name = pick(['m0', 'chat:m1', 'mail:m2', 'chat:a', 'm3', 'request-1']);
        return ({ store }) => store.inbox.search(name);
      },
      expireTexts: () => {
        const until = this.now - 10 * SECOND;
        return ({ store }) => store.inbox.expire('chat', until, 'too late');
      },
      retryFailed: () => {
        const since = this.now - HOUR;
        return ({ store }) => store.inbox.retryFailed({ platform: 'chat', failed_since: since });
      },
    };
  }

  guarded(): GuardedMessage {
    const { pick, chance, below } = this.random;
    const about = { person: pick([null, null, ada]), address: pick([null, null, '192.0.2.1']) };
    return {
      user: guardUser({ platform: 'chat', user_id: pick(['u1', 'u2']), ...about }),
      session_id: pick(this.session_ids),
      text: pick(['a', 'b', 'c', 'd']),
      message_id: chance(0.3) ? pick(['m0', 'm1', 'm2']) : null,
      sent_at: chance(0.4) ? this.now + 5 * SECOND - below(70 * SECOND) : null,
    };
  }

  #guard(): Record<string, () => Command> {
    const { pick } = this.random;
    return {
      check: () => {
        const message = this.guarded();
        return ({ store }) => store.guard.check(message, TIGHT);
      },
      giveBackTurn: () => {
        const tag = pick(this.session_ids);
        return ({ store }) => store.guard.giveBackTurn(tag);
      },
      isBlocked: () => {
        const { user } = this.guarded();
        return ({ store }) => store.guard.isBlocked(user);
      },
      resetUser: () => {
        const user = pick(['u1', 'ada', 'nobody']);
        return ({ store }) => store.guard.resetUser('chat', user);
      },
      resetSession: () => {
        const id = pick(this.session_ids);
        return ({ store }) => store.guard.resetSession(id);
      },
      hitLimit: () => {
        const [key, max] = [pick(['a', 'b']), 1 + this.random.below(4)];
        return ({ store }) => store.limits.hit(key, { max, window_ms: 10 * SECOND });
      },
    };
  }

  #links(): Record<string, () => Command> {
    const { pick, chance } = this.random;
    const key = () => pick(['chat:jwt:u1', 'chat:jwt:u2', 'mail:jwt:u1']);
    const token = (found: string | null | undefined) => (chance(0.8) ? (found ?? null) : 'another');
    const alias = () => ({ alias: pick(['chat:X', 'chat:Y']), person: pick([ada, bob]) });
    const onLink = (act: (store: Store, key: string, token: string | null) => Promise<unknown>) => {
      const [of, isRead] = [key(), chance(0.8)];
      return async ({ store }: Side) => {
        const found = (await store.links.get(of))?.token ?? null;
        return act(store, of, isRead ? found : token('another'));
      };
    };
    return {
      putLink: () => {
        const link = { token: this.id('token'), person: pick([ada, bob]), ttl_ms: pick([HOUR, 24 * HOUR]) };
        return onLink((store, of, found) => store.links.put({ key: of, ...link }, new Map([[of, found]])));
      },
      bindAlias: () => {
        const bound = alias();
        return onLink((store, of, found) => store.links.bindAlias(of, found ?? '', bound));
      },
      noteReassigned: () => onLink((store, of, found) => store.links.noteReassigned(of, found ?? '')),
      findByAlias: () => {
        const of = alias().alias;
        return ({ store }) => store.links.findByAlias(of);
      },
      removeLink: () => onLink((store, of, found) => store.links.remove(new Map([[of, found ?? '']]))),
      noteLapseTold: () => onLink((store, of, found) => store.links.noteExpiryNotified(of, found ?? '')),
    };
  }

  #outages(): Record<string, () => Command> {
    const platform = () => this.random.pick(['chat', 'mail']);
    const on = (act: (store: Store, platform: string) => Promise<unknown>) => () => {
      const of = platform();
      return ({ store }: Side) => act(store, of);
    };
    return {
      noteOutage: on((store, of) => store.outages.note(of, 'unreachable', 'x', 5 * SECOND)),
      takeProbe: on((store, of) => store.outages.takeProbe(of, 5 * SECOND)),
      hurry: on((store, of) => store.outages.hurry(of)),
      endOutage: on((store, of) => store.outages.end(of)),
    };
  }

  #toolDigests(): Record<string, () => Command> {
    const { pick } = this.random;
    const name = () => pick(['docs_search', 'docs_read']);
    const digest = () => pick(['d1', 'd2', 'd3']);
    return {
      observeTool: () => {
        const [of, seen] = [name(), { digest: digest(), title: null, description: 'x', schema: '{}' }];
        return ({ store }) => store.toolDigests.observe(of, 'docs', seen);
      },
      trustTool: () => {
        const [of, as] = [name(), digest()];
        return ({ store }) => store.toolDigests.trust(of, as);
      },
    };
  }
}

/** Records a claim. @returns the claim without its owner, which is random. */
function keep<C extends { owner: string }>(claims: C[], claim: C | null): unknown {
  if (claim === null) return null;
  claims.push(claim);
  const { owner: _, ...rest } = claim;
  return rest;
}

/** A command that needs a claim. If there is no claim, the command does nothing. */
function under<C>(
  claimOf: (side: Side) => C | undefined,
  act: (side: Side, claim: C) => Promise<unknown>,
): Command {
  return async (side) => {
    const claim = claimOf(side);
    return claim === undefined ? 'no claim' : act(side, claim);
  };
}

/** The outcome of a command: its result, or the fact that it rejects. */
async function outcomeOf(command: Command, side: Side): Promise<unknown> {
  try {
    return { result: await command(side) };
  } catch (error) {
    return { rejects: error instanceof Error };
  }
}

/** Reads everything on which the two stores must agree. */
async function contentOf({ store }: Side, { stream_ids, session_ids }: Choices): Promise<unknown> {
  // Items with the same time have no defined order.
  const byText = (a: unknown, b: unknown) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);
  const listed = (await store.sessions.list({ limit: 100 })).sort(
    (a, b) => b.last_active_at - a.last_active_at || (a.session_id < b.session_id ? -1 : 1),
  );
  const { circuits, sessions } = await store.guard.list();
  return {
    sessions: listed,
    turns: await Promise.all(listed.map(({ session_id }) => store.sessions.turns(session_id))),
    traces: await Promise.all(session_ids.map((id) => store.traces.find(id))),
    guard: [circuits.sort(byText), sessions.sort(byText)],
    inbox: await store.inbox.list({ states: STATES, limit: 1000 }),
    links: await store.links.list({ limit: 100 }),
    outages: (await store.outages.list()).sort((a, b) => (a.platform < b.platform ? -1 : 1)),
    tools: await store.toolDigests.list(),
    streams: await Promise.all(stream_ids.map((id) => store.streams.find(id))),
    events: await Promise.all(stream_ids.map((id) => store.streams.read(id, 0))),
    actions: await store.actions.list({ limit: 1000 }),
    ofTurns: await Promise.all(['t1', 't2', 't3'].map((turn) => store.actions.ofTurn(turn))),
    pending: await Promise.all(session_ids.map((id) => store.actions.pendingIn(id))),
    tokens: [...(await store.countSeals())].sort(),
  };
}

/** Creates an empty store, whose clock the test moves. */
type MakeStore = (now: () => number) => Promise<Store>;

async function compareAnswers(make: MakeStore): Promise<void> {
  const random = seededRandom(11);
  for (let run = 0; run < RUNS; run++) {
    const choices = new Choices(random);
    const clock = { now: () => choices.now };
    const store = await make(clock.now);
    const memory = openMemoryStore(new MemoryState(), { clock, traceRetentionMs: TRACE_RETENTION_MS });
    const [backend, reference] = [store, memory].map(
      (one): Side => ({ store: one, sessions: [], keys: [], streams: [], inbox: [] }),
    ) as [Side, Side];
    for (let number = 0; number < COMMANDS; number++) {
      if (random.chance(0.2)) choices.now += random.pick([1, SECOND, 4 * SECOND, 16 * SECOND, 61 * SECOND]);
      if (random.chance(0.01)) {
        choices.now += random.pick([HOUR, 25 * HOUR, 8 * 24 * HOUR]);
        // Backends differ in how long they remember expired claims, so claims from before this jump are not used any
        // longer.
        for (const { sessions, keys } of [backend, reference])
          for (const claims of [sessions, keys]) claims.length = 0;
        // In practice, the streams of a dead daemon are reaped long before so much time has passed.
        for (const side of [backend, reference])
          await side.store.streams.reap({ event: 'error', data: '{}' });
        await sweepAll(store);
      }
      if (random.chance(0.05)) await sweepAll(store);
      const [name, command] = choices.command();
      const expected = await outcomeOf(command, reference);
      const where = `run ${run}, command ${number}: ${name}`;
      expect(await outcomeOf(command, backend), where).toEqual(expected);
      if (number % 25 === 24)
        expect(await contentOf(backend, choices), where).toEqual(await contentOf(reference, choices));
    }
    await Promise.all([store.close(), memory.close()]);
  }
}

const timeout = 60_000 + RUNS * 3000;
const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

describe('each backend gives the same answers as the reference store:', () => {
  it('sqlite', { timeout }, () =>
    compareAnswers(async (now) => {
      const directory = mkdtempSync(join(tmpdir(), 'agentd-same-'));
      directories.push(directory);
      const options = { role: 'daemon', clock: { now }, traceRetentionMs: TRACE_RETENTION_MS } as const;
      return openSqliteStore(join(directory, 'x.db'), options);
    }),
  );

  it.skipIf(withoutPostgres)('postgres', { timeout }, async () => {
    const server = await Postgres.start();
    try {
      const database = await server.createDatabase();
      await compareAnswers(async (now) => {
        const url = await server.createSchema(database);
        return openPostgresStore({ url, now, log: { debug() {} }, traceRetentionMs: TRACE_RETENTION_MS });
      });
    } finally {
      await server.stop();
    }
  });

  it.skipIf(!hasRedis).each([
    ['redis', startRedis],
    ['redis cluster', () => startCluster(3)],
  ])('%s', { timeout }, async (_, start) => {
    const server = await start();
    try {
      await compareAnswers(async (now) => {
        await server.flush();
        return openRedisStore({ url: server.url, now, traceRetentionMs: TRACE_RETENTION_MS });
      });
    } finally {
      await server.stop();
    }
  });
});
