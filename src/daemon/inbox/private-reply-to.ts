import type { JsonObject } from '../../channel/index.ts';
import type { Seal } from '../identity/seal.ts';

/**
 * The member `private` of a `reply_to` is a secret of the platform, for example an address that takes answers without
 * further proof. It is sealed while it is stored, and only for its own message.
 */
function recordOf(id: string): string {
  return `reply_to:${id}`;
}

/** The `reply_to` as the inbox stores it. @param id of the message */
export function sealReplyTo(seal: Seal, id: string, reply_to: JsonObject): JsonObject {
  const { private: secret, ...open } = reply_to;
  return secret === undefined
    ? reply_to
    : { ...open, private: seal.close(JSON.stringify(secret), recordOf(id)) };
}

/** The `reply_to` as a channel gets it. Null if no key opens its private member. */
export function openReplyTo(seal: Seal, id: string, reply_to: JsonObject): JsonObject | null {
  const { private: sealed, ...open } = reply_to;
  if (sealed === undefined) return reply_to;
  const opened = typeof sealed === 'string' ? seal.open(sealed, recordOf(id)) : null;
  return opened === null ? null : { ...open, private: JSON.parse(opened) };
}

/** The `reply_to` without its private member. */
export function publicPartOf({ private: _secret, ...open }: JsonObject): JsonObject {
  return open;
}
