import { openAdministratorSeal, type Seal } from '../daemon/admin/sealing.ts';
import type { Purpose, Settings } from '../daemon/admin/settings.ts';
import {
  type MemoryStore,
  memoryBackend,
  type Store,
  StoreMissing,
  StoreUnavailable,
  withMemories as withOpenMemories,
  withStore as withOpenStore,
} from '../daemon/admin/store.ts';
import { printable } from '../daemon/admin/texts.ts';
import { type CliError, failed, misconfigured, unavailable } from './cli-error.ts';
import type { OptionValues } from './command.ts';
import { coreSettings } from './config-location.ts';
import type { Column, Output } from './output.ts';
import { describeCause } from './report-error.ts';

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

/** The failure of a command that copies the file of the store, if there is no such file. */
export function storeOnServer(store: string): CliError {
  return failed(
    `the store (${printable(store)}) is not in a file`,
    'Use the tools of its server, such as `pg_dump` and `pg_restore` for Postgres.',
  );
}

/**
 * Like `withStore`, with the seal of the daemon. Texts that are sealed with a key that is not known here stay sealed.
 */
export function withSealedStore<T>(
  options: OptionValues,
  work: (store: Store, seal: Seal, settings: Settings) => Promise<T>,
): Promise<T> {
  return withStore(
    options,
    async (store, settings) => work(store, (await openAdministratorSeal(settings)).seal, settings),
    'links',
  );
}

/** Like `withStore`, for a store that may be missing. Undefined if no daemon has stored anything yet. */
export async function withExistingStore<T>(
  options: OptionValues,
  work: (store: Store, settings: Settings) => Promise<T>,
): Promise<T | undefined> {
  try {
    return await withStore(options, work);
  } catch (error) {
    if (error instanceof StoreMissing) return undefined;
    throw error;
  }
}

/** The items of a list, and the text to show if there are none. */
interface Stored<T> {
  items: T[];
  none: string;
}

/**
 * Reads a list. If no daemon has stored anything yet, the list is empty, which is not a failure. The path of the store is
 * then added to the text, since STATE_DIR may be wrong.
 */
export async function readStored<T>(none: string, read: () => Promise<T[]>): Promise<Stored<T>> {
  try {
    return { items: await read(), none };
  } catch (error) {
    if (error instanceof StoreMissing) return { items: [], none: `${none} ${error.message}` };
    throw error;
  }
}

/**
 * Prints a list of what is stored. @returns its items
 * @param of.limit maximum number of items that are printed
 * @param of.expect runs before an empty list is printed, and throws if its cause is a wrong name
 */
export async function printStored<T>(
  out: Output,
  columns: readonly Column<T>[],
  of: { none: string; limit?: number; expect?: () => Promise<void>; read(): Promise<T[]> },
): Promise<readonly T[]> {
  const { items, none } = await readStored(of.none, () => of.read());
  if (items.length === 0) await of.expect?.();
  out.list(columns, items, none, of.limit);
  return items;
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
  return unavailable(
    `cannot use the memory in ${description}: ${describeCause(error)}`,
    'Check DATABASE_URL, that the database runs, and that this machine can reach it.',
    { cause: error },
  );
}
