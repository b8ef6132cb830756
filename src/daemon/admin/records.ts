import { ERRORS, type ErrorCode } from '../errors.ts';
import { openComment } from '../feedback/rate-answer.ts';
import { decodeToken } from '../identity/decode-token.ts';
import { personKey, type TokenValidator } from '../identity/identity.ts';
import type { Seal } from '../identity/seal.ts';
import type { LinkHolder } from '../linking/find-link.ts';
import type { LinkedChannel } from '../linking/link-ids.ts';
import { type LinkOutcome, link, removeLink } from '../linking/links.ts';
import { formatLogLine } from '../process/log-line.ts';
import {
  type ExpirySettings,
  type PassedState,
  type SessionState,
  sessionState,
} from '../session/jwt-context.ts';
import { openTurnText, type Session, type StoredTurn, sessionTag, shortId } from '../session/session.ts';
import type { Settings } from '../settings/settings.ts';
import type { Action } from '../store/actions/actions.ts';
import type { Renewal } from '../store/links/link-renewals.ts';
import { type Link, userOfKey } from '../store/links/links.ts';
import type { Memory, MemoryStore } from '../store/memories/memories.ts';
import {
  countRecords,
  FilesNotRewritten,
  type PersonRecords,
  type PersonSelector,
  type PersonStore,
} from '../store/persons/persons.ts';
import type { Store } from '../store/store.ts';
import { systemClock } from '../time/clock.ts';
import { openActionText, stateNow } from '../tools/journal/action-record.ts';
import { openAdministratorSeal } from './sealing.ts';
import { withMemoriesIn } from './store.ts';
import { toMemoryOwner, type Who } from './who.ts';

/** The meaning of what the daemon has stored and logged: sessions, turns, actions, codes of errors, log lines. */
export type { ExpirySettings, PassedState, Session, SessionState, StoredTurn };
export { ERRORS, type ErrorCode, formatLogLine, openComment, sessionState, sessionTag, shortId };

/** An action with its texts, as far as the key opens them, and its outcome at this time. */
export function openAction(action: Action, now: number, seal: Pick<Seal, 'open'>) {
  const args = openActionText(seal, action, 'args');
  return {
    outcome: stateNow(action, now),
    wasSent: action.started_at !== null,
    summary: openActionText(seal, action, 'summary'),
    arguments: args === null ? null : (JSON.parse(args) as unknown),
  };
}

/**
 * The sealed parts of a turn: what its tools answered, and the state of the runtime. They may have personal data. A part
 * that no key opens is null; a part that was not stored is absent.
 */
export function openTurn(turn: StoredTurn, seal: Pick<Seal, 'open'>): { calls?: unknown; state?: unknown } {
  return {
    ...(turn.calls === undefined ? {} : { calls: openTurnText(seal, turn, 'calls') ?? null }),
    ...(turn.state === undefined ? {} : { state: openTurnText(seal, turn, 'state') ?? null }),
  };
}

/** The links between users of channels and persons. */
export type { LinkHolder, LinkOutcome };

const QUIET = { info() {}, warn() {} };

/** Links a user to the person of a token. @param mayReplace whether the link of this holder may be replaced */
export function linkUser(
  services: { store: Store; seal: Seal; tokens: TokenValidator },
  channel: LinkedChannel,
  user_id: string,
  token: string,
  mayReplace: (holder: LinkHolder) => boolean,
): Promise<LinkOutcome> {
  return link(
    { ...services, clock: systemClock, log: QUIET },
    channel,
    user_id,
    token,
    mayReplace,
    'operator',
  );
}

/** Removes the link of a user, under all spellings of the id. The user will be told. @returns whether there was one */
export function unlinkUser(
  services: { store: Store; seal: Seal },
  channel: LinkedChannel,
  user_id: string,
): Promise<boolean> {
  return removeLink({ ...services, log: QUIET }, channel, user_id);
}

