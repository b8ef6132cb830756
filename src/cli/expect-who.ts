import type { Who } from '../daemon/admin/who.ts';
import { usageError } from './cli-error.ts';
import type { OptionValues } from './command.ts';
import { readWho } from './who.ts';

/** Like `readWho`, for commands that need a person or a user. @throws CliError (2) if none is named */
export async function expectWho(
  args: readonly string[],
  options: OptionValues,
): Promise<{ who: Who; rest: readonly string[] }> {
  const { who, rest } = await readWho(args, options);
  if (who !== null) return { who, rest };
  throw usageError(
    'no person is given',
    "Name a person with --sub, or a platform's user by the channel's name, a colon and the user's id.",
  );
}
