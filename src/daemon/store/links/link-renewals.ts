import { isMoment } from '../../identity/decode-token.ts';
import type { Claims, TokenOrigin } from '../../identity/identity.ts';
import { dueAt } from '../../time/clock.ts';
import { withdrawActions } from '../actions/questions.ts';
import { claimTime } from '../claims/claim-state.ts';
import type { Kernel, Kind, Tx } from '../kernels/kernel.ts';
import { stepsOf } from '../steps-of.ts';
import { hashOfToken, LINK_RENEWAL, type StoredRenewal } from './link-renewal-document.ts';
import { LINK, removeLink, type StoredLink, userOfKey } from './links.ts';
import { isSignedOut } from './sign-out-marks.ts';
import { noteSiteSession } from './site-sessions.ts';

/**
 * When the token of a link is exchanged for a new one (agentd-identity(7), "Links that last"), for links that were made
 * with a code. One daemon at a time renews a link. A new token is stored only if the link still has the token that was
 * sent, and if no sign-out covers that token.
 */
export interface LinkRenewalStore {
  /**
   * Notes that a message met a link with this token, and makes its record if there is none. The time of use is exact to
   * within `USED_WITHIN_MS`, so that most messages write nothing.
   * @returns null if the link has another token now
   */
  meet(key: string, token: string, life: TokenLife): Promise<Renewal | null>;
  /**
   * Claims the renewal of a link for `lease_ms`, if it is due and nobody else has claimed it, and if this service is not
   * refused as a client at the moment. Null otherwise.
   */
  take(key: string, lease_ms: number): Promise<RenewalClaim | null>;
  /**
   * Keys of links that are due, at most `limit`. A link that nobody has used for `idle_ms` is left out until somebody
   * uses it.
   */
  due(idle_ms: number, limit: number): Promise<string[]>;
  /** Stores the new token of a link, which keeps its end. Nothing changes, and it is false, if it must not be stored. */
  renew(claim: RenewalClaim, renewed: RenewedToken): Promise<boolean>;
  /** Ends the claim after a failure. The next attempt is due after `wait_ms`. */
  fail(claim: RenewalClaim, reason: string, wait_ms: number): Promise<void>;
  /** Ends the claim and the renewing of this token: the issuer will not renew it. */
  stop(claim: RenewalClaim, reason: string): Promise<void>;
  /** Removes the link, because its person is no longer signed in. False if it has another token, or is gone. */
  endLink(claim: RenewalClaim): Promise<boolean>;
  /** Notes that the issuer refuses this service as a client. Until `wait_ms` have passed, nothing is renewed. */
  noteRefused(reason: string, wait_ms: number): Promise<void>;
  /** Why this service is refused as a client; null if it is not, as far as is known. */
  refused(): Promise<ClientRefusal | null>;
  /** The record of a link; null if there is none. */
  find(key: string): Promise<Renewal | null>;
}

/** When a token was issued (null if it does not say, or names no time) and when it expires, ms since the epoch. */
export interface TokenLife {
  issued_at: number | null;
  expires_at: number;
}

export function toTokenLife({ iat, exp }: Pick<Claims, 'iat' | 'exp'>): TokenLife {
  return { issued_at: isMoment(iat) ? Math.floor(iat * 1000) : null, expires_at: Math.floor(exp * 1000) };
}

export interface Renewal
  extends Pick<StoredRenewal, 'due_at' | 'renewed_at' | 'failed' | 'failures' | 'isOver'> {
  /** Whether the token is to be renewed now. */
  isDue: boolean;
}

export interface RenewalClaim {
  key: string;
  owner: string;
  /** The token as it is stored, which is to be sent. */
  token: string;
  failures: number;
}

export interface RenewedToken {
  /** The new token, sealed. */
  token: string;
  /** The claims of the token that was sent, and of the new one. */
  sent: TokenOrigin;
  origin: TokenOrigin;
  life: TokenLife;
}

export interface ClientRefusal {
  reason: string;
  since: number;
  /** How often in a row. */
  count: number;
  again_at: number;
  wait_ms: number;
}

/** The part of its life after which a token is renewed. */
const RENEW_AT = 4 / 5;
/** How exact the time of the last use is, ms. */
export const USED_WITHIN_MS = 60 * 60 * 1000;

/** There is at most one, under the key `client`. */
const REFUSAL: Kind<ClientRefusal> = { name: 'renewal_refusal', expires: () => null };
const CLIENT = 'client';

export function linkRenewalStore(kernel: Kernel): LinkRenewalStore {
  const step = stepsOf(kernel);
  return {
    meet: step((tx, key, token, life) => meetLink(tx, { key, token, life })),
    take: step(take, { claims: true }),
    due: step(due),
    renew: step(renew),
    fail: step((tx, claim, reason, wait_ms) => {
      const held = heldBy(tx, claim);
      if (held === null) return;
      const { renewal } = held;
      const failed = { reason, at: tx.now };
      const failures = renewal.failures + 1;
      tx.put(LINK_RENEWAL, claim.key, {
        ...renewal,
        failed,
        failures,
        claim: null,
        due_at: tx.now + wait_ms,
      });
    }),
    stop: step((tx, claim, reason) => {
      const held = heldBy(tx, claim);
      if (held === null) return;
      const failed = { reason, at: tx.now };
      tx.put(LINK_RENEWAL, claim.key, { ...held.renewal, failed, claim: null, isOver: true });
    }),
    endLink: step((tx, claim) => {
      const held = heldBy(tx, claim);
      if (held === null) return false;
      withdrawActions(tx, userOfKey(claim.key));
      removeLink(tx, held.link);
      return true;
    }),
    noteRefused: step((tx, reason, wait_ms) => {
      const { since, count } = tx.get(REFUSAL, CLIENT) ?? { since: tx.now, count: 0 };
      const next = { again_at: tx.now + wait_ms, wait_ms };
      tx.put(REFUSAL, CLIENT, { reason, since, count: count + 1, ...next });
    }),
    refused: step((tx) => tx.get(REFUSAL, CLIENT)),
    find: step((tx, key) => {
      const [link, renewal] = [tx.get(LINK, key), tx.get(LINK_RENEWAL, key)];
      return link !== null && isAbout(renewal, link) ? toRenewal(renewal, tx.now) : null;
    }),
  };
}

