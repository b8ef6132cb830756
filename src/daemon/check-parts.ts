import { checkAgent } from './agent/check-agent.ts';
import { systemClock } from './clock.ts';
import { createChannels } from './plugin/create-channels.ts';
import { idleScope } from './plugin/idle-scope.ts';
import { ConfigurationError, type Inspection, type SettingProblem } from './settings/configure.ts';

/**
 * Every problem that keeps the daemon from its start: those that were found in the settings, and those that show only
 * when the agent is loaded and the channels are made. Nothing is started.
 */
export async function checkParts(found: Inspection): Promise<SettingProblem[]> {
  const problems = [...found.problems];
  // What is known to be wrong with the agent need not be found twice.
  if (!problems.some(({ setting }) => setting.startsWith('AGENT_')))
    problems.push(...(await checkAgent(found.effective)));
  // A channel is made of settings that are valid.
  if (found.problems.length === 0) problems.push(...(await checkChannels(found)));
  return problems;
}

async function checkChannels({ channels }: Inspection): Promise<readonly SettingProblem[]> {
  try {
    const made = createChannels(channels, ({ plugin, settings }) =>
      idleScope(plugin, settings, fetch, () => systemClock.now()),
    );
    for (const { channel } of made) await channel.stop?.();
    return [];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.problems;
  }
}
