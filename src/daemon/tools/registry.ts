import type { Log } from '../process/log.ts';
import { memoryBackend } from '../settings/backends.ts';
import { ConfigurationError, type SettingProblem } from '../settings/problem.ts';
import type { Settings } from '../settings/settings.ts';
import { admitTool } from './admit-tool.ts';
import { builtInSource } from './describe-source.ts';
import { createGetUser } from './get-user.ts';
import { createMemoryTools } from './memory-tools.ts';
import { createMyActions } from './my-actions.ts';
import { sameNames } from './same-names.ts';
import type { SourceState, Tool, ToolSource, ToolSourceInfo } from './tool.ts';
import type { ToolAccess } from './tool-access.ts';

/** All tools of the daemon, from all sources. */
export interface ToolRegistry {
  readonly access: ToolAccess;
  readonly sources: readonly ToolSource[];
  /** The current tools. */
  tools(): readonly Tool[];
  /** Starts all sources. Rejects with all of their configuration errors. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface RegistryParts {
  access: ToolAccess;
  log: Pick<Log, 'warn'>;
}

export function createRegistry(sources: readonly ToolSource[], { access, log }: RegistryParts): ToolRegistry {
  /** The admitted record of each tool; null if the tool was not admitted. */
  const admitted = new WeakMap<Tool, Tool | null>();
  let last: { lists: readonly (readonly Tool[])[]; tools: readonly Tool[] } | null = null;

  function admit(tool: Tool, { info }: ToolSource): Tool | null {
    const known = admitted.get(tool);
    if (known !== undefined) return known;
    let one: Tool | null = null;
    try {
      one = admitTool(tool, info);
    } catch (err) {
      log.warn(
        { source: info.name, tool: String(tool.name), err },
        'a tool cannot be used, and is not offered',
      );
    }
    admitted.set(tool, one);
    return one;
  }

  return {
    access,
    sources,
    tools() {
      const lists = sources.map((source) => source.list());
      if (last?.lists.every((list, index) => list === lists[index])) return last.tools;
      const tools = new Map<string, Tool>();
      for (const [index, list] of lists.entries()) {
        for (const tool of list) {
          const one = admit(tool, sources[index] as ToolSource);
          if (!one) continue;
          const other = tools.get(one.name);
          if (!other) tools.set(one.name, one);
          else
            log.warn(
              { tool: one.name, source: one.source.name, offered_by: other.source.name },
              'two tools have the same name: the second one is not offered',
            );
        }
      }
      last = { lists, tools: [...tools.values()] };
      return last.tools;
    },
    async start() {
      const problems: SettingProblem[] = [];
      for (const started of await Promise.allSettled(sources.map((source) => source.start()))) {
        if (started.status === 'fulfilled') continue;
        if (!(started.reason instanceof ConfigurationError)) throw started.reason;
        problems.push(...started.reason.problems);
      }
      problems.push(...sameNames(sources.flatMap((source) => source.list())));
      if (problems.length > 0) throw new ConfigurationError(problems);
    },
    async stop() {
      await Promise.allSettled(sources.map((source) => source.stop()));
    },
  };
}

const FINE: SourceState = { status: 'ok', detail: null, withheld: [] };

/** A source whose tools never change. */
export function fixedSource(info: ToolSourceInfo, tools: readonly Tool[]): ToolSource {
  return {
    info,
    start: async () => {},
    list: () => tools,
    state: () => FINE,
    stop: async () => {},
  };
}

/**
 * The tools that are part of the daemon. Without `API_BASE_URL`, or with `GET_USER=off`, there is no `get_user`; without a memory backend,
 * there are no memory tools. An agent explains a missing tool better than a tool that always fails.
 */
export function builtInTools(
  settings: Pick<
    Settings,
    | 'API_BASE_URL'
    | 'API_PUBLIC_USER_FIELDS'
    | 'GET_USER'
    | 'MEMORY_BACKEND'
    | 'DATABASE_URL'
    | 'SESSION_BACKEND'
  > &
    Partial<Pick<Settings, 'REDIS_URL'>>,
): ToolSource {
  const info = builtInSource(settings.API_BASE_URL);
  const hasUsers = settings.API_BASE_URL !== undefined && settings.GET_USER;
  const hasMemory = memoryBackend(settings) !== 'none';
  return fixedSource(info, [
    ...(hasUsers ? [createGetUser(info, settings.API_PUBLIC_USER_FIELDS)] : []),
    createMyActions(info),
    ...(hasMemory ? createMemoryTools(info) : []),
  ]);
}
