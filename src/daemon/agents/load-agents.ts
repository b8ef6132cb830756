import type { AgentRuntime } from '../../agent/index.ts';
import { type LoadSettings, loadAgent, runtimeName } from '../agent/load.ts';
import { BUILTIN, NOTHING_OF_A_PROVIDER, nameSameProvider } from '../agent/model-servers.ts';
import type { Log } from '../process/log.ts';
import { nearest } from '../settings/nearest.ts';
import { ConfigurationError, type SettingProblem } from '../settings/problem.ts';
import type { AgentEntry } from './agent-entry.ts';
import type { AgentParts } from './agents.ts';

/**
 * Loads all agents. A runtime that is a module of the operator is loaded once, and serves all agents.
 * @param loaded that runtime, if it is loaded already
 * @throws ConfigurationError with the problems of all agents
 */
export async function loadAgents(
  entries: readonly AgentEntry[],
  settings: LoadSettings,
  log: Log,
  loaded?: AgentRuntime,
): Promise<AgentParts[]> {
  const agents: AgentParts[] = [];
  const problems: SettingProblem[] = [];
  const isModule = isOwnModule(settings);
  let shared = isModule ? loaded : undefined;
  for (const entry of entries) {
    try {
      const own = mergeSettings(entry, settings);
      const agent = await loadAgent(own, log, shared);
      if (isModule) shared = agent.runtime;
      agents.push({ entry, settings: own, ...agent });
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      problems.push(...error.problems.map((problem) => locate(problem, entry)));
    }
  }
  // Agents that share a setting have the same problem with it.
  const distinct = new Map(problems.map((problem) => [`${problem.setting} ${problem.problem}`, problem]));
  if (distinct.size > 0) throw new ConfigurationError([...distinct.values()]);
  return agents;
}

function isOwnModule(settings: LoadSettings): boolean {
  return !['builtin', 'llm'].includes(runtimeName(settings));
}

/** The settings of the daemon, with those of the entry in their place. @throws ConfigurationError */
export function mergeSettings<Given extends LoadSettings>(
  { instructions, model, location }: AgentEntry,
  settings: Given,
): Given {
  const { AGENT_RUNTIME, AGENT_MODEL, AGENT_BASE_URL } = settings;
  const own = instructions === undefined ? settings : { ...settings, AGENT_INSTRUCTIONS: instructions };
  if (model === undefined) return own;
  if (AGENT_RUNTIME !== undefined && AGENT_RUNTIME !== 'llm') {
    const problem = `needs a language model, but AGENT_RUNTIME is ${AGENT_RUNTIME}`;
    const right = 'no `model`, or AGENT_RUNTIME unset';
    throw new ConfigurationError([
      { setting: `${location.setting}.model`, value: model, source: location.source, problem, right },
    ]);
  }
  if (model === BUILTIN) return { ...own, AGENT_RUNTIME: BUILTIN };
  // The key and the headers of one provider must not be sent to another one, which takes its key from its variable.
  const isSameServer = AGENT_BASE_URL !== undefined || nameSameProvider(model, AGENT_MODEL);
  if (isSameServer) return { ...own, AGENT_MODEL: model };
  return { ...own, ...NOTHING_OF_A_PROVIDER, AGENT_MODEL: model };
}

/** The problem at the location where the operator has written the value. */
function locate(problem: SettingProblem, { location, model, instructions }: AgentEntry): SettingProblem {
  const { setting } = problem;
  if (setting === 'AGENT_MODEL' && model !== undefined)
    return { ...problem, setting: `${location.setting}.model`, value: model, source: location.source };
  if (setting === 'AGENT_INSTRUCTIONS' && instructions !== undefined)
    return { ...problem, setting: `${location.setting}.instructions`, source: location.source };
  return problem;
}

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
