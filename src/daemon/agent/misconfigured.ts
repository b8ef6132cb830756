import { ConfigurationError, type SettingProblem } from '../settings/problem.ts';

/** A problem with a setting that the agent finds when it is loaded. */
export function problemOf(setting: string, problem: string, right: string): SettingProblem {
  return { setting, value: null, source: null, problem, right };
}

/**
 * The error for a setting that turns out to be wrong when the agent is loaded. With this error, the daemon does not
 * start.
 */
export function misconfigured(setting: string, problem: string, right: string, cause?: unknown): Error {
  return new ConfigurationError([problemOf(setting, problem, right)], { cause });
}
