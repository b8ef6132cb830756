import { ID_MAX, SPELLINGS_MAX } from '../../channel/check-message.ts';
import type { ChannelLinking } from '../../channel/index.ts';
import { plainValue } from '../../channel/plain-value.ts';
import { isName } from '../identity/decode-token.ts';

/** The parts of a channel that links depend on. */
export interface LinkedChannel {
  name: string;
  linking?: ChannelLinking | undefined;
}

/** The documented key of a link. The link's sealed token is bound to this key. */
function linkKey(channel: string, user_id: string): string {
  return `${channel}:jwt:${user_id}`;
}

/**
 * The keys under which a user's link may be stored. The first key is used for new links. An id that the channel does
 * not recognize is used unchanged.
 */
export function linkKeys(channel: LinkedChannel, user_id: string): readonly [string, ...string[]] {
  const [kept = user_id, ...others] = listSpellings(channel, user_id);
  return [linkKey(channel.name, kept), ...others.map((other) => linkKey(channel.name, other))];
}

/**
 * The spellings that the platform may use for a user's id. The first spelling is used for new links. Empty if this is
 * not an id of the platform.
 * @throws Error if the channel breaks its contract: a link under a wrong key would belong to a stranger.
 */
export function listSpellings({ name, linking }: LinkedChannel, given: string): readonly string[] {
  if (!linking) return [given];
  const spellings: unknown = plainValue(linking.idsOf(given), 'linking.idsOf');
  if (Array.isArray(spellings) && spellings.length <= SPELLINGS_MAX && spellings.every(isId))
    return spellings;
  throw new Error(
    `\`linking.idsOf\` of the channel ${name} must return a list of at most ${SPELLINGS_MAX} ids`,
  );
}

/** The record to which the sealed tokens of a code are bound. */
export function codeRecord(code_id: string): string {
  return `link code:${code_id}`;
}

/** The key under which a link is found by another id of its user. */
export function aliasKey(channel: string, alias_id: string): string {
  return `${channel}:${alias_id}`;
}

function isId(id: unknown): id is string {
  return isName(id) && [...id].length <= ID_MAX;
}