/** As `LinkRenewalStore.meet`. A code that makes a link meets it, too. */
export function meetLink(
  tx: Tx,
  { key, token, life }: { key: string; token: string; life: TokenLife },
): Renewal | null {
  const [link, found] = [tx.get(LINK, key), tx.get(LINK_RENEWAL, key)];
  if (link?.token !== token) return null;
  if (!isAbout(found, link)) {
    const made = newRenewal(tx, link, token, life, link.made_at ?? tx.now);
    tx.put(LINK_RENEWAL, key, made);
    return toRenewal(made, tx.now);
  }
  if (found.isIdle || found.used_at <= tx.now - USED_WITHIN_MS)
    tx.put(LINK_RENEWAL, key, { ...found, used_at: tx.now, isIdle: false });
  return toRenewal(found, tx.now);
}

function take(tx: Tx, key: string, lease_ms: number): RenewalClaim | null {
  const [link, renewal, refusal] = [tx.get(LINK, key), tx.get(LINK_RENEWAL, key), tx.get(REFUSAL, CLIENT)];
  if (link === null || !isAbout(renewal, link)) return null;
  if (
    !isDue(renewal, tx.now) ||
    (refusal !== null && dueAt(refusal.again_at, refusal.wait_ms, tx.now) > tx.now)
  )
    return null;
  const left = renewal.claim === null ? 0 : renewal.claim.expires_at - claimTime(tx);
  // If more is left than a claim lasts, the clock was set back.
  if (left > 0 && left <= lease_ms) return null;
  const owner = tx.newOwner();
  tx.put(LINK_RENEWAL, key, { ...renewal, claim: { owner, expires_at: claimTime(tx) + lease_ms } });
  return { key, owner, token: link.token, failures: renewal.failures };
}

function due(tx: Tx, idle_ms: number, limit: number): string[] {
  const found: string[] = [];
  for (const { key, doc } of tx.first(LINK_RENEWAL, 'due', limit)) {
    if (doc.due_at > tx.now) break;
    if (doc.ends_at <= tx.now) tx.put(LINK_RENEWAL, key, { ...doc, isOver: true });
    else if (doc.used_at <= tx.now - idle_ms) tx.put(LINK_RENEWAL, key, { ...doc, isIdle: true });
    else found.push(key);
  }
  return found;
}

function renew(tx: Tx, claim: RenewalClaim, { token, sent, origin, life }: RenewedToken): boolean {
  const held = heldBy(tx, claim);
  const isOver = [isSignedOut(tx, sent), isSignedOut(tx, origin)].includes(true);
  if (held === null || isOver) return false;
  const { link, renewal } = held;
  tx.put(LINK, claim.key, { ...link, token, expiry_notified: false });
  noteSiteSession(tx, origin, link.expires_at);
  tx.put(LINK_RENEWAL, claim.key, {
    ...newRenewal(tx, link, token, life, tx.now),
    used_at: renewal.used_at,
    isIdle: renewal.isIdle,
    renewed_at: tx.now,
  });
  if (tx.get(REFUSAL, CLIENT) !== null) tx.delete(REFUSAL, CLIENT);
  return true;
}

/** The link and its record, if the claim is still held and the link still has the token that was sent. */
function heldBy(
  tx: Tx,
  { key, owner, token }: RenewalClaim,
): { link: StoredLink; renewal: StoredRenewal } | null {
  const [link, renewal] = [tx.get(LINK, key), tx.get(LINK_RENEWAL, key)];
  if (link?.token !== token || !isAbout(renewal, link) || renewal.claim?.owner !== owner) return null;
  return { link, renewal };
}

function newRenewal(
  tx: Tx,
  link: StoredLink,
  token: string,
  { issued_at, expires_at }: TokenLife,
  stored_at: number,
): StoredRenewal {
  const begins = issued_at ?? stored_at;
  return {
    key: link.key,
    about: hashOfToken(token),
    used_at: tx.now,
    due_at: Math.ceil(begins + (expires_at - begins) * RENEW_AT),
    ends_at: expires_at,
    renewed_at: null,
    failures: 0,
    failed: null,
    isOver: false,
    isIdle: false,
    claim: null,
    expires_at: link.expires_at,
  };
}

function isAbout(renewal: StoredRenewal | null, { token }: StoredLink): renewal is StoredRenewal {
  return renewal !== null && renewal.about === hashOfToken(token);
}

function isDue({ isOver, due_at, ends_at }: StoredRenewal, now: number): boolean {
  return !isOver && due_at <= now && ends_at > now;
}

function toRenewal(renewal: StoredRenewal, now: number): Renewal {
  const { due_at, renewed_at, failed, failures, isOver } = renewal;
  return { isDue: isDue(renewal, now), due_at, renewed_at, failed, failures, isOver };
}
