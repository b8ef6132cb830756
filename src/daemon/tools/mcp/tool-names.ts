import { ConfigurationError, type SettingProblem } from '../../settings/problem.ts';
import type { McpEntry } from '../source-entry.ts';
import { TOOL_NAME_MAX, toolName } from '../tool-name.ts';

/**
 * The names under which the tools of an entry are offered. The keys are the names that the server uses.
 * @throws ConfigurationError if a name is too long, or if two tools have the same name.
 */
export function toolNames({ name: prefix, tools, place }: McpEntry): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const problems: SettingProblem[] = [];
  for (const [own, { as }] of Object.entries(tools)) {
    const name = toolName(prefix, own, as);
    const refuse = (problem: string) => {
      const setting = `${place}: tools.${own}`;
      problems.push({ setting, value: name, source: null, problem, right: 'another name, with `as`' });
    };
    if (name.length > TOOL_NAME_MAX)
      refuse(`is the name of the tool: it has more than ${TOOL_NAME_MAX} characters`);
    else if ([...names.values()].includes(name)) refuse('is the name of another tool of the entry, too');
    names.set(own, name);
  }
  if (problems.length > 0) throw new ConfigurationError(problems);
  return names;
}
