import { systemClock } from '../../daemon/clock.ts';
import type { Settings } from '../../daemon/settings/settings.ts';
import { StoreLocked, StoreMissing } from '../../daemon/store/failures.ts';
import { openStore } from '../../daemon/store/open.ts';
import { explainError, RESTORE } from '../report-error.ts';
import { type Finding, findingsOf } from './finding.ts';

const { ok, warning, failed, skipped } = findingsOf('store');
const CONFIGURE_SERVER =
  'Change redis.conf, or use `CONFIG SET` and `CONFIG REWRITE`, then run `agentd doctor` again.';
const FREE_SPACE = 'Free space on the volume of STATE_DIR. Expiring sessions free some space, too.';

/** Does the store open, does it have this version, can it be written, and is it intact? */
export async function checkStore(settings: Settings): Promise<Finding[]> {
  try {
    const store = await openStore(settings, { role: 'administrator', clock: systemClock });
    try {
      const damages = (await store.maintenance?.examine()) ?? [];
      if (damages.length > 0)
        return damages.map((damage) => failed(`${store.description}: ${damage}`, RESTORE));
      await store.check();
      const { writable, detail } = store.condition();
      if (!writable && detail !== null) return [failed(detail, FREE_SPACE)];
      const advice = (await store.advice()).map((found) => warning(found, CONFIGURE_SERVER));
      return [...advice, ok(`${store.description} is intact and can be written`)];
    } finally {
      await store.close();
    }
  } catch (error) {
    return [openFailure(error)];
  }
}

function openFailure(error: unknown): Finding {
  if (error instanceof StoreMissing) return skipped(error.message);
  if (error instanceof StoreLocked)
    return failed(
      `${error.message} That daemon has another version than this program, and locks the store`,
      'Restart that daemon with this version.',
    );
  const { message, advice } = explainError(error);
  return failed(message, advice);
}
