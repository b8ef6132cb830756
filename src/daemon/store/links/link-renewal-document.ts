import { hash } from 'node:crypto';
import type { ClaimState } from '../claims/claim-state.ts';
import type { Kind, Tx } from '../kernels/kernel.ts';

/** The renewal of the token of a link (link-renewals.ts), by the key of the link. It is deleted with the link. */
export interface StoredRenewal {
  key: string;
  /** The hash of the link's token as it is stored. For a link with another token, the record means nothing. */
  about: string;
  /** When the token is to be renewed next, ms since the epoch. */
  due_at: number;
  /** From then on it is not renewed, because it has expired. */
  ends_at: number;
  /** When a message, or the code that made the link, last met it, to within `USED_WITHIN_MS`. */
  used_at: number;
  /** When the token was last renewed; null if it never was. */
  renewed_at: number | null;
  /** The number of failures since the token was stored. */
  failures: number;
  /** The last failure since the token was stored. */
  failed: { reason: string; at: number } | null;
  /** The issuer will not renew this token. */
  isOver: boolean;
  /** Nobody has used the link for long, so the background leaves it out. */
  isIdle: boolean;
  claim: ClaimState | null;
  /** As the link. */
  expires_at: number;
}

export const LINK_RENEWAL: Kind<StoredRenewal> = {
  name: 'link_renewal',
  expires: ({ expires_at }) => expires_at,
  indexes: ({ isOver, isIdle, due_at }) => (isOver || isIdle ? [] : [['due', due_at]]),
};

export function hashOfToken(stored: string): string {
  return hash('sha256', stored, 'base64url');
}

/** Notes that the token of a link was sealed with another key. */
export function carryRenewal(tx: Tx, key: string, from: string, to: string): void {
  const renewal = tx.get(LINK_RENEWAL, key);
  if (renewal?.about === hashOfToken(from)) tx.put(LINK_RENEWAL, key, { ...renewal, about: hashOfToken(to) });
}
