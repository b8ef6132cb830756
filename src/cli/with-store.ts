import { systemClock } from '../daemon/clock.ts';
import type { Purpose } from '../daemon/configuration/configure.ts';
import type { Settings } from '../daemon/settings/settings.ts';
import type { Store } from '../daemon/store/store.ts';
import { coreSettings } from './core-settings.ts';

/**
 * Opens the store beside a running daemon, as an administrator, and closes it when the work is done or has
 * failed. Throws StoreMissing where no daemon has stored anything yet, StoreUnavailable when it is out of reach.
 */
export async function withStore<T>(
  options: Readonly<Record<string, unknown>>,
  work: (store: Store, settings: Settings) => Promise<T>,
  purpose: Extract<Purpose, 'store' | 'links' | 'link'> = 'store',
): Promise<T> {
  const settings = await coreSettings(options, purpose);
  const { openStore } = await import('../daemon/store/open.ts');
  const store = await openStore(settings, { role: 'administrator', clock: systemClock });
  try {
    return await work(store, settings);
  } finally {
    await store.close();
  }
}
