import { NO_MARKS } from '../identity/identity.ts';
import { createSeal } from '../identity/seal.ts';
import type { Log } from '../process/log.ts';
import type { Configuration } from '../settings/configure/configure.ts';
import { StoreMissing } from '../store/failures.ts';
import type { ToolDigest, ToolDigestStore } from '../store/tool-digests.ts';
import { observedTool } from '../store/tool-digests.ts';
import { systemClock } from '../time/clock.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import type { SourceEntry } from '../tools/source-entry.ts';
import type { SourceState, Tool } from '../tools/tool.ts';
import { toolTokens, toolWarnings } from '../tools/tool-size.ts';
import { withStore } from './store.ts';

/** The tools of the agent, as the daemon would have them. The sources are loaded when the tools are started. */
export type { SourceEntry, SourceState, Tool, ToolRegistry };
export { toolTokens, toolWarnings };

/**
 * Runs the work with the tools that the daemon would have. Starts them first, and stops them when the work has ended or
 * failed.
 * @param options.log default: none
 * @param options.digests where definitions of tools are recorded; default: nowhere, they are only compared
 */
export async function withRegistry<T>(
  configuration: Pick<Configuration, 'settings' | 'tools'>,
  work: (registry: ToolRegistry) => Promise<T>,
  { log: given, digests: store }: { log?: Log; digests?: ToolDigestStore } = {},
): Promise<T> {
  const [{ default: pino }, { builtInTools, createRegistry, createSource }, tools] = await Promise.all([
    import('pino'),
    import('../tools/registry.ts'),
    import('../tools/tool-access.ts'),
  ]);
  const { settings, tools: entries } = configuration;
  const log = given ?? pino({ enabled: false });
  // Nothing is stored here, so nothing is sealed.
  const seal = createSeal(undefined);
  const access = tools.createToolAccess(settings, { clock: systemClock, log, seal, marks: NO_MARKS });
  const digests = store ?? knownDigests(await storedDigests(configuration));
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

/**
 * The known definitions of the tools of MCP servers, for a command that only reads: it neither stores nor trusts a
 * definition that a server sends.
 */
export function knownDigests(known: readonly ToolDigest[]): ToolDigestStore {
  const find = (name: string) => known.find((tool) => tool.name === name) ?? null;
  return {
    observe: async (name, source, seen) =>
      observedTool(find(name), { name, source, seen, now: systemClock.now() }),
    find: async (name) => find(name),
    list: async () => [...known],
    trust: async () => false,
  };
}

/** The known definitions of tools that daemons have stored. Empty if no daemon has stored anything yet. */
async function storedDigests({
  settings,
  tools,
}: Pick<Configuration, 'settings' | 'tools'>): Promise<ToolDigest[]> {
  if (tools.every(({ kind }) => kind !== 'mcp')) return [];
  try {
    return await withStore(settings, (store) => store.toolDigests.list());
  } catch (error) {
    if (error instanceof StoreMissing) return [];
    throw error;
  }
}

/** A tool with the facts that follow from its definition. */
export type DescribedTool = Awaited<ReturnType<typeof describeTool>>;

export async function describeTool(tool: Tool) {
  const [{ digestDefinition }, { CALL_TIMEOUT_MS }, { confirmInWords }] = await Promise.all([
    import('../tools/definition-digest.ts'),
    import('../tools/perform-call.ts'),
    import('../tools/confirmation/confirm-policy.ts'),
  ]);
  return {
    ...tool,
    tokens: toolTokens(tool),
    digest: tool.digest ?? digestDefinition(tool),
    timeout_ms: tool.timeout_ms ?? CALL_TIMEOUT_MS,
    confirm_words: confirmInWords(tool.confirm),
  };
}
