import { ConfigurationError, type SettingProblem } from '../settings/problem.ts';
import { describeSource } from './describe-source.ts';
import { loadModuleTools } from './module-source.ts';
import { builtInTools } from './registry.ts';
import { sameNames } from './same-names.ts';
import type { SourceEntry } from './source-entry.ts';
import type { Tool } from './tool.ts';

/** What the daemon would find wrong with the sources of tools at its start. No other machine is contacted. */
export async function checkSources(
  entries: readonly SourceEntry[],
  api_base_url: string | undefined,
): Promise<SettingProblem[]> {
  const problems: SettingProblem[] = [];
  const tools: Pick<Tool, 'name' | 'source'>[] = [
    ...builtInTools({ API_BASE_URL: api_base_url, API_PUBLIC_USER_FIELDS: [] }).list(),
  ];
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

async function toolsOf(
  entry: SourceEntry,
  api_base_url: string | undefined,
): Promise<readonly Pick<Tool, 'name' | 'source'>[]> {
  const info = describeSource(entry, api_base_url);
  switch (entry.kind) {
    case 'module':
      return loadModuleTools(entry, info);
    default:
      return [];
  }
}
