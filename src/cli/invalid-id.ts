import { printable } from '../daemon/admin/texts.ts';
import { type CliError, usageError } from './cli-error.ts';
import type { LinkableChannel } from './linkable-channel.ts';

/** The error for a text that is not an id of the channel's users, with the right form. */
export function invalidId({ name, linking }: LinkableChannel, given: string): CliError {
  return usageError(
    `'${printable(given)}' is not a valid ${printable(linking.argument)} of ${name}`,
    linking.form === undefined
      ? 'Write it as the platform does; `agentd link list` and the log show such ids.'
      : `Write it with ${printable(linking.form)}.`,
  );
}
