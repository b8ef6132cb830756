import type { ChannelLinking } from '../../channel/index.ts';

/** What links need to know of a channel. */
export interface LinkedChannel {
  name: string;
  linking?: ChannelLinking | undefined;
}

/** Writings of one id at most; more is a defect of the channel. */
const WRITINGS_MAX = 8;
/** Longest id, in characters (agentd-service(7), "Fields"). */
const ID_MAX = 256;

/** The documented key; also the record that a sealed token is bound to. */
function linkKey(channel: string, user_id: string): string {
  return `${channel}:jwt:${user_id}`;
}

/** Channel and user of a documented key; a channel's name has no colon. */
export function userOfKey(key: string): { platform: string; user_id: string } {
  const [platform = '', , ...rest] = key.split(':');
  return { platform, user_id: rest.join(':') };
}

/**
 * The keys under which a user's link may stand, that under which it is kept first. An id that the channel does
 * not know as one of its own is taken as it is.
 */
export function linkKeys(channel: LinkedChannel, user_id: string): readonly [string, ...string[]] {
  const [kept = user_id, ...others] = writingsOf(channel, user_id);
  return [linkKey(channel.name, kept), ...others.map((other) => linkKey(channel.name, other))];
}

/**
 * The ways in which the platform may write a user's id, that under which links are kept first; empty: it is no
 * id of this platform.
 * @throws Error if the channel breaks its contract: a link under a wrong key would be a stranger's.
 */
export function writingsOf({ name, linking }: LinkedChannel, given: string): readonly string[] {
  if (!linking) return [given];
  const writings: unknown = linking.idsOf(given);
  if (Array.isArray(writings) && writings.length <= WRITINGS_MAX && writings.every(isId)) return writings;
  throw new Error(`\`linking.idsOf\` of the channel ${name} must give at most ${WRITINGS_MAX} ids`);
}

/** Where a link is found by another id of its user. */
export function aliasKey(channel: string, alias_id: string): string {
  return `${channel}:${alias_id}`;
}

function isId(id: unknown): id is string {
  return (
    typeof id === 'string' &&
    id !== '' &&
    id.isWellFormed() &&
    [...id].length <= ID_MAX &&
    !/\p{Cc}/u.test(id)
  );
}
