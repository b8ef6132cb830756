import { ConfigurationError, type SettingProblem } from '../settings/problem.ts';
import { NAME_FORM } from '../settings/tools-schema.ts';
import type { McpEntry } from './source-entry.ts';
import type { Tool } from './tool.ts';

/**
 * The name under which a tool of a source is offered (agentd-agent(7), "Names").
 * @param prefix the `name` of the entry.
 * @param own the name that the source uses for the operation or tool.
 * @param as the whole name, if the entry sets one.
 */
export function toolName(prefix: string, own: string, as?: string): string {
  return as ?? `${prefix}_${own}`.replace(/[^A-Za-z0-9_-]/g, '_');
}

/** What is wrong with the name that `toolName` made. Null if nothing is. */
export function findNameProblem(name: string): Pick<SettingProblem, 'value' | 'problem' | 'right'> | null {
  if (NAME_FORM.test(name)) return null;
  return {
    value: name,
    problem: 'is a name of more than 64 characters',
    right: 'a shorter name, with `as`',
  };
}

/**
 * The names under which the tools of an entry are offered. The keys are the names that the server uses.
 * @throws ConfigurationError if two tools have the same name, or a name is too long.
 */
export function toolNames({ name: prefix, tools, location }: McpEntry): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const problems: SettingProblem[] = [];
  for (const [own, { as }] of Object.entries(tools)) {
    const name = toolName(prefix, own, as);
    const at = { setting: `${location}: tools.${own}`, source: null };
    const wrong = findNameProblem(name);
    if (wrong !== null) problems.push({ ...at, ...wrong });
    if ([...names.values()].includes(name))
      problems.push({
        ...at,
        value: name,
        problem: 'is the name of another tool of the entry, too',
        right: 'another name, with `as`',
      });
    names.set(own, name);
  }
  if (problems.length > 0) throw new ConfigurationError(problems);
  return names;
}

/** One problem for each tool that has the same name as an earlier tool. */
export function findSameNames(tools: readonly Pick<Tool, 'name' | 'source'>[]): SettingProblem[] {
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
