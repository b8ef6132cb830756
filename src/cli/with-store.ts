import type { Purpose, Settings } from '../daemon/admin/settings.ts';
import {
  type Memory,
  type MemoryStore,
  memoryBackend,
  type Store,
  StoreMissing,
  StoreUnavailable,
  withMemories as withOpenMemories,
  withStore as withOpenStore,
} from '../daemon/admin/store.ts';
import { type CliError, misconfigured, unavailable } from './cli-error.ts';
import type { OptionValues } from './command.ts';
import { coreSettings } from './config-location.ts';

type StorePurpose = Extract<Purpose, 'store' | 'links' | 'link' | 'person'>;

/**
 * Opens the store as an administrator, even while a daemon runs, and closes it when the work is done or has failed.
 * Throws StoreMissing if there is no store and it may not be created, and StoreUnavailable if it cannot be reached.
 */
export async function withStore<T>(
  options: Readonly<Record<string, unknown>>,
  work: (store: Store, settings: Settings) => Promise<T>,
  purpose: StorePurpose = 'store',
  { mayCreate = false } = {},
): Promise<T> {
  const settings = await coreSettings(options, purpose);
  return withOpenStore(settings, (store) => work(store, settings), { mayCreate });
}

/**
 * Like `withStore`, for lists: if no daemon has stored anything yet, the list is empty, which is not a failure.
 * @param none the text to show if the list is empty. If there is no store, its path is added to this text, since
 * STATE_DIR may be wrong.
 */
export async function listFromStore<T>(
  options: Readonly<Record<string, unknown>>,
  none: string,
  work: (store: Store, settings: Settings) => Promise<T[]>,
  purpose?: StorePurpose,
): Promise<{ items: T[]; none: string }> {
  try {
    return { items: await withStore(options, work, purpose), none };
  } catch (error) {
    if (error instanceof StoreMissing) return { items: [], none: `${none} ${error.message}` };
    throw error;
  }
}

type Work<T> = (memories: MemoryStore) => Promise<T>;

/**
 * Opens the long-term memory that the daemon uses, even while the daemon runs, and closes it when the work is done or
 * has failed.
 * @throws CliError (78) if the settings configure no memory, (69) if the database cannot be reached; StoreMissing if no
 *   daemon has stored anything yet.
 */
export async function withMemories<T>(options: OptionValues, work: Work<T>): Promise<T> {
  const settings = await coreSettings(options, 'memory');
  return withOpenMemories(settings, async (memories) => {
    if (memories === null) throw noMemory();
    try {
      return await work(memories);
    } catch (error) {
      const isOutOfReach = error instanceof StoreUnavailable && memoryBackend(settings) === 'postgres';
      throw isOutOfReach ? outOfReach(memories, error) : error;
    }
  });
}

function noMemory(): CliError {
  return misconfigured(
    'there is no long-term memory: MEMORY_BACKEND is `none`',
    'Run the command with the settings of the daemon; `agentd config show` shows where a value comes from.',
  );
}

function outOfReach({ description }: MemoryStore, error: StoreUnavailable): CliError {
  const cause = error.cause instanceof Error ? error.cause.message : error.message;
  return unavailable(
    `cannot use the memory in ${description}: ${cause}`,
    'Check DATABASE_URL, that the database runs, and that this machine can reach it.',
    { cause: error },
  );
}

/**
 * Like `withMemories`, for lists: if no daemon has stored anything yet, the list is empty, which is not a failure.
 * @param none the text to show if the list is empty. If there is no store, its path is added to this text.
 */
export async function listMemories(
  options: OptionValues,
  none: string,
  work: (memories: MemoryStore) => Promise<Memory[]>,
): Promise<{ items: Memory[]; none: string }> {
  try {
    return { items: await withMemories(options, work), none };
  } catch (error) {
    if (error instanceof StoreMissing) return { items: [], none: `${none} ${error.message}` };
    throw error;
  }
}
