import { systemClock } from '../daemon/clock.ts';
import type { Purpose } from '../daemon/configuration/configure.ts';
import type { Settings } from '../daemon/settings/settings.ts';
import { StoreMissing } from '../daemon/store/failures.ts';
import type { Store } from '../daemon/store/store.ts';
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
  const { openStore } = await import('../daemon/store/open.ts');
  const store = await openStore(settings, { role: 'administrator', clock: systemClock, mayCreate });
  try {
    return await work(store, settings);
  } finally {
    await store.close();
  }
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
