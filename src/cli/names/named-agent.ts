import type { AgentEntry, Configuration } from '../../daemon/admin/settings.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { usageError } from '../cli-error.ts';

/**
 * The agent of the configuration with this name.
 * @param subject what names it, for the error
 * @throws CliError (2) if there is none
 */
export function namedAgent(
  { agents }: Pick<Configuration, 'agents'>,
  name: string,
  subject: string,
): AgentEntry {
  const entry = agents.find((one) => one.name === name);
  if (entry !== undefined) return entry;
  throw usageError(
    `${subject} ${printable(name)}, which the configuration does not have`,
    `Pass --agent with one of these: ${agents.map((one) => one.name).join(', ')}.`,
  );
}
