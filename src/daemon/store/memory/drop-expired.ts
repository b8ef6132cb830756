import { AUDIT_RETENTION_MS } from '../audit.ts';
import { DONE_MS, FAILED_MS } from '../bounds.ts';
import type { MemoryContext } from './context.ts';

/** How long an expired claim is remembered, ms. During this time its owner can still renew it. */
const CLAIM_MEMORY_MS = 3_600_000;

/** Deletes expired data, and failed messages beyond their limit, so that no sweeper is needed. */
export function dropExpired({ state, clock, bounds }: MemoryContext): void {
  const now = clock.now();
  const isOver = ({ expires_at }: { expires_at: number | null }) => expires_at !== null && expires_at <= now;
  drop(state.sessions, ({ session }) => isOver(session));
  drop(state.guard_turns, ({ ends_at }) => ends_at <= now);
  const { limits, budgets, guard_users, seen, answers, links, streams } = state;
  for (const map of [limits, budgets, guard_users, seen, answers, links, streams])
    drop(map as Map<string, { expires_at: number | null }>, isOver);
  // The claims of streams and of inbox messages end with `reap`, which ends the stream or counts the interruption.
  for (const claims of [state.claims.sessions, state.claims.keys])
    drop(claims, ({ expires_at }) => expires_at <= now - CLAIM_MEMORY_MS);
  for (const [key, known] of state.fingerprints)
    if (!state.claims.keys.has(key) && isOver(known)) state.fingerprints.delete(key);
  for (const traces of [state.traces, state.refused]) {
    const kept = traces.findIndex(({ kept_at }) => kept_at > now - bounds.traceRetentionMs);
    traces.splice(0, kept < 0 ? traces.length : kept);
  }
  const kept = state.audit.findIndex(({ at }) => at > now - AUDIT_RETENTION_MS);
  state.audit.splice(0, kept < 0 ? state.audit.length : kept);
  drop(state.actions, ({ action }) => action.created_at <= now - bounds.actionsRetentionMs);
  drop(state.inbox, ({ message: { state: at, ended_at } }) => {
    if (ended_at === null) return false;
    return ended_at <= now - (at === 'done' ? DONE_MS : FAILED_MS);
  });
  const failed = [...state.inbox.values()].filter(({ message }) => message.state === 'failed');
  const oldest = failed.sort((a, b) => (a.message.ended_at ?? 0) - (b.message.ended_at ?? 0));
  for (const { message } of oldest.slice(0, Math.max(0, failed.length - bounds.failedMax)))
    state.inbox.delete(message.id);
}

function drop<T>(map: Map<string, T>, isOver: (value: T) => boolean): void {
  for (const [key, value] of map) if (isOver(value)) map.delete(key);
}
