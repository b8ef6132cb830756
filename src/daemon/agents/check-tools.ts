import { nearest } from '../settings/nearest.ts';
import type { SettingProblem } from '../settings/problem.ts';
import type { AgentEntry } from './agent-entry.ts';

/**
 * A problem for each tool that an agent lists and that does not exist: it would silently be missing.
 * @param known the names of all tools, also of those that are switched off or whose server has not answered yet
 */
export function checkListedTools(entries: readonly AgentEntry[], known: readonly string[]): SettingProblem[] {
  const names = new Set(known);
  return entries.flatMap(({ tools = [] }) =>
    tools
      .filter(({ name }) => !names.has(name))
      .map(({ name, location }) => {
        const meant = nearest(name, known, 2)?.name;
        const right = 'the name of a tool, as `agentd tools list` shows it';
        return {
          ...location,
          value: name,
          problem: 'is not the name of a tool',
          right: meant === undefined ? right : `${meant}? ${right}`,
        };
      }),
  );
}
