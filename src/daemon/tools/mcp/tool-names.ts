import { ConfigurationError, type SettingProblem } from '../../settings/problem.ts';
import type { McpEntry } from '../source-entry.ts';
import { toolName } from '../tool-name.ts';

/**
 * The names under which the tools of an entry are offered. The keys are the names that the server uses.
 * @throws ConfigurationError if two tools have the same name.
 */
export function toolNames({ name: prefix, tools, place }: McpEntry): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const problems: SettingProblem[] = [];
  for (const [own, { as }] of Object.entries(tools)) {
    const name = toolName(prefix, own, as);
    if ([...names.values()].includes(name))
      problems.push({
        setting: `${place}: tools.${own}`,
        value: name,
        source: null,
        problem: 'is the name of another tool of the entry, too',
        right: 'another name, with `as`',
      });
    names.set(own, name);
  }
  if (problems.length > 0) throw new ConfigurationError(problems);
  return names;
}
