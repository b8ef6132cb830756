import { systemClock } from '../../daemon/clock.ts';
import type { Settings } from '../../daemon/settings/settings.ts';
import { StoreLocked, StoreMissing } from '../../daemon/store/failures.ts';
import { openStore } from '../../daemon/store/open.ts';
import { explainError, RESTORE } from '../report-error.ts';
import type { Finding } from './finding.ts';

const CHECK = 'store';

const MAKE_ROOM = 'Make room on the volume of STATE_DIR; space returns by itself as sessions expire.';

/** Does the store open, is it of this version, can it be written, and is it sound? */
export async function checkStore(settings: Settings): Promise<Finding[]> {
  try {
    const store = await openStore(settings, { role: 'administrator', clock: systemClock });
    try {
      const damages = (await store.maintenance?.examine()) ?? [];
      if (damages.length === 0) {
        await store.check();
        const { writable, detail } = store.condition();
        if (!writable && detail !== null)
          return [{ check: CHECK, outcome: 'failed', detail, advice: MAKE_ROOM }];
        return [{ check: CHECK, outcome: 'ok', detail: `${store.description} can be written, and is sound` }];
      }
      return damages.map((damage) => ({
        check: CHECK,
        outcome: 'failed',
        detail: `${store.description}: ${damage}`,
        advice: RESTORE,
      }));
    } finally {
      await store.close();
    }
  } catch (error) {
    return [unopened(error)];
  }
}

function unopened(error: unknown): Finding {
  if (error instanceof StoreMissing) return { check: CHECK, outcome: 'skipped', detail: error.message };
  if (error instanceof StoreLocked) {
    return {
      check: CHECK,
      outcome: 'failed',
      detail: `${error.message} It is of another version than this program, and keeps the store in its own form`,
      advice: 'Start that daemon again with this version.',
    };
  }
  const { message, advice } = explainError(error);
  return { check: CHECK, outcome: 'failed', detail: message, ...(advice === undefined ? {} : { advice }) };
}
