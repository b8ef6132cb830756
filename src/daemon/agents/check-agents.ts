import pino from 'pino';
import type { LoadSettings } from '../agent/load.ts';
import type { EffectiveSetting } from '../settings/check.ts';
import { ConfigurationError, type SettingProblem } from '../settings/problem.ts';
import type { AgentEntry } from './agent-entry.ts';
import { loadAgents } from './load-agents.ts';

/**
 * The problems that the daemon would find when it loads the agents at its start: in the module of the runtime, the
 * packages of the models, and the files of the instructions. This function loads the agents in the same way, but does
 * not run them.
 */
export async function checkAgents(
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
