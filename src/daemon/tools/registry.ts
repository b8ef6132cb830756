import type { Log } from '../process/log.ts';
import { memoryBackend } from '../settings/backends.ts';
import { ConfigurationError, type SettingProblem } from '../settings/problem.ts';
import type { Settings } from '../settings/settings.ts';
import { NAME_FORM } from '../settings/tools-schema.ts';
import { createGetUser } from './built-in/get-user.ts';
import { createMemoryTools, createMyActions } from './built-in/own-tools.ts';
import { isConfirmLabel, readConfirmPolicy } from './confirmation/confirm-policy.ts';
import { builtInSource, describeSource } from './describe-source.ts';
import type { McpSourceParts } from './mcp/mcp-source.ts';
import { withSafeNames } from './schema/safe-names.ts';
import { closeSchema } from './schema/schema-parts.ts';
import type { SourceEntry } from './source-entry.ts';
import type { SourceState, Tool, ToolSource, ToolSourceInfo } from './tool.ts';
import type { ToolAccess } from './tool-access.ts';
import { findSameNames } from './tool-names.ts';

interface RegistryParts {
  access: ToolAccess;
  log: Pick<Log, 'warn'>;
}

export type ToolRegistry = ReturnType<typeof createRegistry>;

/** All tools of the daemon, from all sources. */
export function createRegistry(sources: readonly ToolSource[], { access, log }: RegistryParts) {
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
    /** The current tools. */
    tools(): readonly Tool[] {
      const known = last;
      if (known && sources.every((source, index) => source.list() === known.lists[index])) return known.tools;
      const lists = sources.map((source) => source.list());
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
    /**
     * Starts sources. Rejects with all of their configuration errors.
     * @param fresh those that are not running yet; default: all
     */
    async start(fresh = sources): Promise<void> {
      const problems: SettingProblem[] = [];
      for (const started of await Promise.allSettled(fresh.map((source) => source.start()))) {
        if (started.status === 'fulfilled') continue;
        if (!(started.reason instanceof ConfigurationError)) throw started.reason;
        problems.push(...started.reason.problems);
      }
      problems.push(...findSameNames(sources.flatMap((source) => source.list())));
      if (problems.length > 0) throw new ConfigurationError(problems);
    },
    async stop(): Promise<void> {
      await Promise.allSettled(sources.map((source) => source.stop()));
    },
  };
}

/**
 * The record of a tool as the policy uses it. Each member is read once, so that a source cannot change it between the
 * check and the call. Throws if the tool cannot be used.
 */
export function admitTool(given: Tool, source: ToolSourceInfo): Tool {
  const tool = { ...given };
  const { name, effect, confirm_label, public: shown, bind, hide } = tool;
  if (tool.source !== source) throw new Error('it names a source that is not its own');
  if (!NAME_FORM.test(name)) throw new Error('its name is not 1 to 64 letters, digits, `_` or `-`');
  if (effect !== 'read' && effect !== 'write') throw new Error('its effect is neither `read` nor `write`');
  const confirm = readConfirmPolicy(tool.confirm);
  if (!('policy' in confirm)) throw new Error('its `confirm` is no policy');
  if (confirm_label !== undefined && !isConfirmLabel(confirm_label))
    throw new Error('its `confirm_label` does not fit on a button');
  return Object.freeze({
    ...tool,
    parameters: withSafeNames(closeSchema(tool.parameters)),
    // A copy, so that nobody can change the conditions.
    confirm: structuredClone(confirm.policy),
    public: shown === 'all' ? shown : Object.freeze([...shown]),
    bind: Object.freeze({ ...bind }),
    // An argument that the model chose is always shown.
    hide: Object.freeze(hide.filter((parameter) => Object.hasOwn(bind, parameter))),
  });
}

/**
 * Creates the source of an entry under `tools:`, without starting it. Only the modules that its kind needs are loaded.
 */
export async function createSource(
  entry: SourceEntry,
  api_base_url: string | undefined,
  parts: McpSourceParts,
): Promise<ToolSource> {
  const info = describeSource(entry, api_base_url);
  switch (entry.kind) {
    case 'openapi': {
      const { loadOpenApiTools } = await import('./openapi/openapi-source.ts');
      return fixedSource(info, () => loadOpenApiTools(entry, info));
    }
    case 'module': {
      const { loadModuleTools } = await import('./modules/module-source.ts');
      return fixedSource(info, () => loadModuleTools(entry, info));
    }
    case 'mcp': {
      const { McpSource } = await import('./mcp/mcp-source.ts');
      return new McpSource(entry, info, parts);
    }
  }
}

const FINE: SourceState = { status: 'ok', detail: null, withheld: [] };

/** A source whose tools never change. @param given its tools, or what loads them at the start. */
export function fixedSource(
  info: ToolSourceInfo,
  given: readonly Tool[] | (() => Promise<readonly Tool[]>),
): ToolSource {
  let tools = typeof given === 'function' ? [] : given;
  return {
    info,
    async start() {
      if (typeof given === 'function') tools = await given();
    },
    list: () => tools,
    state: () => FINE,
    stop: async () => {},
  };
}

/**
 * The tools that are part of the daemon. Without `API_BASE_URL`, or with `GET_USER=off`, there is no `get_user`;
 * without a memory backend, there are no memory tools. An agent explains a missing tool better than a tool that always
 * fails.
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