/**
 * `live`: messages act as the person. `token_expired`: messages use the default credentials until the user links
 * again. `signed_out`: the same, because the person has signed out at the site. `unreadable`: no encryption key decrypts
 * the token. `malformed`: the stored value is not a token.
 */
export type LinkState = 'live' | 'token_expired' | 'signed_out' | 'unreadable' | 'malformed';

/** Opens a stored link. Its token is decoded, not validated: the store contains only tokens that were valid. */
export function openLink(
  { key, token: stored, expires_at, how, made_at }: Link,
  now: number,
  seal: Pick<Seal, 'open'>,
  settings: Pick<Settings, 'JWT_VERIFY_EXP' | 'JWT_CLOCK_SKEW_SECONDS'>,
) {
  const token = seal.open(stored, key);
  const claims = token === null ? null : decodeToken(token).claims;
  const opened = { ...userOfKey(key), link_expires_at: expires_at, how, made_at };
  if (!claims) {
    const state: LinkState = token === null ? 'unreadable' : 'malformed';
    return { ...opened, state, holder: null };
  }
  const ends = Math.floor(claims.exp * 1000);
  const isExpired = settings.JWT_VERIFY_EXP && ends + settings.JWT_CLOCK_SKEW_SECONDS * 1000 <= now;
  const state: LinkState = isExpired ? 'token_expired' : 'live';
  return { ...opened, state, holder: { claims, person: personKey(claims), token_expires_at: ends } };
}

/** What became of the renewal of a link, and whether its person has signed out at the site. */
interface LinkCondition {
  renewal: Renewal | null;
  isSignedOut: boolean;
}

export async function linkCondition(
  { key, token: stored }: Link,
  store: Pick<Store, 'linkRenewals' | 'signOutMarks'>,
  seal: Pick<Seal, 'open'>,
): Promise<LinkCondition> {
  const token = seal.open(stored, key);
  const claims = token === null ? null : decodeToken(token).claims;
  const [renewal, isSignedOut] = await Promise.all([
    store.linkRenewals.find(key),
    claims !== null && store.signOutMarks.covers(claims),
  ]);
  return { renewal, isSignedOut };
}

/** Everything that is stored about one person. */
export type { PersonRecords };
export { countRecords, FilesNotRewritten };

/**
 * Limit for a list of all links, larger than the number of links in any store. All links are listed, because only the
 * unsealed token of a link shows to whom the link belongs.
 */
const LINKS_MAX = 10_000_000;

/** The data and functions that the commands about one person use. */
export interface PersonDesk {
  store: Store;
  settings: Settings;
  seal: Seal;
  persons: PersonStore;
  selector: PersonSelector;
  /** Null if MEMORY_BACKEND is `none`. */
  memories: MemoryStore | null;
}

/** Runs the work with all data about a person. @param persons the part of the store that looks up one person */
export async function withPersonDesk<T>(
  who: Who,
  { store, persons, settings }: Pick<PersonDesk, 'store' | 'persons' | 'settings'>,
  work: (desk: PersonDesk) => Promise<T>,
): Promise<T> {
  const { seal } = await openAdministratorSeal(settings);
  return withMemoriesIn(settings, store, async (memories) =>
    work({ store, settings, seal, persons, selector: await resolveSelector(who, store, seal), memories }),
  );
}

/** What is remembered about the person. */
export async function listMemories(who: Who, { memories }: PersonDesk): Promise<Memory[]> {
  return (await memories?.list(toMemoryOwner(who))) ?? [];
}

async function resolveSelector(who: Who, { links }: Store, seal: Seal): Promise<PersonSelector> {
  if ('platform' in who) return who;
  const all = await links.list({ limit: LINKS_MAX });
  const isTheirs = (key: string, stored: string) => {
    const token = seal.open(stored, key);
    const claims = token === null ? null : decodeToken(token).claims;
    return claims && personKey(claims) === who.person;
  };
  const link_keys = all.filter(({ key, token }) => isTheirs(key, token)).map(({ key }) => key);
  return { ...who, link_keys };
}
