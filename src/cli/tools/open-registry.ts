import pino from 'pino';
import { systemClock } from '../../daemon/clock.ts';
import type { Configuration } from '../../daemon/configuration/configure.ts';
import { createSeal } from '../../daemon/identity/seal.ts';
import type { Log } from '../../daemon/log.ts';
import { StoreMissing } from '../../daemon/store/failures.ts';
import type { ToolDigest, ToolDigestStore } from '../../daemon/store/tool-digests.ts';
import { createSource } from '../../daemon/tools/create-source.ts';
import { builtInTools, createRegistry, type ToolRegistry } from '../../daemon/tools/registry.ts';
import { createToolAccess } from '../../daemon/tools/tool-access.ts';
import { knownDigests } from './known-digests.ts';

/** Nothing is stored here, so nothing is sealed. */
export const SEAL = createSeal(undefined);

/**
 * Runs the work with the tools that the daemon would have. Starts them first, and stops them when the work has ended or
 * failed.
 * @param options.log default: none
 * @param options.digests where definitions of tools are recorded; default: nowhere, they are only compared
 */
export async function withRegistry<T>(
  configuration: Pick<Configuration, 'settings' | 'tools'>,
  work: (registry: ToolRegistry) => Promise<T>,
  { log = pino({ enabled: false }), digests: given }: { log?: Log; digests?: ToolDigestStore } = {},
): Promise<T> {
  const { settings, tools: entries } = configuration;
  const access = createToolAccess(settings, { clock: systemClock, log, seal: SEAL });
  const digests = given ?? knownDigests(await storedDigests(configuration));
  const parts = { clock: systemClock, log, digests, exchange: access.exchange };
  const sources = await Promise.all(
    entries.map((entry) => createSource(entry, settings.API_BASE_URL, parts)),
  );
  const registry = createRegistry([builtInTools(settings), ...sources], { access, log });
  try {
    await registry.start();
    return await work(registry);
  } finally {
    await registry.stop();
  }
}

/** The known definitions of tools that daemons have stored. Empty if no daemon has stored anything yet. */
async function storedDigests({
  settings,
  tools,
}: Pick<Configuration, 'settings' | 'tools'>): Promise<ToolDigest[]> {
  if (tools.every(({ kind }) => kind !== 'mcp')) return [];
  const { openStore } = await import('../../daemon/store/open.ts');
  try {
    const store = await openStore(settings, { role: 'administrator', clock: systemClock });
    try {
      return await store.toolDigests.list();
    } finally {
      await store.close();
    }
  } catch (error) {
    if (error instanceof StoreMissing) return [];
    throw error;
  }
}
