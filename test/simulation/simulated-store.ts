import { StoreUnavailable } from '../../src/daemon/errors.ts';
import type { GuardedMessage, GuardVerdict } from '../../src/daemon/guard/verdict.ts';
import { measuredPorts } from '../../src/daemon/metrics/measured-store.ts';
import type { RunClaims } from '../../src/daemon/store/actions/actions.ts';
import type {
  KeyClaim,
  SessionClaim,
  SessionPlace,
  StreamClaim,
} from '../../src/daemon/store/claims/claims.ts';
import type { InboxClaim, Screened, ScreenedMessage, Taken } from '../../src/daemon/store/inbox/inbox.ts';
import { openMemoryStore } from '../../src/daemon/store/kernels/memory/store.ts';
import type { BegunTurn, CommitOutcome, TurnChanges } from '../../src/daemon/store/sessions/turns.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { STREAM, type StreamListener } from '../../src/daemon/store/streams.ts';
import type { SimulatedDaemon } from './daemon.ts';
import { brief } from './trace.ts';
import type { World } from './world.ts';

type CommitParameters = Parameters<Store['commitTurn']>;
type Method = (...given: unknown[]) => Promise<unknown>;

/** Frequent calls that only read. They are not reported to the audit of claims. */
const UNAUDITED: ReadonlySet<string> = new Set(['outages.list', 'inbox.nextDueAt']);

/**
 * The store of one daemon on the shared state: each call waits for the scheduler before and after its effect, can have
 * a fault, and is reported to the audit of claims.
 */
export function openSimulatedStore(world: World, daemon: SimulatedDaemon): Store {
  const memory = openMemoryStore(world.state, { clock: world.scheduler.clockOf(daemon.actor) });
  const wrapped = (op: string, method: Method): Method => {
    const isAudited = !UNAUDITED.has(op);
    return (...given) =>
      world.pass(daemon, {
        op,
        effect: () => (isAudited ? world.atomically(() => audited(op, method, given)) : method(...given)),
        failure: (when) => new StoreUnavailable(new Error(`${op} failed ${when} its effect`)),
        words: () => given.map(briefOf).filter(Boolean).join(', '),
      });
  };
  const audited = async (op: string, method: Method, given: unknown[]): Promise<unknown> => {
    const before = op === 'commitTurn' ? world.record.beforeCommit(...(given as CommitParameters)) : null;
    const result = await method(...given).catch((error: unknown) => {
      if (!daemon.leavesRequests)
        world.report(
          `${daemon.name}: the store rejects ${op}(${given.map(brief).join(', ')}): ${brief(error)}`,
        );
      throw error;
    });
    audit(world, daemon, op, given, result);
    before?.(result as CommitOutcome);
    return result;
  };
  const ports = measuredPorts(memory).map(([name, port]) => {
    const methods = Object.entries(port).map(([method, value]) => [
      method,
      typeof value === 'function' && method !== 'subscribe'
        ? wrapped(`${name}.${method}`, value as Method)
        : value,
    ]);
    return [name, Object.fromEntries(methods)];
  });
  const store = { ...memory, ...Object.fromEntries(ports) } as Store;
  return {
    ...store,
    beginTurn: wrapped('beginTurn', memory.beginTurn as Method) as Store['beginTurn'],
    commitTurn: wrapped('commitTurn', memory.commitTurn as Method) as Store['commitTurn'],
    streams: {
      ...store.streams,
      gather_ms: 30,
      subscribe: (stream_id, listener) =>
        memory.streams.subscribe(stream_id, lateListener(world, daemon, listener)),
    },
  };
}

/** Wraps a listener so that its hints arrive after the change, or sometimes never. */
function lateListener(world: World, daemon: SimulatedDaemon, listener: StreamListener): StreamListener {
  return (...change) => {
    if (daemon.actor.isDead || (!world.faults.isCalm && world.random.chance(0.1))) return;
    world.scheduler.add(daemon.actor, world.random.below(20), () => listener(...change));
  };
}

