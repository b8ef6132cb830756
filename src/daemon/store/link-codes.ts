import type { JsonObject } from '../../channel/index.ts';
import type { PersonKey } from '../identity/identity.ts';
import type { Kernel, Kind, Tx } from './kernels/kernel.ts';
import { LINK, type LinkAlias, type NewLink, putLink, removeLink } from './links.ts';
import { withdrawActions } from './questions.ts';

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
  /**
   * Claims a waiting code for the sender of a message. Only one sender can ever claim it, and the sender's pending
   * actions are withdrawn in the same step, so that one answer never answers two questions. A text that is no code of
   * a person, or a code that is not open to this sender, counts as wrong: after `WRONG_MAX` of them within `WINDOW_MS`,
   * this sender can claim nothing for `BLOCKED_MS`.
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
    sender: { platform: string; user_id: string },
    approve: boolean,
  ): Promise<LinkCode | null>;
  /**
   * Records that the person has agreed on the site, and the sealed token that came with it. Nothing changes unless the
   * code is claimed and belongs to this person; a later confirmation replaces the token.
   */
  confirm(code_id: string, person: PersonKey, token: string): Promise<CodeConfirmed>;
  /**
   * Stores the link, if both ends have agreed and nothing has changed since it was examined; the code is `used` then,
   * and its tokens are deleted. Links under other spellings of the sender's id are removed, and the sender's pending
   * actions for other people are withdrawn, in the same step.
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
  ttl_ms: number;
}

/** The sender who has claimed a code, as the platform has verified the sender. */
export interface Claimant {
  platform: string;
  user_id: string;
  alias_id: string | null;
  /** The name that the sender has on the platform; null if the platform does not send it. */
  name: string | null;
  locale: string | null;
  /** Where the sender reads the outcome. */
  reply_to: JsonObject;
}

/** `expired` is also the state of a code that was ended before its time. */
export type CodeState = 'waiting' | 'claimed' | 'used' | 'declined' | 'expired';

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
  created_at: number;
  /** When an open code ends. */
  expires_at: number;
}

export type CodeCreated =
  | { outcome: 'created'; expires_at: number }
  | { outcome: 'too_many'; retry_after_ms: number };

export type CodeClaimed =
  /** `code` is claimed by this sender; `isNew`: since just now. */
  | { outcome: 'claimed'; code: LinkCode; isNew: boolean }
  /** The text is the code of a person, but is not open to this sender. */
  | { outcome: 'gone' }
  /** No code has this hash. */
  | { outcome: 'unknown' }
  | { outcome: 'blocked' };

export type CodeConfirmed =
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
  /** The sender's other id, which leads to the link from now on; null if there is none. */
  alias: LinkAlias | null;
  /** The value of each key under which the sender may have a link, when it was examined; null if there was none. */
  standing: ReadonlyMap<string, string | null>;
}

/** `changed`: a link has changed since it was examined, so the caller must examine it again. */
export type CodeBound = 'bound' | 'gone' | 'changed';

/** Codes that a person may make, and wrong codes that a sender may send, within `WINDOW_MS`. */
export const CODES_MAX = 5;
export const WRONG_MAX = 5;
export const WINDOW_MS = 10 * 60 * 1000;
/** How long a sender of too many wrong codes can claim nothing, ms. */
export const BLOCKED_MS = 60 * 60 * 1000;
/** How long the state of a code can be read after its end, ms. */
const KEPT_MS = 60 * 60 * 1000;

interface StoredCode extends LinkCode {
  code_hash: string;
}

