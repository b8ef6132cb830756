import { EXAMPLE, MOSTLY_ON } from '../../../plugins/names.ts';
import { pluginsAt } from '../../daemon/admin/settings.ts';
import { nearest, printable } from '../../daemon/admin/texts.ts';
import { isAny, listSpellings, personKey, type Who } from '../../daemon/admin/who.ts';
import { type CliError, usageError } from '../cli-error.ts';
import type { OptionValues } from '../command.ts';
import { configLocation, coreSettings } from '../config-location.ts';
import type { Output } from '../output.ts';
import { personInWords, personView } from '../views/person-view.ts';
import { channelInWords } from './channel-titles.ts';
import { brokenInWords, channelNamed, invalidId, isLinkable } from './channel-words.ts';

/** The options of a command that is about somebody. */
export const WHO_OPTIONS = {
  '--sub <id>': 'the person whose tokens have this `sub`',
  '--iss <issuer>': 'with --sub: the `iss` of the tokens; default: `JWT_ISSUER`; empty if they have none',
  '--tenant <id>': 'with --sub: the `tenant_id` of the tokens, if they have one',
} as const;

type WhoOptions = OptionValues<typeof WHO_OPTIONS>;

/** Not required by the parser: `--sub` may name the person instead. */
export const WHO_ARGUMENT = {
  '[who]': "a platform's user: the name of the channel, a colon, and the user's id; not with --sub",
} as const;

/**
 * Who a command is about: the person of `--sub` (with `--iss` and `--tenant`) or, without `--sub`, the platform's user
 * in the first argument. The user's id is converted to the spelling under which the channel stores it.
 * @returns the person or user, null if nobody is named; and the other arguments
 * @throws CliError (2) if the argument is not a user of a channel, --sub is empty, or --iss or --tenant is given without
 * --sub
 */
export async function readWho(
  args: readonly string[],
  options: WhoOptions,
): Promise<{ who: Who | null; rest: readonly string[] }> {
  const { sub, iss, tenant } = options;
  // A script whose variable is not set asks about nobody, and would take the empty answer for that of a person.
  if (sub === '') throw usageError('--sub is empty', 'Name the person with the `sub` of their tokens.');
  if (sub !== undefined) {
    const claims = {
      sub,
      iss: iss ?? (await expectedIssuer(options)),
      ...(tenant === undefined ? {} : { tenant_id: tenant }),
    };
    return { who: { person: personKey(claims) }, rest: args };
  }
  if (iss !== undefined || tenant !== undefined)
    throw usageError('--iss and --tenant need --sub', 'Name the person with `--sub`.');
  const [named, ...rest] = args;
  return named === undefined ? { who: null, rest } : { who: await platformUser(named, options), rest };
}

/** The issuer of all valid tokens; empty if any issuer passes. */
async function expectedIssuer(options: OptionValues): Promise<string> {
  const { JWT_ISSUER: issuer } = await coreSettings(options, 'store');
  return isAny(issuer) ? '' : issuer;
}

async function platformUser(named: string, options: OptionValues): Promise<Who> {
  const [, word, user] = /^([^:]+):(.+)$/s.exec(named) ?? [];
  if (user === undefined && named.includes('@')) {
    throw usageError(
      `'${printable(named)}' is an e-mail address, and people are known by the \`sub\` of their tokens`,
      'Find the `sub` with `agentd link list --wide`, or with `agentd sessions list` and `agentd sessions show ID`. Name the person with `--sub`.',
    );
  }
  if (word === undefined || user === undefined) {
    throw usageError(
      `'${printable(named)}' is not a platform's user`,
      `Use the channel's name, a colon and the user's id, such as ${EXAMPLE.channel}:${EXAMPLE.user}, or name a person with \`--sub\`.`,
    );
  }
  const platform = await channelNamed(word, options);
  const [user_id = user] = await spellings(user, platform, options);
  return { platform, user_id };
}

/**
 * The users that `--user` may mean: the id as it was given, and the id in the spelling of the channel of `--platform`
 * or, without `--platform`, in the spelling of every channel. Null without `--user`.
 */
export async function usersNamed(
  options: OptionValues & { user?: string; platform?: string },
): Promise<readonly UserNamed[] | null> {
  const { user, platform } = options;
  if (user === undefined) return null;
  const channel = platform === undefined ? {} : { platform };
  const ids = new Set([user, ...(await spellings(user, platform, options))]);
  return [...ids].map((user_id) => ({ ...channel, user_id }));
}