function audit(world: World, daemon: SimulatedDaemon, op: string, given: unknown[], result: unknown): void {
  const { claims, record } = world;
  const by = daemon.name;
  const [first, second] = given as [never, never];
  switch (op) {
    case 'beginTurn':
    case 'sessions.claim': {
      const claim =
        op === 'beginTurn' ? ((result as BegunTurn | null)?.claim ?? null) : (result as SessionClaim | null);
      if (claim) claims.given('session', claim.session_tag, claim.owner, by);
      else claims.waits(first, (given[4] as SessionPlace | undefined)?.daemon ?? by);
      return;
    }
    case 'sessions.wait':
      claims.queued(first, (second as SessionPlace).daemon);
      return;
    case 'sessions.renew': {
      const claim = first as SessionClaim;
      claims.renewed('session', claim.session_tag, claim.owner, result as boolean);
      return;
    }
    case 'sessions.release': {
      const claim = first as SessionClaim;
      claims.ended('session', claim.session_tag, claim.owner);
      return;
    }
    case 'sessions.save': {
      const claim = first as SessionClaim;
      claims.wrote('session', claim.session_tag, claim.owner, result !== 'lost');
      return;
    }
    case 'actions.start':
    case 'actions.restart': {
      const { session, key } = first as RunClaims;
      const isHeld =
        claims.isHeld('session', session.session_tag, session.owner) &&
        (key === null || claims.isHeld('key', key.key, key.owner));
      const isLost = (op === 'actions.start' ? (result as { outcome: string }).outcome : result) === 'lost';
      if (isLost === isHeld)
        world.report(
          `${by}: a write ${isLost ? 'was refused although its claims are held' : 'was recorded under a claim that has ended'}`,
        );
      return;
    }
    case 'idempotency.claim': {
      const state = result as { outcome: string; claim?: KeyClaim };
      if (state.claim) claims.given('key', state.claim.key, state.claim.owner, by);
      else if (state.outcome === 'running') claims.refused('key', first);
      return;
    }
    case 'idempotency.renew': {
      const claim = first as KeyClaim;
      claims.renewed('key', claim.key, claim.owner, result as boolean);
      return;
    }
    case 'idempotency.finish':
    case 'idempotency.release': {
      const claim = first as KeyClaim;
      if (op === 'idempotency.finish') claims.wrote('key', claim.key, claim.owner, result as boolean);
      claims.ended('key', claim.key, claim.owner);
      return;
    }
    case 'streams.claim': {
      const claim = result as StreamClaim | null;
      if (claim) claims.given('stream', claim.stream_id, claim.owner, by);
      return;
    }
    case 'streams.renew': {
      const claim = first as StreamClaim;
      claims.renewed('stream', claim.stream_id, claim.owner, result as boolean);
      return;
    }
    case 'streams.append': {
      const claim = first as StreamClaim;
      claims.wrote('stream', claim.stream_id, claim.owner, result as boolean);
      endStreams(world);
      return;
    }
    case 'streams.release': {
      const claim = first as StreamClaim;
      claims.ended('stream', claim.stream_id, claim.owner);
      return;
    }
    case 'streams.reap': {
      for (const { record: stream } of world.state.all(STREAM))
        if (stream.state === 'ended' && claims.isValid('stream', stream.stream_id))
          world.report(`${by} reaped the stream ${stream.stream_id} although its claim was valid`);
      for (const stream_id of claims.expired('stream')) {
        if (world.state.get(STREAM, stream_id)?.record.state === 'running')
          world.report(`${by} did not reap the stream ${stream_id} although nobody has it`);
        claims.reaped('stream', stream_id);
      }
      endStreams(world);
      return;
    }
    case 'inbox.claim':
    case 'inbox.take': {
      const given = op === 'inbox.take' ? (result as Taken).claims : (result as InboxClaim[]);
      for (const claim of given) claims.given('message', claim.message.id, claim.owner, by);
      return;
    }
    case 'inbox.renew': {
      const claim = first as InboxClaim;
      claims.renewed('message', claim.message.id, claim.owner, result as boolean);
      return;
    }
    case 'inbox.settle': {
      const claim = first as InboxClaim;
      claims.wrote('message', claim.message.id, claim.owner, result as boolean);
      claims.ended('message', claim.message.id, claim.owner);
      return;
    }
    case 'inbox.reap': {
      for (const id of claims.expired('message')) claims.reaped('message', id);
      return;
    }
    case 'inbox.screen': {
      const { verdicts } = result as Screened;
      for (const [index, { guarded }] of (first as ScreenedMessage[]).entries())
        record.judged(guarded, verdicts[index] as GuardVerdict);
      return;
    }
    case 'guard.check':
      record.judged(first as GuardedMessage, result as GuardVerdict);
      return;
    case 'guard.giveBackTurn':
      record.gaveBack(first);
      return;
    case 'commitTurn': {
      auditCommit(world, first, second, result as CommitOutcome);
      return;
    }
  }
}

function auditCommit(
  world: World,
  claim: SessionClaim,
  { reply, failed, answer, events, ends_claim }: TurnChanges,
  outcome: CommitOutcome,
): void {
  const { claims } = world;
  const isStored = outcome !== 'lost';
  const isHeld =
    claims.isHeld('session', claim.session_tag, claim.owner) &&
    (!reply || claims.isHeld('message', reply.claim.message.id, reply.claim.owner)) &&
    (!failed || claims.isHeld('message', failed.claim.message.id, failed.claim.owner)) &&
    (!answer || claims.isHeld('key', answer.claim.key, answer.claim.owner)) &&
    (!events || claims.isHeld('stream', events.claim.stream_id, events.claim.owner));
  if (isStored && !isHeld)
    world.report(`a turn of ${claim.session_tag} was stored under a claim that has ended`);
  if (!isStored && isHeld)
    world.report(`a turn of ${claim.session_tag} was refused although all claims are held`);
  if (isStored && failed) claims.ended('message', failed.claim.message.id);
  if (isStored && answer) claims.ended('key', answer.claim.key);
  if (isStored && ends_claim) claims.ended('session', claim.session_tag);
  endStreams(world);
}

/** Ends the claims of streams that have ended. */
function endStreams({ state, claims }: World): void {
  for (const { record } of state.all(STREAM))
    if (record.state === 'ended') claims.ended('stream', record.stream_id);
}

/** Formats an argument for a line of a trace. Claims and messages are shown by their names. */
function briefOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return brief(value);
  if (Array.isArray(value)) return value.length === 0 ? '' : `[${value.map(briefOf).join(', ')}]`;
  const { session_tag, key, stream_id, message, id, turn, reply, failed, answer, events, event } =
    value as Record<string, never>;
  if (session_tag) return session_tag;
  if (stream_id) return stream_id;
  if (event) return `${id}:${event} ${brief((value as { data?: unknown }).data)}`;
  if (turn) {
    const { record } = turn as { record: { text: string; outcome: string; reply: string | null } };
    const parts = { reply, failed, answer, events: (events as { events?: unknown } | undefined)?.events };
    const also = Object.entries(parts).flatMap(([name, part]) => (part ? [name] : []));
    return `turn "${record.text}" ${record.outcome} ${brief(record.reply)}${also.length ? ` with ${also.join(', ')}` : ''}`;
  }
  if (message) return briefOf(message);
  if (key) return key;
  if (id) return id;
  return brief(value);
}
