import { StoreUnavailable } from '../errors.ts';
import { memoryBackend, sessionBackend, sharesStore } from '../settings/backends.ts';
import type { Settings } from '../settings/settings.ts';
import { StoreLocked, StoreMissing, StoreOfAnotherLayout } from '../store/failures.ts';
import type { MemoryStore } from '../store/memories/memories.ts';
import type { Replica } from '../store/replicas.ts';
import type { Store } from '../store/store.ts';
import { systemClock } from '../time/clock.ts';
import { lazy } from './lazy.ts';

/**
 * The store of the daemon, as an administrator opens it: beside a running daemon, and never created unless a command
 * asks for it. The database is loaded when a store is opened.
 */
export { type Action, toQuestionId } from '../store/actions/actions.ts';
export type { AuditLine } from '../store/audit.ts';
export { Volume } from '../store/disk.ts';
export type { Feedback } from '../store/feedback.ts';
export type { IdKind } from '../store/ids.ts';
export { shortened } from '../store/ids.ts';
export type { InboxCount, InboxMessage, InboxState } from '../store/inbox/inbox.ts';
export type { Outage } from '../store/inbox/outages.ts';
export type { GuardList, GuardStore } from '../store/limits/guard.ts';
export type { Memory } from '../store/memories/memories.ts';
export type { KeyCensus } from '../store/store.ts';
export type { StreamCount } from '../store/streams.ts';
export type { ServerDefinition, ToolDigest, ToolDigestStore } from '../store/tool-digests.ts';
export type { TraceStore } from '../store/traces.ts';
export {
  type CollectedMessage,
  type MessageOutcome,
  messageOutcome,
  type TraceLine,
  type TraceRecord,
} from '../trace/trace-record.ts';
export type { MemoryStore, Store };
export {
  memoryBackend,
  StoreLocked,
  StoreMissing,
  StoreOfAnotherLayout,
  StoreUnavailable,
  sessionBackend,
  sharesStore,
};

/**
 * Opens the store. The caller closes it.
 * @throws StoreMissing if there is no store and it may not be created, StoreUnavailable if it cannot be reached
 */
export async function openStore(settings: Settings, { mayCreate = false } = {}): Promise<Store> {
  const store = await import('../store/open.ts');
  return store.openStore(settings, { role: 'administrator', clock: systemClock, mayCreate });
}

/** Like `openStore`, and closes the store when the work is done or has failed. */
export async function withStore<T>(
  settings: Settings,
  work: (store: Store) => Promise<T>,
  options?: Parameters<typeof openStore>[1],
): Promise<T> {
  const store = await openStore(settings, options);
  try {
    return await work(store);
  } catch (error) {
    if (error instanceof StoreUnavailable) error.place ??= store.description;
    throw error;
  } finally {
    await store.close();
  }
}

/**
 * Runs the work with the long-term memory of the daemon, and closes it afterwards. The memory is null if
 * MEMORY_BACKEND is `none`.
 * @param store the open store, which may contain the memory
 */
export async function withMemoriesIn<T>(
  settings: Settings,
  store: Pick<Store, 'memories'>,
  work: (memories: MemoryStore | null) => Promise<T>,
): Promise<T> {
  const { openMemories } = await import('../store/open.ts');
  const memories = await openMemories(settings, store, { clock: systemClock, log: { debug() {} } });
  try {
    return await work(memories);
  } finally {
    if (memories !== store.memories) await memories?.close();
  }
}

/** Like `withMemoriesIn`, and opens the store only if the memory is in it. */
export async function withMemories<T>(
  settings: Settings,
  work: (memories: MemoryStore | null) => Promise<T>,
): Promise<T> {
  return memoryBackend(settings) === 'sqlite'
    ? withStore(settings, (store) => withMemoriesIn(settings, store, work))
    : withMemoriesIn(settings, { memories: null }, work);
}

/**
 * Replaces the embedded store with a backup.
 * @returns where the previous store is kept; null if there was none
 */
export const restoreStore = lazy(() => import('../store/open.ts'), 'restoreStore');

/** A daemon that shares the store, with one digest of the settings that all of them must agree on. */
export interface RunningDaemon extends Replica {
  settings: string;
}

/** The daemons that share the store. Null if only one daemon at a time can use the store. */
export async function runningDaemons({ replicas }: Pick<Store, 'replicas'>): Promise<RunningDaemon[] | null> {
  const { wholeDigest } = await import('../replica/settings-digests.ts');
  if (replicas === null) return null;
  const found = await replicas.list();
  return found.map((replica) => ({ ...replica, settings: wholeDigest(replica.digests) }));
}
