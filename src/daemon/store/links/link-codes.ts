import type { JsonObject } from '../../../channel/index.ts';
import { byPersonOrNull, type PersonKey, type TokenOrigin } from '../../identity/identity.ts';
import { withdrawActions } from '../actions/questions.ts';
import type { Kernel, Kind, Tx } from '../kernels/kernel.ts';
import { stepsOf } from '../steps-of.ts';
import { meetLink, type TokenLife } from './link-renewals.ts';
import { type NewLink, replaceLinks, type StandingTokens } from './links.ts';
import { noteSiteSession } from './site-sessions.ts';

/**
 * Codes with which a signed-in person connects a chat. A code is stored only as a keyed
 * hash, and the tokens in it are sealed; the layer above does both. Every change is one atomic step across all daemons.
 */
export interface LinkCodeStore {
  /**
   * Stores a code of a person, and ends the person's earlier code. Refused if the person has made `CODES_MAX` codes
   * within `WINDOW_MS`; then nothing changes.
   */
  create(code: NewLinkCode): Promise<CodeCreated>;
  /** The code with this id, in its state now. Null if there is none, or if it ended more than an hour ago. */
  find(code_id: string): Promise<LinkCode | null>;
  /** Which of these hashes are hashes of codes that are open, or ended less than an hour ago. */
  known(code_hashes: readonly string[]): Promise<Set<string>>;
  /** The code that this sender claimed last, in its state now. Null if there is none, as with `find`. */
  claimedBy(sender: Sender): Promise<LinkCode | null>;
  /**
   * Claims a waiting code for the sender of a message. Only one sender can ever claim it, and the sender's pending
   * actions are withdrawn in the same step, so that one answer never answers two questions. A text that is no code of
   * a person, or a code that is not open to this sender, counts as wrong: after `WRONG_MAX` of them within `WINDOW_MS`,
   * this sender can claim nothing for `BLOCKED_MS`. With that, and with a claim of another code, the code that the
   * sender claimed before ends. A repeat of the message that claimed the code changes nothing, whatever the state of
   * the code.
   */
  claim(code_hash: string, claimant: Claimant): Promise<CodeClaimed>;
  /**
   * Ends the code with this hash that is still open, because others have seen it. False if there was none. A code that
   * another sender has claimed is open, too.
   */
  endSeen(code_hash: string): Promise<boolean>;
  /** Ends a code at the request of its person. False if it is not the person's, or is no longer open. */
  end(code_id: string, person: PersonKey): Promise<boolean>;
  /**
   * Records the answer of the sender who has claimed the code. A no declines the code. Null if the code is not claimed
   * by this sender, or is no longer open; then nothing changes.
   */
  answer(
    code_id: string,
    sender: Sender,
    approve: boolean,
    message_id?: string | null,
  ): Promise<LinkCode | null>;
  /**
   * Records that the sender is asked again, because the answer in this message was not clear. Null if the code does not
   * wait for an answer of this sender; then nothing changes.
   */
  askAgain(code_id: string, sender: Sender, message_id: string | null): Promise<LinkCode | null>;
  /**
   * Records that the person has agreed on the site, and the sealed token that came with it. Nothing changes unless the
   * code is claimed and belongs to this person; a later confirmation replaces the token.
   */
  confirm(code_id: string, person: PersonKey, token: string, origin?: TokenOrigin): Promise<CodeConfirmed>;
  /**
   * Stores the link (`replaceLinks`), if both ends have agreed and nothing has changed since it was examined; the code is
   * `used` then, and its tokens are deleted.
   */
  bind(binding: CodeBinding): Promise<CodeBound>;
}

export interface NewLinkCode {
  /** Random; it cannot be derived from the code, nor the code from it. */
  code_id: string;
  code_hash: string;
  person: PersonKey;
  /** The person's token, sealed. */
  token: string;
  /** The claims of the token. Absent for a token whose claims do not matter. */
  origin?: TokenOrigin;
  ttl_ms: number;
}

/** A sender, as the platform has verified the sender. */
interface Sender {
  platform: string;
  user_id: string;
}

/** The sender who has claimed a code. */
export interface Claimant extends Sender {
  alias_id: string | null;
  /** The name that the sender has on the platform; null if the platform does not send it. */
  name: string | null;
  locale: string | null;
  /** Where the sender reads the outcome. */
  reply_to: JsonObject;
  /** The message that contained the code; null if the platform does not identify messages. */
  message_id: string | null;
}

