import type { ChannelPlugin } from '../channel/index.ts';
import { type PersonKey, personKey } from '../daemon/identity/identity.ts';
import { writingsOf } from '../daemon/linking/link-ids.ts';
import { printable } from '../daemon/printable.ts';
import { usageError } from './cli-error.ts';
import type { CommandArgument, CommandOption, OptionValues } from './command.ts';
import { configLocation } from './config-location.ts';

/** Somebody whose data a command shows: a person, or a user of a platform. */
export type Who =
  | { person: PersonKey }
  | {
      platform: string;
      /** As the channel writes it; as it was typed if that is no id of the channel. */
      user_id: string;
      /** All ways in which the platform may write it, `user_id` first. */
      writings: readonly string[];
    };

/** The argument that names a user of a platform. */
export const WHO_ARGUMENT: CommandArgument = {
  name: 'who',
  sentence: "a platform's user, as `channel:id`; or give --sub instead",
};

/** The options that name a person. */
export const WHO_OPTIONS: readonly CommandOption[] = [
  { flags: '--sub <sub>', sentence: 'the person with this `sub` in their token' },
  { flags: '--iss <issuer>', sentence: "the token's `iss`, if it has one" },
  { flags: '--tenant <id>', sentence: "the token's `tenant_id`, if it has one" },
];

/**
 * Who a command is about, by --sub or by the first word. Null if neither is given.
 * @returns `words`: the words that follow
 * @throws CliError (2) if the words do not name anybody
 */
export async function whoOf(
  options: OptionValues,
  words: readonly string[],
): Promise<{ who: Who | null; words: readonly string[] }> {
  const { sub, iss, tenant } = options;
  if (typeof sub === 'string') {
    const claims = {
      sub,
      ...(typeof iss === 'string' ? { iss } : {}),
      ...(typeof tenant === 'string' ? { tenant_id: tenant } : {}),
    };
    return { who: { person: personKey(claims) }, words };
  }
  if (iss !== undefined || tenant !== undefined)
    throw usageError('--iss and --tenant need --sub', 'Name the person with --sub SUB.');
  const [word, ...rest] = words;
  return { who: word === undefined ? null : await platformUser(options, word), words: rest };
}

/** As `whoOf`, if somebody must be named. */
export async function requiredWho(
  options: OptionValues,
  words: readonly string[],
): Promise<{ who: Who; words: readonly string[] }> {
  const found = await whoOf(options, words);
  if (found.who !== null) return { ...found, who: found.who };
  throw usageError(
    'nobody is named',
    "Name a person with --sub SUB (with --iss and --tenant if the token has them), or a platform's user as channel:id.",
  );
}

/** A person or user in the words of a sentence. */
export function whoInWords(who: Who): string {
  if ('platform' in who) return printable(`${who.platform}:${who.user_id}`);
  const [iss, tenant, sub] = JSON.parse(who.person) as [string, string, string];
  const more = [...(iss === '' ? [] : [`issuer ${iss}`]), ...(tenant === '' ? [] : [`tenant ${tenant}`])];
  return printable(`sub ${sub}${more.length === 0 ? '' : ` (${more.join(', ')})`}`);
}

async function platformUser(options: OptionValues, word: string): Promise<Who> {
  const { pluginsAt } = await import('../daemon/configuration/configure.ts');
  const { plugins } = await pluginsAt(configLocation(options));
  const platforms = plugins.map(({ plugin }) => plugin).filter(isPlatform);
  const colon = word.indexOf(':');
  const channel = platforms.find(({ name }) => name === word.slice(0, colon));
  const user = word.slice(colon + 1);
  if (channel === undefined || user === '') {
    const names = platforms.map(({ name }) => name).sort();
    throw usageError(
      `'${printable(word)}' names no user of a platform`,
      `Write channel:id, where the channel is one of: ${names.join(', ')}. Name a person with --sub SUB.`,
    );
  }
  const writings = writingsOf(channel, user);
  const [user_id = user] = writings;
  return { platform: channel.name, user_id, writings: writings.length === 0 ? [user] : writings };
}

/** Only a platform verifies who its users are. */
function isPlatform({ capabilities }: ChannelPlugin): boolean {
  return capabilities.delivery === 'push';
}
