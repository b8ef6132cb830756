import { ConfigurationError, type SettingProblem } from '../settings/problem.ts';
import { describeSource } from './describe-source.ts';
import { loadModuleTools } from './modules/module-source.ts';
import { loadOpenApiTools } from './openapi/openapi-source.ts';
import { builtInTools } from './registry.ts';
import type { McpEntry, SourceEntry } from './source-entry.ts';
import type { Tool } from './tool.ts';
import { findSameNames, toolNames } from './tool-names.ts';
import { toolWarnings } from './tool-size.ts';

type Named = Pick<Tool, 'name' | 'source'>;

interface CheckedSources {
  problems: SettingProblem[];
  /** Sentences about tools that can be used, but are too much for many models. */
  warnings: string[];
  /** The names of all tools that can be found. */
  names: string[];
}

/**
 * Finds every problem of the sources that can be found on this machine. It reads documents and modules, as the daemon
 * does when it starts, but contacts no server and starts no program.
 */
export async function checkSources(
  entries: readonly SourceEntry[],
  api_base_url: string | undefined,
): Promise<CheckedSources> {
  const problems: SettingProblem[] = [];
  const defined: Tool[] = [...allBuiltIn(api_base_url)];
  const named: Named[] = [];
  for (const entry of entries) {
    try {
      if (entry.kind === 'mcp') named.push(...listNames(entry, api_base_url));
      else defined.push(...(await loadTools(entry, api_base_url)));
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      problems.push(...error.problems);
    }
  }
  problems.push(...findSameNames([...defined, ...named]));
  return {
    problems,
    warnings: toolWarnings(defined),
    names: [...defined, ...named].map(({ name }) => name),
  };
}

/** Memory and `get_user` may be switched on later, so the names of their tools are always reserved. */
export function allBuiltIn(api_base_url: string | undefined): readonly Tool[] {
  const source = builtInTools({
    API_BASE_URL: api_base_url,
    API_PUBLIC_USER_FIELDS: [],
    GET_USER: true,
    MEMORY_BACKEND: 'sqlite',
    SESSION_BACKEND: 'sqlite',
    DATABASE_URL: undefined,
  });
  return source.list();
}

/** The names of an MCP server's tools are in the entry. Only the server knows the rest. */
function listNames(entry: McpEntry, api_base_url: string | undefined): Named[] {
  const source = describeSource(entry, api_base_url);
  return [...toolNames(entry).values()].map((name) => ({ name, source }));
}

async function loadTools(
  entry: Exclude<SourceEntry, McpEntry>,
  api_base_url: string | undefined,
): Promise<readonly Tool[]> {
  const source = describeSource(entry, api_base_url);
  return entry.kind === 'module' ? loadModuleTools(entry, source) : loadOpenApiTools(entry, source);
}