/** `expired` is also the state of a code that was ended before its time. */
type CodeState = 'waiting' | 'claimed' | 'used' | 'declined' | 'expired';

export interface LinkCode {
  code_id: string;
  person: PersonKey;
  state: CodeState;
  /** The token with which the code was made, sealed. Null once the code is no longer open. */
  token: string | null;
  /** The token with which the person has agreed on the site, sealed; null before that. */
  confirmed_token: string | null;
  claimant: Claimant | null;
  /** Whether the claimant has answered yes. */
  sender_agreed: boolean;
  /** The message with the claimant's last answer; null if there is none. */
  answered_by: string | null;
  /** When the claimant was asked last; null if nobody has claimed the code. */
  asked_at: number | null;
  created_at: number;
  /** When an open code ends. */
  expires_at: number;
}

type CodeCreated =
  | { outcome: 'created'; expires_at: number }
  | { outcome: 'too_many'; retry_after_ms: number };

export type CodeClaimed =
  /**
   * `code` is claimed by this sender; `isNew`: since just now. For a repeated message, the code may have ended meanwhile.
   * `asks`: whether the sender is to be asked. A sender who sends the code in one message after another was just asked.
   */
  | { outcome: 'claimed'; code: LinkCode; isNew: boolean; asks: boolean }
  /** The text is the code of a person, but is not open to this sender. */
  | { outcome: 'gone' }
  /** No code has this hash. */
  | { outcome: 'unknown' }
  | { outcome: 'blocked' };

type CodeConfirmed =
  | { outcome: 'confirmed'; code: LinkCode }
  /** Nobody has claimed the code yet. */
  | { outcome: 'not_claimed' }
  /** The code was used, declined or ended. */
  | { outcome: 'gone'; state: CodeState }
  /** There is no such code of this person. */
  | { outcome: 'unknown' };

export interface CodeBinding {
  code_id: string;
  /** The tokens of the code when they were examined. */
  seen: { token: string; confirmed_token: string };
  link: NewLink;
  /** Of the token of the link. */
  life: TokenLife;
  /** The links of the sender when they were examined. */
  standing: StandingTokens;
}

/**
 * `changed`: a link has changed since it was examined, or the person has signed out, so the caller must examine it
 * again.
 */
type CodeBound = 'bound' | 'gone' | 'changed';

/** Codes that a person may make, and wrong codes that a sender may send, within `WINDOW_MS`. */
export const CODES_MAX = 5;
export const WRONG_MAX = 5;
export const WINDOW_MS = 10 * 60 * 1000;
/** How long a sender of too many wrong codes can claim nothing, ms. */
const BLOCKED_MS = 60 * 60 * 1000;
/** Within this time, a sender who repeats the code is not asked again, ms. The loop guard does not see such messages. */
export const ASK_AGAIN_MS = 10_000;
/** How long the state of a code can be read after its end, ms. */
const KEPT_MS = 60 * 60 * 1000;

interface StoredCode extends LinkCode {
  code_hash: string;
}

export const LINK_CODE: Kind<StoredCode> = {
  name: 'link_code',
  expires: ({ expires_at }) => expires_at + KEPT_MS,
  indexes: (code) => {
    const index = isOpen(code) ? byPersonOrNull(code.person) : null;
    return index === null ? [] : [[index, 0]];
  },
};

/** For each hash, the id of its code. */
export const CODE_HASH: Kind<{ code_id: string; expires_at: number }> = {
  name: 'link_code_hash',
  expires: ({ expires_at }) => expires_at,
};

/** The newest code of a person, and when the person made codes. */
export const CODES_OF_PERSON: Kind<{ code_id: string; times: number[] }> = {
  name: 'link_codes',
  expires: ({ times }) => (times.at(-1) ?? 0) + WINDOW_MS + KEPT_MS,
};

/** The wrong codes that a sender has sent, by `senderKey`. */
export const WRONG_CODES: Kind<{ wrong: WrongCode[]; blocked_until: number }> = {
  name: 'wrong_link_codes',
  expires: ({ wrong, blocked_until }) => Math.max(blocked_until, (wrong.at(-1)?.at ?? 0) + WINDOW_MS),
};

/** A repeat of the message is not another wrong code. */
interface WrongCode {
  at: number;
  message_id: string | null;
}

/** The code that a sender has claimed last, by `senderKey`. */
export const CLAIM_OF_SENDER: Kind<{ code_id: string; expires_at: number }> = {
  name: 'link_code_claim',
  expires: ({ expires_at }) => expires_at,
};

