import { parseRedisUrl } from '../../settings/addresses.ts';
import {
  ACTIONS_RETENTION_MS,
  DONE_MS,
  FAILED_MAX,
  FAILED_MS,
  INBOX_MAX,
  REFUSED_MAX,
  SEEN_MS,
  TRACES_MAX,
} from '../bounds.ts';
import { CLAIM_MS } from '../claims.ts';
import { ERASED_MS } from '../persons.ts';
import type { Store } from '../store.ts';
import { RedisActions } from './actions.ts';
import { RedisAudit } from './audit.ts';
import { RedisBudgets } from './budgets.ts';
import { countKeys } from './census.ts';
import { RedisConnection } from './connection.ts';
import { RedisGuard } from './guard.ts';
import { type GuardDesk, OneStepDesk } from './guard-desk.ts';
import { RedisIdempotency } from './idempotency.ts';
import { RedisInbox } from './inbox.ts';
import type { InboxMax } from './inbox-bounds.ts';
import { RedisKeyspace } from './keyspace.ts';
import { checkLayout, LAYOUT } from './layout.ts';
import { RedisLimits } from './limits.ts';
import { RedisLinks } from './links.ts';
import { RedisOutages } from './outages.ts';
import { RedisPersons } from './persons.ts';
import { RedisReplicas } from './replicas.ts';
import { adviceOn, lookAtServer } from './server.ts';
import { RedisSessions } from './sessions.ts';
import { ShardedDesk } from './sharded-desk.ts';
import { ShardedInbox } from './sharded-inbox.ts';
import { SHARDS } from './shards.ts';
import { StoredTokens } from './stored-tokens.ts';
import { StreamChanges } from './stream-changes.ts';
import { RedisStreams } from './streams.ts';
import { RedisSummaries } from './summaries.ts';
import { RedisToolDigests } from './tool-digests.ts';
import { RedisTraces } from './traces.ts';
import { RedisTurns } from './turns.ts';

const LINK_MS = 30 * 24 * 60 * 60 * 1000;

export interface RedisStoreOptions {
  /** REDIS_URL. */
  url: string;
  /** REDIS_DURABILITY=always. */
  isAlways?: boolean;
  /** TRACE_RETENTION_DAYS, in ms. */
  traceRetentionMs: number;
  /** ACTIONS_RETENTION_DAYS, in ms. */
  actionsRetentionMs?: number;
  /** The time of the store in tests. If absent, the server's time is used. */
  now?: () => number;
  tracesMax?: number;
  refusedMax?: number;
  inboxMax?: number;
  failedMax?: number;
}

/**
 * The store that many daemons share (agentd-store(7), "Redis"). An operation is one script or several. If one script
 * reads and a later script writes, the later script checks that nothing has changed in the meantime.
 * @throws StoreUnavailable, StoreTooOld, StoreOfAnotherLayout
 */
export async function openRedisStore(options: RedisStoreOptions): Promise<Store> {
  const { traceRetentionMs, tracesMax = TRACES_MAX, refusedMax = REFUSED_MAX } = options;
  const { actionsRetentionMs = ACTIONS_RETENTION_MS } = options;
  const { inboxMax = INBOX_MAX, failedMax = FAILED_MAX } = options;
  const address = parseRedisUrl(options.url);
  const isSharded = address.kind === 'cluster';
  const connection = new RedisConnection(address, {
    ...(options.now && { now: options.now }),
    constants: {
      CLAIM_MS,
      SEEN_MS,
      DONE_MS,
      FAILED_MS,
      LINK_MS,
      ERASED_MS,
      TRACE_RETENTION_MS: traceRetentionMs,
      ACTIONS_RETENTION_MS: actionsRetentionMs,
      // In a Cluster, each shard keeps its part of the traces that are stored with turns.
      TRACES_MAX: isSharded ? Math.ceil(tracesMax / SHARDS) : tracesMax,
      INBOX_MAX: inboxMax,
      FAILED_MAX: failedMax,
      LAYOUT,
    },
  });
  await connection.connect();
  const server = await lookAtServer(connection);
  connection.awaitDurability(server, options.isAlways ?? false);
  const redis = new RedisKeyspace(connection);
  await checkLayout(redis, connection);

  const changes = new StreamChanges(redis);
  const sessions = new RedisSessions(redis);
  const links = new RedisLinks(redis);
  const outages = new RedisOutages(redis);
  const { desk, inbox } = isSharded
    ? shardedInbox(redis, outages, { open: inboxMax, failed: failedMax })
    : oneStepInbox(redis);
  const turns = new RedisTurns(redis, changes, { inbox, sessions });
  const actions = new RedisActions(redis);
  const tokens = new StoredTokens(redis, links, actions);
  return {
    description: `redis ${connection.place}`,
    sessions,
    actions,
    audit: new RedisAudit(redis),
    budgets: new RedisBudgets(redis),
    summaries: new RedisSummaries(redis),
    traces: new RedisTraces(redis, { kept: tracesMax, refused: refusedMax }),
    limits: new RedisLimits(redis),
    guard: new RedisGuard(redis, desk, sessions),
    idempotency: new RedisIdempotency(redis),
    inbox,
    links,
    memories: null,
    toolDigests: new RedisToolDigests(redis),
    outages,
    persons: new RedisPersons(redis, { actions, inbox, links }),
    streams: new RedisStreams(redis, changes),
    beginTurn: (...of) => turns.begin(...of),
    commitTurn: (claim, changed) => turns.commit(claim, changed),
    replicas: new RedisReplicas(redis),
    advice: async () => adviceOn(server, options.isAlways ?? false),
    census: () => countKeys(redis),
    // No maintenance is needed, because keys expire by themselves.
    maintenance: null,
    condition() {
      const { failure } = connection;
      return { writable: failure === null, detail: failure && `Redis cannot be reached: ${failure}.` };
    },
    lieTogether: (one, other) => redis.lieTogether(one, other),
    expectRoom: () => undefined,
    async check() {
      const key = redis.names.key('check', null, 'at');
      await redis.send(() => redis.client.set(key, Date.now(), 'EX', 60));
    },
    countTokens: (prefix) => tokens.count(prefix),
    countSeals: () => tokens.countSeals(),
    storedTokens: (unlike) => tokens.all(unlike),
    replaceToken: (token, value) => tokens.replace(token, value),
    async close() {
      changes.close();
      connection.close();
    },
  };
}

/** The loop guard, and the inbox that stores the messages that it does not block. */
interface Arrivals {
  desk: GuardDesk;
  inbox: RedisInbox | ShardedInbox;
}

function oneStepInbox(redis: RedisKeyspace): Arrivals {
  const desk = new OneStepDesk(redis);
  return { desk, inbox: new RedisInbox(redis, desk) };
}

function shardedInbox(redis: RedisKeyspace, outages: RedisOutages, max: InboxMax): Arrivals {
  const desk: GuardDesk = new ShardedDesk(redis, () => inbox);
  const inbox: ShardedInbox = new ShardedInbox(redis, desk, { outages, max });
  return { desk, inbox };
}
