import pino from 'pino';
import { systemClock } from '../../daemon/clock.ts';
import type { Configuration } from '../../daemon/configuration/configure.ts';
import { createSeal } from '../../daemon/identity/seal.ts';
import type { Log } from '../../daemon/log.ts';
import { createSource } from '../../daemon/tools/create-source.ts';
import { builtInTools, createRegistry, type ToolRegistry } from '../../daemon/tools/registry.ts';
import { createToolAccess } from '../../daemon/tools/tool-access.ts';

/** Nothing is stored here, so nothing is sealed. */
export const SEAL = createSeal(undefined);

/**
 * The tools as the daemon would have them, started, and stopped when the work is done or has failed.
 * @param log default: none
 */
export async function withRegistry<T>(
  { settings, tools: entries }: Pick<Configuration, 'settings' | 'tools'>,
  work: (registry: ToolRegistry) => Promise<T>,
  log: Log = pino({ enabled: false }),
): Promise<T> {
  const access = createToolAccess(settings, { clock: systemClock, log, seal: SEAL });
  const sources = entries.map((entry) => createSource(entry, settings.API_BASE_URL));
  const registry = createRegistry([builtInTools(settings), ...sources], { access, log });
  try {
    await registry.start();
    return await work(registry);
  } finally {
    await registry.stop();
  }
}
