import { createHash } from 'node:crypto';
import { RESERVED_CHANNEL_NAMES } from '../../../plugins/names.ts';
import { randomSuffix } from '../time/clock.ts';

/**
 * Generates an id of the form `<channel>_<user_id>_<suffix>` (agentd-message(7), "Session ids"). The suffix contains
 * 128 random bits.
 */
export function generateSessionId(channel: string, user_id: string): string {
  return `${channel}_${user_id}_${randomSuffix()}`;
}

/** Whether the id has the form of a generated id. A client may choose an id of this form, too. */
export function isLikeGenerated(session_id: string): boolean {
  return /_[A-Za-z0-9_-]{22}$/.test(session_id);
}

/**
 * Whether the id has the prefix of ids that channels choose themselves (`name:`). No web client may use such ids.
 * @param active the names of the active channels, including those of third parties.
 */
export function isChannelSessionId(session_id: string, active: readonly string[]): boolean {
  const colon = session_id.indexOf(':');
  if (colon < 1) return false;
  const name = session_id.slice(0, colon);
  return active.includes(name) || (RESERVED_CHANNEL_NAMES as readonly string[]).includes(name);
}

const RANDOM_PART = /(_[A-Za-z0-9_-]{6})[A-Za-z0-9_-]{16}(?![A-Za-z0-9_-])/g;

/**
 * Shortens an id for log lines. Generated ids are capabilities, so only 6 characters of their random part are shown
 * (agentd-message(7), "Session ids"). Accepts an id, or a path that contains one.
 */
export function shortId(id: string): string {
  return id.replace(RANDOM_PART, '$1…');
}

/** Length of a tag. Two clients hardly ever share a tag of this length. If they do, they only share a limit. */
const TAG_LENGTH = 12;

/**
 * The tag under which the sessions of an anonymous client are counted. Tags are only compared, so the address itself
 * need not be stored.
 * @param address the client's address; for IPv6, its /64 network.
 */
export function clientTag(address: string): string {
  return createHash('sha256').update(address).digest('base64url').slice(0, TAG_LENGTH);
}
