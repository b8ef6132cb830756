/** A setting of the agent cannot be used; found only when the agent is loaded. Ends the start, exit code 78. */
class ConfigurationError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'ConfigurationError';
  }
}

/** Says which setting, what is wrong, and what would be right. */
export function misconfigured(setting: string, wrong: string, right: string, cause?: unknown): Error {
  return new ConfigurationError(`${setting}: ${wrong}; right would be ${right}`, { cause });
}
