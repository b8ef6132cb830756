import type { Settings } from '../../daemon/admin/settings.ts';
import { memoryBackend, withMemories } from '../../daemon/admin/store.ts';
import { type Finding, findingsOf } from './finding.ts';

const { ok, failed, skipped } = findingsOf('memory');

/**
 * Checks whether long-term memory can be reached and has the schema of this version. The embedded store has its own
 * check.
 */
export async function checkMemory(settings: Settings): Promise<Finding> {
  const backend = memoryBackend(settings);
  if (backend === 'none') return skipped('MEMORY_BACKEND is none: nothing is remembered');
  if (backend === 'sqlite') return ok('long-term memory is in the store');
  return withMemories(settings, async (memories) => {
    try {
      await memories?.check();
      return ok(`${memories?.description} can be reached and has the schema of this version`);
    } catch (error) {
      const { message } =
        error instanceof Error && error.cause instanceof Error ? error.cause : (error as Error);
      return failed(
        `${memories?.description}: ${message}`,
        'Check DATABASE_URL, that the database runs, and that this machine can reach it. Until then messages are answered without memory.',
      );
    }
  });
}
