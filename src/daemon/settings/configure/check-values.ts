import type { ChannelPlugin } from '../../../channel/index.ts';
import { checkRecords } from '../check.ts';
import { Examination } from '../examination.ts';
import type { SettingProblem } from '../problem.ts';
import { SETTINGS } from '../settings.ts';
import type { Sources } from '../sources.ts';
import { checkAgentSettings, checkOrigins } from './cross-checks.ts';

/**
 * The problems that `configure` would report if these values were in a configuration file. A missing setting is not a
 * problem.
 * @param active the channels that the configuration will have
 */
export function checkValues(
  values: ReadonlyMap<string, unknown>,
  active: readonly ChannelPlugin[],
): SettingProblem[] {
  const cwd = process.cwd();
  const sources: Sources = {
    layers: [{ source: 'new', kind: 'file', values }],
    plugins: [],
    structured: new Map(),
    folder: cwd,
    problems: [],
  };
  const { effective, problems } = checkRecords(SETTINGS, sources, { env: {}, cwd });
  const look = new Examination(effective, sources, { environment: '', cwd, dev: false });
  checkAgentSettings(look);
  checkOrigins(look, active);
  return [...problems, ...look.problems].filter(({ setting }) => values.has(setting));
}