export function linkCodeStore(kernel: Kernel): LinkCodeStore {
  const step = stepsOf(kernel);
  return {
    create: step(create),
    find: step((tx, code_id) => knownCode(findCode(tx, code_id))),
    known: step((tx, hashes) => new Set(hashes.filter((hash) => tx.get(CODE_HASH, hash) !== null))),
    claimedBy: step((tx, sender) => knownCode(findClaim(tx, sender))),
    claim: step(claim),
    endSeen: step((tx, code_hash) => {
      const code_id = tx.get(CODE_HASH, code_hash)?.code_id;
      return endOpen(tx, code_id === undefined ? null : findCode(tx, code_id));
    }),
    end: step((tx, code_id, person) => {
      const code = findCode(tx, code_id);
      return endOpen(tx, code?.person === person ? code : null);
    }),
    answer: step((tx, code_id, sender, approve, answered_by = null) => {
      const code = findCode(tx, code_id);
      if (code?.state !== 'claimed' || !isSender(code.claimant, sender)) return null;
      const answered = { ...code, answered_by };
      return knownCode(
        approve ? change(tx, answered, { sender_agreed: true }) : close(tx, answered, 'declined'),
      );
    }),
    askAgain: step((tx, code_id, sender, answered_by) => {
      const code = findCode(tx, code_id);
      if (code?.state !== 'claimed' || code.sender_agreed || !isSender(code.claimant, sender)) return null;
      return toLinkCode(change(tx, code, { answered_by, asked_at: tx.now }));
    }),
    confirm: step((tx, code_id, person, token, origin): CodeConfirmed => {
      const code = findCode(tx, code_id);
      if (code?.person !== person) return { outcome: 'unknown' };
      if (code.state === 'waiting') return { outcome: 'not_claimed' };
      if (code.state !== 'claimed') return { outcome: 'gone', state: code.state };
      if (origin !== undefined) noteSiteSession(tx, origin, code.expires_at);
      return { outcome: 'confirmed', code: toLinkCode(change(tx, code, { confirmed_token: token })) };
    }),
    bind: step(bind),
  };
}

function create(tx: Tx, { code_id, code_hash, person, token, origin, ttl_ms }: NewLinkCode): CodeCreated {
  const earlier = tx.get(CODES_OF_PERSON, person);
  const times = recent(earlier?.times, tx.now);
  const [oldest] = times;
  if (oldest !== undefined && times.length >= CODES_MAX)
    return { outcome: 'too_many', retry_after_ms: oldest + WINDOW_MS - tx.now };
  if (earlier !== null) endOpen(tx, findCode(tx, earlier.code_id));
  const expires_at = tx.now + ttl_ms;
  if (origin !== undefined) noteSiteSession(tx, origin, expires_at);
  tx.put(LINK_CODE, code_id, {
    code_id,
    code_hash,
    person,
    token,
    expires_at,
    created_at: tx.now,
    state: 'waiting',
    confirmed_token: null,
    claimant: null,
    sender_agreed: false,
    answered_by: null,
    asked_at: null,
  });
  tx.put(CODE_HASH, code_hash, { code_id, expires_at: expires_at + KEPT_MS });
  tx.put(CODES_OF_PERSON, person, { code_id, times: [...times, tx.now] });
  return { outcome: 'created', expires_at };
}

