import { EXAMPLE } from '../../../plugins/names.ts';
import { shortId } from '../../daemon/admin/records.ts';
import type { GuardStore } from '../../daemon/admin/store.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { type Administration, noteAudit } from '../../daemon/admin/who.ts';
import { failed, usageError } from '../cli-error.ts';
import { defineCommand, type OptionValues } from '../command.ts';
import { channelInWords } from '../names/channel-titles.ts';
import { channelNames } from '../names/channel-words.ts';
import { expectKnownUser, expectNamed, readOneWho, usersNamed } from '../names/who.ts';
import { wholeSessionId } from '../names/whole-id.ts';
import { withStore } from '../with-store.ts';

export const command = defineCommand({
  description:
    'Give a channel and a user, or --session, or --all. Name a user by the id that the channel uses, as in `agentd guard list` and in the log, or by the `sub` of their token. The user is unblocked, and their messages are counted from 0 again. On a web channel, this affects everyone who uses that id. For a session, its turns are counted from 0, and the session continues. Takes effect at once, even while the daemon runs. Exit code 1 if the guard has no record of them.',
  args: {
    '[channel]': { sentence: 'name of the channel', values: channelNames, isChannel: true },
    '[user]': 'id of the user',
  },
  options: {
    '--session <id>': 'reset the turns of this session',
    '--all': 'reset all users and all sessions',
  },
  examples: {
    [`agentd guard reset ${EXAMPLE.channel} ${EXAMPLE.user}`]: 'Unblocks one user of a channel.',
    'agentd guard reset --session "$SESSION_ID"': 'Lets a session at its limit continue.',
    'agentd guard reset --all': 'Deletes all counts of the guard.',
  },
  json: true,
  async run({ args, options, out }) {
    let reset = await readReset(args, options);
    const isReset = await withStore(options, async (store) => {
      if (options.session !== undefined) {
        const session = await wholeSessionId(store, options.session, options);
        reset = await readReset(args, { ...options, session });
      }
      await noteAudit(store, { command: 'guard reset', ...reset.audited });
      return reset.run(store.guard);
    });
    const { named, words, audited } = reset;
    if (!isReset) {
      await expectKnownUser(audited.who ?? null, options);
      throw failed(
        `the loop guard has no record of ${words}`,
        'List blocked users and sessions with `agentd guard list`.',
      );
    }
    out.data({ ...named, reset: true }, () => `reset ${words}`);
  },
});

interface Reset {
  /** What is reset, for the output of `--json`. */
  named: Record<string, string | boolean>;
  words: string;
  audited: Pick<Administration, 'about' | 'who'>;
  /** Resolves to false if there was nothing to reset. */
  run(guard: GuardStore): Promise<boolean>;
}

/** Reads the arguments, which must have exactly one of the three forms. */
async function readReset(
  [platform, user]: readonly string[],
  options: OptionValues & { session?: string; all?: true },
): Promise<Reset> {
  const { session, all } = options;
  const forms = [platform, session, all].filter((form) => form !== undefined).length;
  if (forms === 1 && all) {
    return {
      named: { all: true },
      words: 'everything',
      audited: { about: '--all' },
      run: (guard) => guard.resetAll().then(() => true),
    };
  }
  if (forms === 1 && session !== undefined) {
    return {
      named: { session_id: session },
      words: `session ${printable(session)}`,
      audited: { about: shortId(session) },
      run: (guard) => guard.resetSession(session),
    };
  }
  if (forms === 1 && platform !== undefined && user !== undefined) {
    const who = expectNamed(await readOneWho([`${platform}:${user}`], options));
    const users = (await usersNamed({ ...options, platform, user })) ?? [];
    return {
      named: { platform, user },
      words: `user ${printable(user)} of ${printable(channelInWords(platform))}`,
      audited: { about: platform, who },
      async run(guard) {
        const areReset = await Promise.all(users.map(({ user_id }) => guard.resetUser(platform, user_id)));
        return areReset.includes(true);
      },
    };
  }
  throw usageError(
    'guard reset takes a channel and a user, or --session ID, or --all',
    'Try `agentd guard reset --help`.',
  );
}
