import pino from 'pino';
import type { EffectiveSetting } from '../settings/check.ts';
import { ConfigurationError, type SettingProblem } from '../settings/problem.ts';
import { loadAgent } from './load.ts';

/**
 * The problems that the daemon would find when it loads the agent at its start: in the module of the runtime, the
 * package of the model, and the file of the instructions. This function loads the agent in the same way, but does not
 * run it.
 */
export async function checkAgent(effective: readonly EffectiveSetting[]): Promise<SettingProblem[]> {
  const settings = Object.fromEntries(effective.map(({ record, value }) => [record.name, value]));
  try {
    await loadAgent(settings as unknown as Parameters<typeof loadAgent>[0], pino({ enabled: false }));
    return [];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.problems.map((problem) => {
      const came = effective.find(({ record }) => record.name === problem.setting);
      return came?.value === undefined ? problem : { ...problem, value: came.shown, source: came.source };
    });
  }
}
