import pino from 'pino';
import type { LoadSettings } from './agent/load.ts';
import type { AgentEntry } from './agents/agent-entry.ts';
import { checkListedTools, loadAgents } from './agents/load-agents.ts';
import { idleScope } from './channels/ask-platform.ts';
import { createChannels } from './channels/create-channels.ts';
import type { EffectiveSetting } from './settings/check.ts';
import { ConfigurationError, type Inspection, type SettingProblem } from './settings/configure/configure.ts';
import { systemClock } from './time/clock.ts';
import { checkSources } from './tools/check-sources.ts';

export interface CheckedParts {
  problems: SettingProblem[];
  /** The warnings of the settings, and those that appear only when the sources of tools are loaded. */
  warnings: string[];
}

/**
 * Every problem that prevents the daemon from starting: the problems of the settings, and those that appear only when
 * the agent and the sources of tools are loaded and the channels are created. Nothing is started.
 */
export async function checkParts(found: Inspection): Promise<CheckedParts> {
  const problems = [...found.problems];
  // A problem with the settings of the agent is already in the list.
  if (!problems.some(({ setting }) => setting.startsWith('AGENT_')))
    problems.push(...(await checkAgents(found.agents, found.effective)));
  const sources = await checkSources(found.tools, findApiBaseUrl(found));
  problems.push(...sources.problems);
  // A source with a problem may have the tools that seem to be missing.
  if (sources.problems.length === 0) problems.push(...checkListedTools(found.agents, sources.names));
  // Only valid settings are handed to a channel.
  if (found.problems.length === 0) problems.push(...(await checkChannels(found)));
  return { problems, warnings: [...found.warnings, ...sources.warnings] };
}

/** `API_BASE_URL`. Undefined if it is not set or not valid; each source then needs its own address. */
export function findApiBaseUrl({ effective }: Pick<Inspection, 'effective'>): string | undefined {
  const found = effective.find(({ record }) => record.name === 'API_BASE_URL')?.value;
  return typeof found === 'string' ? found : undefined;
}

async function checkChannels({ channels }: Inspection): Promise<readonly SettingProblem[]> {
  try {
    const made = createChannels(channels, ({ plugin, settings }) =>
      plugin.create(idleScope(plugin, settings, fetch, () => systemClock.now())),
    );
    for (const { channel } of made) await channel.stop?.();
    return [];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.problems;
  }
}

/**
 * The problems that the daemon would find when it loads the agents at its start: in the module of the runtime, the
 * packages of the models, and the files of the instructions. This function loads the agents in the same way, but does
 * not run them.
 */
async function checkAgents(
  entries: readonly AgentEntry[],
  effective: readonly EffectiveSetting[],
): Promise<SettingProblem[]> {
  const settings = Object.fromEntries(effective.map(({ record, value }) => [record.name, value]));
  try {
    await loadAgents(entries, settings as unknown as LoadSettings, pino({ enabled: false }));
    return [];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.problems.map((problem) => {
      const came = effective.find(({ record }) => record.name === problem.setting);
      return came?.value === undefined ? problem : { ...problem, value: came.shown, source: came.source };
    });
  }
}
