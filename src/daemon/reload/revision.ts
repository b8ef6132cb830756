import { createHmac, hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Agents } from '../agents/agents.ts';
import { checkListedTools, loadAgents } from '../agents/load-agents.ts';
import { importKeys } from '../identity/keys.ts';
import { acceptsLogout, createLogoutValidator } from '../identity/logout-token.ts';
import { createValidator, markedValidator, observedValidator } from '../identity/token-checks.ts';
import type { Replaceable, Services } from '../message/services.ts';
import { UseCount } from '../message/waits/use-count.ts';
import type { Configuration } from '../settings/configure/configure.ts';
import { knownSecrets } from '../settings/known-secrets.ts';
import { ConfigurationError } from '../settings/problem.ts';
import type { Store } from '../store/store.ts';
import { allBuiltIn } from '../tools/check-sources.ts';
import { builtInTools, createRegistry, createSource, type ToolRegistry } from '../tools/registry.ts';
import { canonicalJson } from '../tools/schema/read-arguments.ts';
import type { SourceEntry } from '../tools/source-entry.ts';
import type { ToolSource } from '../tools/tool.ts';
import { createToolAccess } from '../tools/tool-access.ts';
import { toolNames } from '../tools/tool-names.ts';
import { toolWarnings } from '../tools/tool-size.ts';

/** Everything that a reload replaces, made from one configuration. */
export interface Revision {
  configuration: Configuration;
  services: Replaceable;
  /** All tools, whichever agent they exist for. */
  registry: ToolRegistry;
  /** The sources of tools that hold connections, by what they were made from. */
  connected: ReadonlyMap<string, ToolSource>;
  /** The hashes of the files that settings name, by path. */
  files: ReadonlyMap<string, string>;
  /** Sentences about the settings and the tools, for the log. */
  warnings: readonly string[];
}

export interface RevisionParts extends Pick<Services, 'memory' | 'seal' | 'clock' | 'log' | 'observer'> {
  store: Pick<Store, 'toolDigests' | 'signOutMarks' | 'audit'>;
  /** Called when another part begins to load. */
  starting?: (what: string) => void;
}

/**
 * Makes a revision. If this fails, everything that it has started is stopped, and the previous revision is unchanged.
 * Connections to MCP servers whose entries are unchanged are those of the previous revision.
 * @throws ConfigurationError
 */
export async function makeRevision(
  configuration: Configuration,
  parts: RevisionParts,
  previous: Revision | null = null,
): Promise<Revision> {
  const { settings, texts, tools: entries } = configuration;
  const { clock, log, seal, observer, starting = () => {} } = parts;
  starting('reading the token keys');
  const keys = await importKeys(settings, log);
  const marks = parts.store.signOutMarks;
  const tokens = observedValidator(
    markedValidator(createValidator(settings, keys, clock, log), marks, log),
    observer,
  );
  const logoutTokens = acceptsLogout(settings) ? createLogoutValidator(settings, keys, clock, log) : null;
  starting('loading the agent runtime');
  const agentParts = await loadAgents(configuration.agents, settings, log, previous?.services.agent);

  starting('starting the sources of tools');
  const access = createToolAccess(settings, { clock, log, seal, marks, observer });
  const sourceParts = { clock, log, digests: parts.store.toolDigests, exchange: access.exchange };
  const sources: ToolSource[] = [builtInTools(settings)];
  const fresh: ToolSource[] = [];
  const connected = new Map<string, ToolSource>();
  try {
    for (const entry of entries) {
      const origin = describeOrigin(entry, configuration);
      const kept = origin === null ? undefined : previous?.connected.get(origin);
      const source = kept ?? (await createSource(entry, settings.API_BASE_URL, sourceParts));
      if (kept === undefined) fresh.push(source);
      if (origin !== null) connected.set(origin, source);
      sources.push(source);
    }
    const tools = createRegistry(sources, { access, log });
    await tools.start(fresh);
    const agents = new Agents(agentParts, tools, canaryKey(parts.store));
    const { last } = agents;
    expectListedTools(configuration, tools);
    return {
      configuration,
      services: {
        settings,
        tokens,
        logoutTokens,
        agents,
        texts,
        use: new UseCount(),
        agent: last.runtime,
        tools: last.tools,
        memory: parts.memory,
        // What was said before may contain a secret that has just been replaced.
        secrets: knownSecrets(
          [...configuration.effective, ...(previous?.configuration.effective ?? [])].map(
            ({ value }) => value,
          ),
        ),
      },
      registry: tools,
      connected,
      files: await hashes(configuration.files.named),
      warnings: toolWarnings(tools.tools()),
    };
  } catch (error) {
    await Promise.allSettled(fresh.map((source) => source.stop()));
    throw error;
  }
}

/** Everything that a source with connections is made from, to compare; null for other sources. It contains secrets. */
function describeOrigin(entry: SourceEntry, { settings }: Configuration): string | null {
  if (entry.kind !== 'mcp') return null;
  return canonicalJson([entry, settings.API_BASE_URL ?? null, settings.API_TIMEOUT_SECONDS]);
}

/** The hash of a file that does not exist, or that cannot be read. */
const ABSENT = 'absent';

async function hashes(paths: readonly string[]): Promise<Map<string, string>> {
  const found = paths.map(async (path): Promise<[string, string]> => {
    const content = await readFile(path).catch(() => null);
    return [path, content === null ? ABSENT : hash('sha256', content, 'hex')];
  });
  return new Map(await Promise.all(found));
}

/** An agent may only list tools that exist. @throws ConfigurationError */
function expectListedTools(
  { agents, settings, tools: entries }: Configuration,
  registry: ToolRegistry,
): void {
  const known = [...allBuiltIn(settings.API_BASE_URL), ...registry.tools()].map(({ name }) => name);
  // The tools of a server that has not answered yet are known by their entry.
  const configured = entries.flatMap((entry) => (entry.kind === 'mcp' ? [...toolNames(entry).values()] : []));
  const problems = checkListedTools(agents, [...known, ...configured]);
  if (problems.length > 0) throw new ConfigurationError(problems);
}

/** The key of shares. It is derived from the key of the audit log, which is random and never changes. */
function canaryKey({ audit }: Pick<Store, 'audit'>): () => Promise<Uint8Array> {
  let key: Promise<Uint8Array> | null = null;
  return () => {
    key ??= audit.key().then(
      (secret) => createHmac('sha256', secret).update('canary').digest(),
      (error: unknown) => {
        key = null;
        throw error;
      },
    );
    return key;
  };
}