function claim(tx: Tx, code_hash: string, claimant: Claimant): CodeClaimed {
  const code_id = tx.get(CODE_HASH, code_hash)?.code_id;
  const code = code_id === undefined ? null : findCode(tx, code_id);
  const isTheirs = isSender(code?.claimant ?? null, claimant);
  const { message_id } = claimant;
  const isRepeat = isTheirs && message_id !== null && message_id === code?.claimant?.message_id;
  if (code !== null && isRepeat)
    return { outcome: 'claimed', code: toLinkCode(code), isNew: false, asks: true };
  const key = senderKey(claimant);
  const found = tx.get(WRONG_CODES, key);
  if (found !== null && isBlocked(found, tx.now)) return { outcome: 'blocked' };
  if (code?.state === 'claimed' && isTheirs) {
    const { asked_at } = code;
    const wasAsked = asked_at !== null && asked_at <= tx.now && tx.now < asked_at + ASK_AGAIN_MS;
    const asked = wasAsked ? code : change(tx, code, { asked_at: tx.now });
    return { outcome: 'claimed', code: toLinkCode(asked), isNew: false, asks: !wasAsked };
  }
  if (code?.state === 'waiting') {
    withdrawActions(tx, { platform: claimant.platform, user_id: claimant.user_id });
    endOpen(tx, findClaim(tx, claimant));
    tx.put(CLAIM_OF_SENDER, key, { code_id: code.code_id, expires_at: code.expires_at + KEPT_MS });
    return {
      outcome: 'claimed',
      code: toLinkCode(change(tx, code, { state: 'claimed', claimant, asked_at: tx.now })),
      isNew: true,
      asks: true,
    };
  }
  const wrong = (found?.wrong ?? []).filter(({ at }) => isRecent(at, tx.now));
  if (message_id === null || !wrong.some((one) => one.message_id === message_id)) {
    wrong.push({ at: tx.now, message_id });
    const tooMany = wrong.length >= WRONG_MAX;
    if (tooMany) endOpen(tx, findClaim(tx, claimant));
    tx.put(WRONG_CODES, key, {
      wrong: tooMany ? [] : wrong,
      blocked_until: tooMany ? tx.now + BLOCKED_MS : 0,
    });
  }
  return { outcome: code === null ? 'unknown' : 'gone' };
}

function findClaim(tx: Tx, sender: Sender): StoredCode | null {
  const code_id = tx.get(CLAIM_OF_SENDER, senderKey(sender))?.code_id;
  return code_id === undefined ? null : findCode(tx, code_id);
}

function bind(tx: Tx, { code_id, seen, link, life, standing }: CodeBinding): CodeBound {
  const code = findCode(tx, code_id);
  if (code?.state !== 'claimed' || !code.sender_agreed) return 'gone';
  if (code.person !== link.person || code.confirmed_token === null) return 'gone';
  if (code.token !== seen.token || code.confirmed_token !== seen.confirmed_token) return 'changed';
  if (!replaceLinks(tx, link, standing)) return 'changed';
  // Otherwise a token that expires before the sender's first message would not be renewed.
  meetLink(tx, { ...link, life });
  close(tx, code, 'used');
  return 'bound';
}

/** The code in its state now. */
function findCode(tx: Tx, code_id: string): StoredCode | null {
  const code = tx.get(LINK_CODE, code_id);
  return code !== null && isOpen(code) && code.expires_at <= tx.now ? { ...code, state: 'expired' } : code;
}

/** Ends a code at the sign-out of its person. */
export function endCode(tx: Tx, code_id: string): void {
  endOpen(tx, findCode(tx, code_id));
}

function endOpen(tx: Tx, code: StoredCode | null): boolean {
  if (code === null || !isOpen(code)) return false;
  close(tx, code, 'expired');
  return true;
}

/** A code that has ended needs no tokens any more. */
function close(tx: Tx, code: StoredCode, state: CodeState): StoredCode {
  return change(tx, code, { state, token: null, confirmed_token: null });
}

function change(tx: Tx, code: StoredCode, to: Partial<StoredCode>): StoredCode {
  const changed = { ...code, ...to };
  tx.put(LINK_CODE, code.code_id, changed);
  return changed;
}

function isOpen({ state }: LinkCode): boolean {
  return state === 'waiting' || state === 'claimed';
}

function isSender(claimant: Claimant | null, sender: Sender): boolean {
  return claimant?.platform === sender.platform && claimant.user_id === sender.user_id;
}

function recent(times: readonly number[] | undefined, now: number): number[] {
  return (times ?? []).filter((at) => isRecent(at, now));
}

/** A time in the future does not count: the clock was set back after it. */
function isRecent(at: number, now: number): boolean {
  return at <= now && at > now - WINDOW_MS;
}

/** A time further in the future than a block lasts does not count, for the same reason. */
function isBlocked({ blocked_until }: { blocked_until: number }, now: number): boolean {
  return blocked_until > now && blocked_until <= now + BLOCKED_MS;
}

function senderKey({ platform, user_id }: Sender): string {
  return JSON.stringify([platform, user_id]);
}

function knownCode(stored: StoredCode | null): LinkCode | null {
  return stored && toLinkCode(stored);
}

/** Tokens of a code that has expired are never given to anybody, even before they are deleted. */
function toLinkCode({ code_hash: _hash, ...code }: StoredCode): LinkCode {
  return isOpen(code) ? code : { ...code, token: null, confirmed_token: null };
}
