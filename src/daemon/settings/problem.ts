/** One problem with a setting, described so that it can be fixed without looking anything up. */
export interface SettingProblem {
  /** The name of the setting, or another place: a file, a line of `.env`, an entry under `plugins`, or a channel. */
  setting: string;
  /** The value as it may be shown: secrets masked, at most 200 characters. Null if there is none. */
  value: string | null;
  /** Where the value came from: `environment`, `.env`, `agentd.yaml`, … Null if there is no source. */
  source: string | null;
  /** What is wrong, as the end of a sentence about the setting: `is not a whole number`. */
  problem: string;
  /** What would be right. */
  right: string;
}

/** A problem with something that has no value, or none that may be shown. */
export function createProblem(setting: string, problem: string, right: string): SettingProblem {
  return { setting, value: null, source: null, problem, right };
}

/** The configuration cannot be used. The error lists all problems (agentd-settings(5), "Description"). Exit code 78. */
export class ConfigurationError extends Error {
  readonly problems: readonly SettingProblem[];

  constructor(problems: readonly SettingProblem[], options?: ErrorOptions) {
    super(describeProblems(problems), options);
    this.name = 'ConfigurationError';
    this.problems = problems;
  }
}

/** The error for one problem (`createProblem`). */
export function misconfigured(
  setting: string,
  problem: string,
  right: string,
  cause?: unknown,
): ConfigurationError {
  return new ConfigurationError([createProblem(setting, problem, right)], { cause });
}

function describeProblems(problems: readonly SettingProblem[]): string {
  const count = problems.length === 1 ? 'one problem' : `${problems.length} problems`;
  return [`the configuration has ${count}:`, ...problems.map(describeProblem)].join('\n\n');
}

/** One problem as a block of lines. */
function describeProblem({ setting, value, source, problem, right }: SettingProblem): string {
  const head = value === null ? setting : `${setting}=${value}`;
  return [
    `  ${head}${source === null ? '' : ` (${source})`}`,
    `    wrong: ${problem}`,
    `    right: ${right}`,
  ].join('\n');
}
