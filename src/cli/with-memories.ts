import {
  type MemoryStore,
  memoryBackend,
  StoreUnavailable,
  withMemories as withOpenMemories,
} from '../daemon/admin/store.ts';
import { type CliError, misconfigured, unavailable } from './cli-error.ts';
import type { OptionValues } from './command.ts';
import { coreSettings } from './core-settings.ts';

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
