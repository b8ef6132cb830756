import { ConfigurationError, type SettingProblem } from '../settings/problem.ts';
import { describeSource } from './describe-source.ts';
import { toolNames } from './mcp/tool-names.ts';
import { ModuleSource } from './module-source.ts';
import { OpenApiSource } from './openapi/openapi-source.ts';
import { builtInTools } from './registry.ts';
import { sameNames } from './same-names.ts';
import type { SourceEntry } from './source-entry.ts';
import type { Tool } from './tool.ts';

type Named = Pick<Tool, 'name' | 'source'>;

/**
 * Finds every problem of the sources that can be found on this machine. It reads documents and modules, as the daemon
 * does when it starts, but contacts no server and starts no program.
 */
export async function checkSources(
  entries: readonly SourceEntry[],
  api_base_url: string | undefined,
): Promise<SettingProblem[]> {
  const problems: SettingProblem[] = [];
  // Memory and `get_user` may be switched on later, so the names of their tools are always reserved.
  const builtIn = builtInTools({
    API_BASE_URL: api_base_url,
    API_PUBLIC_USER_FIELDS: [],
    GET_USER: true,
    MEMORY_BACKEND: 'sqlite',
    SESSION_BACKEND: 'sqlite',
    DATABASE_URL: undefined,
  });
  const tools: Named[] = [...builtIn.list()];
  for (const entry of entries) {
    try {
      tools.push(...(await toolsOf(entry, api_base_url)));
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      problems.push(...error.problems);
    }
  }
  return [...problems, ...sameNames(tools)];
}

async function toolsOf(entry: SourceEntry, api_base_url: string | undefined): Promise<readonly Named[]> {
  const source = describeSource(entry, api_base_url);
  // The names of an MCP server's tools are in the entry. Only the server knows the rest.
  if (entry.kind === 'mcp') return [...toolNames(entry).values()].map((name) => ({ name, source }));
  const made = entry.kind === 'module' ? new ModuleSource(entry, source) : new OpenApiSource(entry, source);
  await made.start();
  return made.list();
}
