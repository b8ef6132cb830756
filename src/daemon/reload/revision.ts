import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { agentDigest } from '../agent/agent-digest.ts';
import { type LoadedAgent, loadAgent, runtimeName } from '../agent/load.ts';
import { importKeys, UnusableKey } from '../identity/keys.ts';
import { acceptsLogout, createLogoutValidator } from '../identity/logout-token.ts';
import type { Seal } from '../identity/seal.ts';
import { createValidator, markedValidator, observedValidator } from '../identity/token-checks.ts';
import type { Replaceable } from '../message/services.ts';
import { UseCount } from '../message/waits/use-count.ts';
import type { Log } from '../process/log.ts';
import type { Configuration } from '../settings/configure/configure.ts';
import { knownSecrets } from '../settings/known-secrets.ts';
import { ConfigurationError } from '../settings/problem.ts';
import type { Store } from '../store/store.ts';
import type { AlarmClock } from '../time/clock.ts';
import { digestRecord } from '../tools/definition-digest.ts';
import { builtInTools, createRegistry, createSource } from '../tools/registry.ts';
import { canonicalJson } from '../tools/schema/read-arguments.ts';
import type { SourceEntry } from '../tools/source-entry.ts';
import type { ToolSource } from '../tools/tool.ts';
import { createToolAccess } from '../tools/tool-access.ts';
import { toolWarnings } from '../tools/tool-size.ts';
import type { Observer } from '../trace/observer.ts';

/** Everything that a reload replaces, made from one configuration. */
export interface Revision {
  configuration: Configuration;
  services: Replaceable;
  /** The text of the instructions; undefined if there are none. */
  instructions: string | undefined;
  /** The sources of tools that hold connections, by what they were made from. */
  connected: ReadonlyMap<string, ToolSource>;
  /** The hashes of the files that settings name, by path. */
  files: ReadonlyMap<string, string>;
  /** Sentences about the settings and the tools, for the log. */
  warnings: readonly string[];
}

export interface RevisionParts {
  store: Pick<Store, 'toolDigests' | 'signOutMarks'>;
  seal: Seal;
  clock: AlarmClock;
  log: Log;
  observer: Observer;
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
  const keys = await asConfigurationError(importKeys(settings, log));
  const marks = parts.store.signOutMarks;
  const tokens = observedValidator(
    markedValidator(createValidator(settings, keys, clock, log), marks, log),
    observer,
  );
  const logoutTokens = acceptsLogout(settings) ? createLogoutValidator(settings, keys, clock, log) : null;
  starting('loading the agent runtime');
  const { runtime, instructions } = await loadWith(configuration, log, previous);

  starting('starting the sources of tools');
  const access = createToolAccess(settings, { clock, log, seal, marks, observer });
  const sourceParts = { clock, log, digests: parts.store.toolDigests, exchange: access.exchange };
  const sources: ToolSource[] = [builtInTools(settings)];
  const fresh: ToolSource[] = [];
  const connected = new Map<string, ToolSource>();
  try {
    for (const entry of entries) {
      const origin = originOf(entry, configuration);
      const kept = origin === null ? undefined : previous?.connected.get(origin);
      const source = kept ?? (await createSource(entry, settings.API_BASE_URL, sourceParts));
      if (kept === undefined) fresh.push(source);
      if (origin !== null) connected.set(origin, source);
      sources.push(source);
    }
    const tools = createRegistry(sources, { access, log });
    await tools.start(fresh);
    const digest = onChange(
      () => tools.tools(),
      (all) => agentDigest({ settings, instructions, tools: all.map(digestRecord) }),
    );
    return {
      configuration,
      services: {
        ...{
          settings,
          tokens,
          logoutTokens,
          agent: runtime,
          agentDigest: digest,
          tools,
          texts,
          use: new UseCount(),
        },
        // What was said before may contain a secret that has just been replaced.
        secrets: knownSecrets(
          [...configuration.effective, ...(previous?.configuration.effective ?? [])].map(
            ({ value }) => value,
          ),
        ),
      },
      instructions,
      connected,
      files: await hashes(configuration.files.named),
      warnings: toolWarnings(tools.tools()),
    };
  } catch (error) {
    await Promise.allSettled(fresh.map((source) => source.stop()));
    throw error;
  }
}

/** Loads the agent. A runtime that is a module of the operator is loaded once, since it may hold resources. */
function loadWith({ settings }: Configuration, log: Log, previous: Revision | null): Promise<LoadedAgent> {
  const isModule = !['builtin', 'llm'].includes(runtimeName(settings));
  return loadAgent(settings, log, isModule ? previous?.services.agent : undefined);
}

/** Everything that a source with connections is made from, to compare; null for other sources. It contains secrets. */
function originOf(entry: SourceEntry, { settings }: Configuration): string | null {
  if (entry.kind !== 'mcp') return null;
  return canonicalJson([entry, settings.API_BASE_URL ?? null, settings.API_TIMEOUT_SECONDS]);
}

async function asConfigurationError<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof UnusableKey)) throw error;
    const { setting, problem, right } = error;
    throw new ConfigurationError([{ setting, value: null, source: null, problem, right }], { cause: error });
  }
}

/** The hash of a file that does not exist, or that cannot be read. */
const ABSENT = 'absent';

/** The hashes of files, by path. */
export async function hashes(paths: readonly string[]): Promise<Map<string, string>> {
  const found = paths.map(async (path): Promise<[string, string]> => {
    const content = await readFile(path).catch(() => null);
    return [path, content === null ? ABSENT : createHash('sha256').update(content).digest('hex')];
  });
  return new Map(await Promise.all(found));
}

/** A function that computes a value again only after its input has changed. */
export function onChange<Input, Value>(read: () => Input, compute: (input: Input) => Value): () => Value {
  let last: { input: Input; value: Value } | null = null;
  return () => {
    const input = read();
    if (last?.input !== input) last = { input, value: compute(input) };
    return last.value;
  };
}
