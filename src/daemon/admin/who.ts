import { createHmac } from 'node:crypto';
import { userInfo } from 'node:os';
import {
  type MemoryOwner,
  ownerOfPerson,
  ownerOnPlatform,
  type PersonKey,
  parsePersonKey,
  personKey,
} from '../identity/identity.ts';
import { isAny } from '../identity/token-checks.ts';
import { listSpellings } from '../linking/link-ids.ts';
import type { Store } from '../store/store.ts';

/** Whom a command is about. */
export type { PersonKey };
export { isAny, listSpellings, parsePersonKey, personKey };

/** A person, identified by the claims of a token, or a user of a platform. */
export type Who = { person: PersonKey } | { platform: string; user_id: string };

/** The owner under which the daemon keeps the memories of the person or user. */
export function toMemoryOwner(who: Who): MemoryOwner {
  return 'person' in who ? ownerOfPerson(who.person) : ownerOnPlatform(who.platform, who.user_id);
}

/** An action of an administrator, for the audit log. */
export interface Administration {
  /** The name of the command. */
  command: string;
  /** What the command is about, without a person's data. */
  about?: string;
  /** The person or the platform user that the command is about. The log contains only an HMAC of them. */
  who?: Who;
}

/** Writes a line of the audit log. Call this before the change, so that no change happens without its line. */
export async function noteAudit(
  { audit }: Pick<Store, 'audit'>,
  { command, about, who }: Administration,
): Promise<void> {
  const person = who === undefined ? null : hashPerson(who, await audit.key());
  await audit.note({ user: systemUser(), command, about: about ?? null, person });
}

/**
 * The name of a person in the audit log: always the same for one person, and useless to anyone who does not know both
 * the key and the person.
 */
export function hashPerson(who: Who, key: Uint8Array): string {
  const name = 'person' in who ? who.person : `${who.platform}:${who.user_id}`;
  return createHmac('sha256', key).update(name).digest('base64url').slice(0, 22);
}

/** The account of this process. With `sudo`, also the name of the person who used it. */
export function systemUser(): string {
  const { SUDO_USER } = process.env;
  const name = nameOfAccount();
  return SUDO_USER === undefined || SUDO_USER === name ? name : `${name} (sudo: ${SUDO_USER})`;
}

/** The name of the account, or its user id if it has no name, as in a container. */
function nameOfAccount(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
