import { ConfigurationError, type SettingProblem } from '../settings/problem.ts';
import { createSource } from './create-source.ts';
import { sameNames } from './same-names.ts';
import type { SourceEntry } from './source-entry.ts';
import type { ToolSource } from './tool.ts';

/**
 * Every problem of the sources that are files of this machine: documents and modules are read, as at the start of the
 * daemon. No server is contacted, and no program is started.
 */
export async function checkSources(
  entries: readonly SourceEntry[],
  api_base_url: string | undefined,
): Promise<SettingProblem[]> {
  const problems: SettingProblem[] = [];
  const started: ToolSource[] = [];
  for (const entry of entries) {
    if (entry.kind === 'mcp') continue;
    const source = createSource(entry, api_base_url);
    try {
      await source.start();
      started.push(source);
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      problems.push(...error.problems);
    }
  }
  problems.push(...sameNames(started.flatMap((source) => source.list())));
  await Promise.all(started.map((source) => source.stop()));
  return problems;
}