export const LINK_CODE: Kind<StoredCode> = {
  name: 'link_code',
  expires: ({ expires_at }) => expires_at + KEPT_MS,
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

/** When a sender sent wrong codes, by `JSON.stringify([platform, user_id])`. */
export const WRONG_CODES: Kind<{ times: number[]; blocked_until: number }> = {
  name: 'wrong_link_codes',
  expires: ({ times, blocked_until }) => Math.max(blocked_until, (times.at(-1) ?? 0) + WINDOW_MS),
};

export function linkCodeStore(kernel: Kernel): LinkCodeStore {
  return {
    create: (code) => kernel.step((tx) => create(tx, code)),
    find: (code_id) => kernel.step((tx) => knownCode(findCode(tx, code_id))),
    claim: (code_hash, claimant) => kernel.step((tx) => claim(tx, code_hash, claimant)),
    endSeen: (code_hash) =>
      kernel.step((tx) => {
        const code_id = tx.get(CODE_HASH, code_hash)?.code_id;
        return endOpen(tx, code_id === undefined ? null : findCode(tx, code_id));
      }),
    end: (code_id, person) =>
      kernel.step((tx) => {
        const code = findCode(tx, code_id);
        return endOpen(tx, code?.person === person ? code : null);
      }),
    answer: (code_id, sender, approve) =>
      kernel.step((tx) => {
        const code = findCode(tx, code_id);
        if (code?.state !== 'claimed' || !isSender(code.claimant, sender)) return null;
        return knownCode(approve ? change(tx, code, { sender_agreed: true }) : close(tx, code, 'declined'));
      }),
    confirm: (code_id, person, token) =>
      kernel.step((tx): CodeConfirmed => {
        const code = findCode(tx, code_id);
        if (code?.person !== person) return { outcome: 'unknown' };
        if (code.state === 'waiting') return { outcome: 'not_claimed' };
        if (code.state !== 'claimed') return { outcome: 'gone', state: code.state };
        return { outcome: 'confirmed', code: codeOf(change(tx, code, { confirmed_token: token })) };
      }),
    bind: (binding) => kernel.step((tx) => bind(tx, binding)),
  };
}

function create(tx: Tx, { code_id, code_hash, person, token, ttl_ms }: NewLinkCode): CodeCreated {
  const earlier = tx.get(CODES_OF_PERSON, person);
  const times = recent(earlier?.times, tx.now);
  const [oldest] = times;
  if (oldest !== undefined && times.length >= CODES_MAX)
    return { outcome: 'too_many', retry_after_ms: oldest + WINDOW_MS - tx.now };
  if (earlier !== null) endOpen(tx, findCode(tx, earlier.code_id));
  const expires_at = tx.now + ttl_ms;
  tx.put(LINK_CODE, code_id, {
    ...{ code_id, code_hash, person, token, expires_at, created_at: tx.now },
    ...{ state: 'waiting', confirmed_token: null, claimant: null, sender_agreed: false },
  });
  tx.put(CODE_HASH, code_hash, { code_id, expires_at: expires_at + KEPT_MS });
  tx.put(CODES_OF_PERSON, person, { code_id, times: [...times, tx.now] });
  return { outcome: 'created', expires_at };
}

function claim(tx: Tx, code_hash: string, claimant: Claimant): CodeClaimed {
  const key = wrongKey(claimant);
  const wrong = tx.get(WRONG_CODES, key);
  if (wrong !== null && wrong.blocked_until > tx.now) return { outcome: 'blocked' };
  const code_id = tx.get(CODE_HASH, code_hash)?.code_id;
  const code = code_id === undefined ? null : findCode(tx, code_id);
  if (code?.state === 'claimed' && isSender(code.claimant, claimant))
    return { outcome: 'claimed', code: codeOf(code), isNew: false };
  if (code?.state === 'waiting') {
    withdrawActions(tx, { platform: claimant.platform, user_id: claimant.user_id });
    return {
      outcome: 'claimed',
      code: codeOf(change(tx, code, { state: 'claimed', claimant })),
      isNew: true,
    };
  }
  const times = [...recent(wrong?.times, tx.now), tx.now];
  const isBlocked = times.length >= WRONG_MAX;
  tx.put(WRONG_CODES, key, {
    times: isBlocked ? [] : times,
    blocked_until: isBlocked ? tx.now + BLOCKED_MS : 0,
  });
  return { outcome: code === null ? 'unknown' : 'gone' };
}

function bind(tx: Tx, { code_id, seen, link, alias, standing }: CodeBinding): CodeBound {
  const code = findCode(tx, code_id);
  if (code?.state !== 'claimed' || !code.sender_agreed || code.claimant === null) return 'gone';
  if (code.person !== link.person || code.confirmed_token === null) return 'gone';
  if (code.token !== seen.token || code.confirmed_token !== seen.confirmed_token) return 'changed';
  const links = [...new Map([[link.key, null], ...standing])].map(([key, expected]) => ({
    key,
    expected,
    found: tx.get(LINK, key),
  }));
  if (links.some(({ found, expected }) => (found?.token ?? null) !== expected)) return 'changed';
  for (const { key, found } of links) if (found !== null && key !== link.key) removeLink(tx, found);
  const { platform, user_id } = code.claimant;
  withdrawActions(tx, { platform, user_id, keep: link.person });
  putLink(tx, link, alias);
  close(tx, code, 'used');
  return 'bound';
}

/** The code in its state now. */
function findCode(tx: Tx, code_id: string): StoredCode | null {
  const code = tx.get(LINK_CODE, code_id);
  return code !== null && isOpen(code) && code.expires_at <= tx.now ? { ...code, state: 'expired' } : code;
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

function isSender(claimant: Claimant | null, sender: { platform: string; user_id: string }): boolean {
  return claimant?.platform === sender.platform && claimant.user_id === sender.user_id;
}

function recent(times: readonly number[] | undefined, now: number): number[] {
  return (times ?? []).filter((at) => at > now - WINDOW_MS);
}

export function wrongKey({ platform, user_id }: { platform: string; user_id: string }): string {
  return JSON.stringify([platform, user_id]);
}

function knownCode(stored: StoredCode | null): LinkCode | null {
  return stored && codeOf(stored);
}

/** Tokens of a code that has expired are never given to anybody, even before they are deleted. */
function codeOf({ code_hash: _hash, ...code }: StoredCode): LinkCode {
  return isOpen(code) ? code : { ...code, token: null, confirmed_token: null };
}
