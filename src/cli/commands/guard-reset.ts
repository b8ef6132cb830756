import { EXAMPLE } from '../../../plugins/names.ts';
import { printable } from '../../daemon/printable.ts';
import type { GuardStore } from '../../daemon/store/guard.ts';
import type { Command } from '../command.ts';
import { channelNames } from '../completion/channel-words.ts';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';

import { withStore } from '../with-store.ts';

export const command: Command = {
  name: 'guard reset',
  summary: 'Let a user, a session or everyone through again.',
  description:
    'Takes a channel and a user, or --session, or --all. A user is named by the id that the channel knows them by, which stands in `agentd guard list` and in the log, or by the `sub` of their token: their circuits are closed and their messages counted from none. On a web channel that is everyone who gives this id. A session counts its turns from 0 again, and goes on. Takes effect at once, beside a running daemon. Exit code 1 when the guard knows nothing of them.',
  args: [
    { name: 'channel', sentence: 'name of the channel', values: channelNames },
    { name: 'user', sentence: 'id of the user' },
  ],
  options: [
    { flags: '--session <id>', sentence: 'the turns of this session' },
    { flags: '--all', sentence: 'all users and all sessions' },
  ],
  examples: [
    {
      line: `agentd guard reset ${EXAMPLE.channel} ${EXAMPLE.user}`,
      does: 'Lets one user of a channel through again.',
    },
    { line: 'agentd guard reset --session "$SESSION_ID"', does: 'Lets a session at its limit go on.' },
    { line: 'agentd guard reset --all', does: 'Forgets all that the guard has counted.' },
  ],
  json: true,
  async run({ args, options, out }) {
    const reset = resetOf(args, options);
    const known = await withStore(options, (store) => reset.run(store.guard));
    if (!known) {
      throw new CliError(
        EXIT.no,
        `the loop guard has counted nothing of ${reset.words}`,
        '`agentd guard list` shows whom it blocks.',
      );
    }
    out.data({ ...reset.named, reset: true }, () => `reset ${reset.words}`);
    return EXIT.ok;
  },
};

interface Reset {
  /** As it is printed with `--json`. */
  named: Record<string, string | boolean>;
  words: string;
  /** False where nothing was there to reset. */
  run(guard: GuardStore): Promise<boolean>;
}

/** Exactly one of the three forms; anything else is wrong usage. */
function resetOf(
  [platform, user]: readonly string[],
  { session, all }: Readonly<Record<string, unknown>>,
): Reset {
  const forms = [platform !== undefined, session !== undefined, all === true].filter(Boolean).length;
  if (forms === 1 && all === true) {
    return {
      named: { all: true },
      words: 'everything',
      run: async (guard) => {
        await guard.resetAll();
        return true;
      },
    };
  }
  if (forms === 1 && typeof session === 'string') {
    return {
      named: { session_id: session },
      words: `session ${printable(session)}`,
      run: (guard) => guard.resetSession(session),
    };
  }
  if (forms === 1 && platform !== undefined && user !== undefined) {
    return {
      named: { platform, user },
      words: `user ${printable(user)} of ${printable(platform)}`,
      run: (guard) => guard.resetUser(platform, user),
    };
  }
  throw new CliError(
    EXIT.usage,
    'guard reset takes a channel and a user, or --session ID, or --all',
    'Try `agentd guard reset --help`.',
  );
}