/** A user of one channel or, without `platform`, of any channel. */
export interface UserNamed {
  platform?: string;
  user_id: string;
}

/**
 * The spellings of a user's id on the given channel or, if none is given, on all channels. Empty if it is not an id
 * there. Data of a removed plugin is still found, because callers also try the id as it was given.
 */
async function spellings(
  user: string,
  platform: string | undefined,
  options: OptionValues,
): Promise<readonly string[]> {
  const { plugins } = await pluginsAt(configLocation(options));
  return plugins
    .map(({ plugin }) => plugin)
    .filter(({ name }) => platform === undefined || name === platform)
    .flatMap((plugin) => listSpellings(plugin, user));
}

/**
 * Like `readWho`, for commands that take no other argument.
 * @throws CliError (2) also if `--sub` and an argument both name somebody
 */
export async function readOneWho(args: readonly string[], options: WhoOptions): Promise<Who | null> {
  const { who, rest } = await readWho(args, options);
  const [named] = rest;
  if (named === undefined) return who;
  throw usageError(
    `both --sub and '${printable(named)}' say whom the command is about`,
    'Give one of them, and run the command again for the other.',
  );
}

/** The person or user in words, for people. */
export function whoInWords(who: Who): string {
  if ('platform' in who) return `${printable(who.user_id)} of ${printable(channelInWords(who.platform))}`;
  return printable(personInWords(personView(who.person)));
}

/** For commands that need a person or a user. @throws CliError (2) if none is named */
export function expectNamed(who: Who | null): Who {
  if (who !== null) return who;
  throw usageError(
    'no person is given',
    "Name a person with --sub, or a platform's user by the channel's name, a colon and the user's id.",
  );
}

/**
 * Checks that the channel exists. Called only if a command has found no data of the channel, so that data of a removed
 * plugin can still be found.
 * @param flag the option that names the channel; nothing is checked if the option is not given
 * @param out is told on which other channel most conversations are
 * @throws CliError (2) with the known channels.
 */
export async function expectChannel(
  options: OptionValues & { platform?: string; channel?: string },
  flag: 'platform' | 'channel',
  out?: Pick<Output, 'note'>,
): Promise<void> {
  const name = options[flag];
  if (name === undefined) return;
  const other = Object.hasOwn(MOSTLY_ON, name) ? MOSTLY_ON[name] : undefined;
  if (other !== undefined)
    out?.note(`Most conversations of ${channelInWords(name)} are on ${other}: use --${flag} ${other}.`);
  const unknown = await unknownChannel(options, name, `--${flag}: `);
  if (unknown) throw unknown;
}

/**
 * Like `expectChannel`, for the platform user that a command is about. Also checks that the channel recognizes the id.
 * @throws CliError (2) with the known channels, or with the form of an id
 */
export async function expectKnownUser(who: Who | null, options: OptionValues): Promise<void> {
  const unknown = who && (await unknownUser(who, options));
  if (unknown) throw unknown;
}

/** The error for a user of an unknown channel, or with an id that the channel does not recognize; null for any other. */
export async function unknownUser(who: Who, options: OptionValues): Promise<CliError | null> {
  if (!('platform' in who)) return null;
  const { plugins } = await pluginsAt(configLocation(options));
  const channel = plugins.map(({ plugin }) => plugin).find(({ name }) => name === who.platform);
  if (channel === undefined) return unknownChannel(options, who.platform);
  if (!isLinkable(channel) || listSpellings(channel, who.user_id).length > 0) return null;
  return invalidId(channel, who.user_id);
}

/**
 * The error for an unknown channel; null if the channel exists. The channel need not be active: a channel that was
 * turned off may have left data.
 */
async function unknownChannel(options: OptionValues, name: string, prefix = ''): Promise<CliError | null> {
  const { plugins, problems } = await pluginsAt(configLocation(options));
  const known = plugins.map(({ plugin }) => plugin.name);
  if (known.includes(name)) return null;
  const near = nearest(name, known, 2);
  const meant = near === undefined ? '' : `Did you mean '${near.name}'? `;
  return usageError(
    `${prefix}there is no channel '${printable(name)}'`,
    `${meant}The channels are ${known.sort().join(', ')}.${brokenInWords(problems)}`,
  );
}
