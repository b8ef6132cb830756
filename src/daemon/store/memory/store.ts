import type { Clock } from '../../clock.ts';
import { StoreUnavailable } from '../../errors.ts';
import {
  ACTIONS_RETENTION_MS,
  FAILED_MAX,
  INBOX_MAX,
  MEMORIES_MAX,
  REFUSED_MAX,
  TRACES_MAX,
} from '../bounds.ts';
import type { Store } from '../store.ts';
import type { StoredToken } from '../stored-tokens.ts';
import type { StreamListener, StreamStore } from '../streams.ts';
import { actionSteps } from './actions.ts';
import { asPort } from './as-port.ts';
import { auditSteps } from './audit.ts';
import { beginTurn } from './begin-turn.ts';
import { boundAnonymous } from './bound-anonymous.ts';
import { budgetSteps } from './budgets.ts';
import { Claims } from './claims.ts';
import { commitTurn } from './commit-turn.ts';
import type { MemoryBounds, MemoryContext } from './context.ts';
import { dropExpired } from './drop-expired.ts';
import { guardSteps } from './guard.ts';
import { idempotencySteps } from './idempotency.ts';
import { inboxSteps } from './inbox.ts';
import { limitSteps } from './limits.ts';
import { linkSteps } from './links.ts';
import { memorySteps } from './memories.ts';
import { outageSteps } from './outages.ts';
import { personSteps } from './persons.ts';
import { sessionSteps } from './sessions.ts';
import type { MemoryState } from './state.ts';
import { countSeals, countTokens, listTokens, replaceToken } from './stored-tokens.ts';
import { streamSteps } from './streams.ts';
import { summarySteps } from './summaries.ts';
import { toolDigestSteps } from './tool-digests.ts';
import { traceSteps } from './traces.ts';

const WEEK_MS = 7 * 24 * 60 * 60 * 1000;

/** The operations on all ports together. */
interface WholeStore
  extends Pick<Store, 'beginTurn' | 'commitTurn' | 'check' | 'countTokens' | 'countSeals' | 'replaceToken'> {
  listTokens(unlike: string): Promise<StoredToken[]>;
}

export interface MemoryOptions extends Partial<MemoryBounds> {
  clock: Clock;
}

/**
 * The reference store for tests and simulations: the smallest correct implementation. Each operation is one synchronous
 * step on the state, so it is atomic. Two stores that are opened on the same state act like two daemons on one store.
 * Nothing outlives the process.
 * @param state `emptyState()`, or the state of another store.
 */
export function openMemoryStore(state: MemoryState, { clock, ...wanted }: MemoryOptions): Store {
  const context: MemoryContext = {
    state,
    clock,
    bounds: {
      traceRetentionMs: WEEK_MS,
      actionsRetentionMs: ACTIONS_RETENTION_MS,
      tracesMax: TRACES_MAX,
      refusedMax: REFUSED_MAX,
      anonymousMax: Number.POSITIVE_INFINITY,
      inboxMax: INBOX_MAX,
      failedMax: FAILED_MAX,
      memoriesMax: MEMORIES_MAX,
      ...wanted,
    },
    claims: {
      sessions: new Claims(state.claims.sessions, clock),
      keys: new Claims(state.claims.keys, clock),
      streams: new Claims(state.claims.streams, clock),
      inbox: new Claims(state.claims.inbox, clock),
    },
  };
  const closing = new AbortController();
  const begin = () => {
    if (closing.signal.aborted) throw new StoreUnavailable(new Error('the store is closed'));
    dropExpired(context);
    boundAnonymous(context);
  };
  const { listTokens: list, ...whole } = asPort<WholeStore>(
    {
      beginTurn: (...of) => beginTurn(context, ...of),
      commitTurn: (claim, changes) => commitTurn(context, claim, changes),
      check: () => undefined,
      countTokens: (prefix) => countTokens(context, prefix),
      countSeals: () => countSeals(context),
      listTokens: (unlike) => listTokens(context, unlike),
      replaceToken: (token, value) => replaceToken(context, token, value),
    },
    begin,
  );
  return {
    description: 'memory',
    sessions: asPort(sessionSteps(context), begin),
    actions: asPort(actionSteps(context), begin),
    audit: asPort(auditSteps(context), begin),
    traces: asPort(traceSteps(context), begin),
    limits: asPort(limitSteps(context), begin),
    budgets: asPort(budgetSteps(context), begin),
    summaries: asPort(summarySteps(context), begin),
    guard: asPort(guardSteps(context), begin),
    idempotency: asPort(idempotencySteps(context), begin),
    inbox: asPort(inboxSteps(context), begin),
    links: asPort(linkSteps(context), begin),
    memories: { description: 'memory', ...asPort(memorySteps(context), begin) },
    outages: asPort(outageSteps(context), begin),
    persons: asPort(personSteps(context), begin),
    streams: {
      ...asPort(streamSteps(context), begin),
      subscribe: subscriber(state, closing.signal),
      hintsMayBeLost: true,
      gather_ms: 0,
    },
    toolDigests: asPort(toolDigestSteps(context), begin),
    ...whole,
    async *storedTokens(unlike) {
      yield await list(unlike);
    },
    maintenance: null,
    replicas: null,
    advice: async () => [],
    census: async () => null,
    condition: () => ({ writable: true, detail: null }),
    lieTogether: () => true,
    expectRoom: () => undefined,
    async close() {
      closing.abort();
    },
  };
}

/** `StreamStore.subscribe`. After the store was closed, listeners are no longer called. */
function subscriber({ changes }: MemoryState, closed: AbortSignal): StreamStore['subscribe'] {
  return (stream_id, listener) => {
    const hear: StreamListener = (...change) => {
      if (!closed.aborted) listener(...change);
    };
    changes.on(stream_id, hear);
    return () => changes.off(stream_id, hear);
  };
}
