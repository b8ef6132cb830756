import type { Purpose, Settings } from '../daemon/admin/settings.ts';
import { type Store, StoreMissing, withStore as withOpenStore } from '../daemon/admin/store.ts';
import { coreSettings } from './core-settings.ts';

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
