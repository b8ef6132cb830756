import { systemClock } from '../daemon/clock.ts';
import { StoreUnavailable } from '../daemon/errors.ts';
import { type MemoryOwner, ownerOfPerson, ownerOnPlatform } from '../daemon/identity/memory-owner.ts';
import { type MemoryBackend, memoryBackend } from '../daemon/settings/memory-backend.ts';
import type { MemoryStore } from '../daemon/store/memories.ts';
import { type CliError, misconfigured, unavailable } from './cli-error.ts';
import type { OptionValues } from './command.ts';
import { coreSettings } from './core-settings.ts';
import type { Who } from './who.ts';
import { withStore } from './with-store.ts';

type Work<T> = (memories: MemoryStore) => Promise<T>;

/**
 * Opens the long-term memory that the daemon uses, even while the daemon runs, and closes it when the work is done or
 * has failed.
 * @throws CliError (78) if the settings configure no memory, (69) if the database cannot be reached; StoreMissing if no
 *   daemon has stored anything yet.
 */
export async function withMemories<T>(options: OptionValues, work: Work<T>): Promise<T> {
  const settings = await coreSettings(options, 'memory');
  const { openMemories } = await import('../daemon/store/open.ts');
  const quiet = { debug() {} };
  const open: Readonly<Record<MemoryBackend, () => Promise<T>>> = {
    none: () => Promise.reject(noMemory()),
    sqlite: () =>
      withStore(options, async (store) => {
        const memories = await openMemories(settings, store, { clock: systemClock, log: quiet });
        return memories === null ? Promise.reject(noMemory()) : work(memories);
      }),
    async postgres() {
      const memories = await openMemories(settings, { memories: null }, { clock: systemClock, log: quiet });
      if (memories === null) throw noMemory();
      try {
        return await work(memories);
      } catch (error) {
        throw error instanceof StoreUnavailable ? outOfReach(memories, error) : error;
      } finally {
        await memories.close();
      }
    },
  };
  return open[memoryBackend(settings)]();
}

/** The owner under which the daemon keeps the memories of the person or user that a command names. */
export function ownerOf(who: Who): MemoryOwner {
  return 'person' in who ? ownerOfPerson(who.person) : ownerOnPlatform(who.platform, who.user_id);
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
