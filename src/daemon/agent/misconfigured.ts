import { ConfigurationError } from '../settings/problem.ts';

/** A setting of the agent that turns out to be wrong when the agent is loaded. Ends the start. */
export function misconfigured(setting: string, problem: string, right: string, cause?: unknown): Error {
  return new ConfigurationError([{ setting, value: null, source: null, problem, right }], { cause });
}
