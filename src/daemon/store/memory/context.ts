import type { Clock } from '../../clock.ts';
import type { Claims } from './claims.ts';
import type { MemoryState } from './state.ts';

export interface MemoryBounds {
  /** TRACE_RETENTION_DAYS, in ms. */
  traceRetentionMs: number;
  /** ACTIONS_RETENTION_DAYS, in ms. */
  actionsRetentionMs: number;
  tracesMax: number;
  refusedMax: number;
  /** ANONYMOUS_STORE_BYTES. */
  anonymousMax: number;
  inboxMax: number;
  failedMax: number;
  memoriesMax: number;
}

/** The data that each step works on. */
export interface MemoryContext {
  readonly state: MemoryState;
  readonly clock: Clock;
  readonly bounds: MemoryBounds;
  readonly claims: Record<keyof MemoryState['claims'], Claims>;
}
