import type { SettingProblem } from '../settings/problem.ts';
import type { Tool } from './tool.ts';

/** One problem for each tool that has the same name as an earlier tool. */
export function sameNames(tools: readonly Pick<Tool, 'name' | 'source'>[]): SettingProblem[] {
  const first = new Map<string, string>();
  const problems: SettingProblem[] = [];
  for (const { name, source } of tools) {
    const other = first.get(name);
    if (other === undefined) first.set(name, source.name);
    else
      problems.push({
        setting: 'tools',
        value: name,
        source: null,
        problem: `is the name of a tool of ${other} and of ${source.name}`,
        right: 'a different name for each tool: rename one (`as: name` in its entry)',
      });
  }
  return problems;
}
