import type { Settings } from '../../daemon/admin/settings.ts';
import {
  type KeyCensus,
  memoryBackend,
  openStore,
  StoreLocked,
  StoreMissing,
  withMemories,
} from '../../daemon/admin/store.ts';
import { explainError, RESTORE } from '../report-error.ts';
import { type Finding, findingsOf } from './finding.ts';

const { ok, warning, failed, skipped } = findingsOf('store');
const keys = findingsOf('store keys');
const CONFIGURE_SERVER =
  'Change redis.conf, or use `CONFIG SET` and `CONFIG REWRITE`, then run `agentd doctor` again.';
const FREE_SPACE = 'Free space on the volume of STATE_DIR. Expiring sessions free some space, too.';

/** Checks whether the store opens, has a version that fits this program, can be written, and is intact. */
export async function checkStore(settings: Settings): Promise<Finding[]> {
  try {
    const store = await openStore(settings);
    try {
      const damages = (await store.maintenance?.examine()) ?? [];
      if (damages.length > 0)
        return damages.map((damage) => failed(`${store.description}: ${damage}`, RESTORE));
      await store.check();
      const { writable, detail } = store.condition();
      if (!writable && detail !== null) return [failed(detail, FREE_SPACE)];
      const advice = (await store.advice()).map((found) => warning(found, CONFIGURE_SERVER));
      const intact = ok(`${store.description} is intact and can be written`);
      return [...advice, intact, ...keysIn(await store.census())];
    } finally {
      await store.close();
    }
  } catch (error) {
    return [openFailure(error)];
  }
}

/**
 * How many keys there are of each kind, and whether some never expire. Names of keys contain ids of people, so no name
 * is shown.
 */
function keysIn(census: KeyCensus | null): Finding[] {
  if (census === null) return [];
  const { kinds, isWhole } = census;
  const counts = [...kinds].map(([kind, { keys }]) => `${keys} ${kind}`).join(', ') || 'none';
  const part = isWhole ? '' : ' among the keys that were read';
  const endless = [...kinds].flatMap(([kind, one]) => (one.endless > 0 ? [`${one.endless} ${kind}`] : []));
  return [
    keys.ok(`keys by kind${part}: ${counts}`),
    ...(endless.length === 0
      ? []
      : [
          keys.warning(
            `keys that should expire but never do${part}: ${endless.join(', ')}`,
            'Did another program write or copy them, without their expiry? Set one with EXPIRE, or delete them; report it if agentd wrote them.',
          ),
        ]),
  ];
}

function openFailure(error: unknown): Finding {
  if (error instanceof StoreMissing) return skipped(error.message);
  if (error instanceof StoreLocked)
    return failed(
      `${error.message} That daemon runs a different version of agentd, and locks the store`,
      'Restart that daemon with this version.',
    );
  const { message, advice } = explainError(error);
  return failed(message, advice);
}

const memory = findingsOf('memory');

/**
 * Checks whether long-term memory can be reached and has the schema of this version. The embedded store has its own
 * check.
 */
export async function checkMemory(settings: Settings): Promise<Finding> {
  const backend = memoryBackend(settings);
  if (backend === 'none') return memory.skipped('MEMORY_BACKEND is none: nothing is remembered');
  if (backend === 'sqlite') return memory.ok('long-term memory is in the store');
  return withMemories(settings, async (memories) => {
    try {
      await memories?.check();
      return memory.ok(`${memories?.description} can be reached and has the schema of this version`);
    } catch (error) {
      const { message } =
        error instanceof Error && error.cause instanceof Error ? error.cause : (error as Error);
      return memory.failed(
        `${memories?.description}: ${message}`,
        'Check DATABASE_URL, that the database runs, and that this machine can reach it. Until then messages are answered without memory.',
      );
    }
  });
}
