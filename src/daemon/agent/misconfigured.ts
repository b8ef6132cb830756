import { ConfigurationError } from '../settings/problem.ts';

/**
 * The error for a setting that turns out to be wrong when the agent is loaded. With this error, the daemon does not
 * start.
 */
export function misconfigured(setting: string, problem: string, right: string, cause?: unknown): Error {
  return new ConfigurationError([{ setting, value: null, source: null, problem, right }], { cause });
}
