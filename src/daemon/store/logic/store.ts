import { ACTIONS_RETENTION_MS, FAILED_MAX, INBOX_MAX, REFUSED_MAX, TRACES_MAX } from '../bounds.ts';
import type { Kernel, Ring } from '../kernels/kernel.ts';
import type { Store, StoreMaintenance } from '../store.ts';
import { actionStore } from './actions.ts';
import { auditStore, LINES } from './audit.ts';
import { budgetStore } from './budgets.ts';
import { guardStore } from './guard.ts';
import { idempotencyStore } from './idempotency.ts';
import { inboxStore } from './inbox.ts';
import { limitStore } from './limits.ts';
import { linkStore } from './links.ts';
import { outageStore } from './outages.ts';
import { type ForgetMemories, personStore, type Scrub } from './persons.ts';
import { sessionStore } from './sessions.ts';
import { tokenSteps } from './stored-tokens.ts';
import { type StreamHints, streamStore } from './streams.ts';
import { summaryStore } from './summaries.ts';
import { toolDigestStore } from './tool-digests.ts';
import { traceRings, traceStore } from './traces.ts';
import { turnSteps } from './turns.ts';

const WEEK_MS = 7 * 24 * 60 * 60 * 1000;

/** The limits of a store. */
export interface Bounds {
  /** TRACE_RETENTION_DAYS, in ms. */
  traceRetentionMs: number;
  /** ACTIONS_RETENTION_DAYS, in ms. */
  actionsRetentionMs: number;
  tracesMax: number;
  refusedMax: number;
  inboxMax: number;
  failedMax: number;
}

/** The parts of a store that the rules share, and those that only its kernel can tell. */
export type KernelParts = Pick<
  Store,
  'replicas' | 'advice' | 'census' | 'condition' | 'memories' | 'expectRoom' | 'check'
> & {
  hints: StreamHints;
  scrub: Scrub;
  /** Absent if the memories are documents of the kernel. */
  forgetMemories?: ForgetMemories;
  maintenance(rings: readonly Ring<never>[]): StoreMaintenance | null;
};

/** The store of the daemon over a kernel: each port is the rules of its concern, in steps of the kernel. */
export function storeOver(kernel: Kernel, parts: KernelParts, wanted: Partial<Bounds> = {}): Store {
  const bounds: Bounds = {
    traceRetentionMs: WEEK_MS,
    actionsRetentionMs: ACTIONS_RETENTION_MS,
    tracesMax: TRACES_MAX,
    refusedMax: REFUSED_MAX,
    inboxMax: INBOX_MAX,
    failedMax: FAILED_MAX,
    ...wanted,
  };
  const { hints, scrub, forgetMemories, maintenance, ...own } = parts;
  const rings = traceRings(bounds);
  return {
    description: kernel.description,
    sessions: sessionStore(kernel),
    actions: actionStore(kernel, bounds),
    audit: auditStore(kernel),
    traces: traceStore(kernel, rings),
    limits: limitStore(kernel),
    budgets: budgetStore(kernel),
    summaries: summaryStore(kernel),
    guard: guardStore(kernel),
    idempotency: idempotencyStore(kernel),
    inbox: inboxStore(kernel, bounds, rings),
    links: linkStore(kernel),
    outages: outageStore(kernel),
    persons: personStore(kernel, rings, scrub, forgetMemories),
    streams: streamStore(kernel, hints),
    toolDigests: toolDigestStore(kernel),
    ...turnSteps(kernel, bounds, rings),
    ...tokenSteps(kernel),
    ...own,
    maintenance: maintenance([rings.answered, rings.refused, LINES]),
    close: () => kernel.close(),
  };
}
