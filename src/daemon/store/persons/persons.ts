import type { PersonKey } from '../../identity/identity.ts';
import { type Session, type StoredTurn, sessionTag } from '../../session/session.ts';
import { randomSuffix } from '../../time/clock.ts';
import type { Action } from '../actions/actions.ts';
import { claimTime, holdsSession, putSessionClaim, renewed, SESSION_CLAIM } from '../claims/claim-state.ts';
import { CLAIM_MS } from '../claims/claims.ts';
import type { InboxMessage } from '../inbox/inbox.ts';
import type { Kernel, Ring } from '../kernels/kernel.ts';
import { type Link, toLink } from '../links/links.ts';
import { MEMORIES } from '../memories/memory-documents.ts';
import { inBatches } from '../scans.ts';
import { dropSession, putSession, SESSION, type StoredSession } from '../sessions/session-document.ts';
import { noteErased, type TraceRings } from '../traces.ts';
import { type FoundSession, PersonMatch } from './person-match.ts';
import {
  ACTIONS,
  type CountedRecord,
  countNone,
  type Found,
  findParts,
  INBOX,
  LINKS,
  type Part,
  RATINGS,
} from './person-parts.ts';

/**
 * Everything that is stored about a person or a platform's user (agentd-person(1)), except for long-term memories,
 * which a separate store shows (`MemoryStore`). Lines of the audit log are not deleted.
 */
export interface PersonStore {
  show(of: PersonSelector): Promise<PersonRecords>;
  /**
   * Deletes everything that `show` returns, and the memories that this store keeps. The embedded store does this in one
   * step. Redis does it in several steps: if it is interrupted, a repeat finds the rest. If a turn was stored in a session
   * meanwhile, the session may be kept; it is then not in the result, and a repeat finds it. In shared threads, turns of
   * other people are not deleted. When it resolves, the files of the store contain none of the deleted data, and the
   * copies that the store made of itself are gone.
   * @throws FilesNotRewritten
   */
  erase(of: PersonSelector): Promise<PersonRecords>;
}

/** Everything is deleted, but files of the store may still contain some of the data. The error message says why. */
export class FilesNotRewritten extends Error {
  /** What an administrator can do about it. */
  readonly advice: string;

  constructor(message: string, advice: string) {
    super(message);
    this.advice = advice;
  }
}

export type PersonSelector =
  /**
   * `link_keys`: the links that contain a token of the person. The store cannot find them itself, because the tokens
   * are sealed.
   */
  { person: PersonKey; link_keys: readonly string[] } | { platform: string; user_id: string };

export interface PersonRecords {
  sessions: PersonSession[];
  links: Link[];
  actions: Action[];
  inbox: InboxMessage[];
  /** The number of records of every other kind. */
  others: Record<CountedRecord, number>;
}

/** A session that the person or user opened, owns or wrote in. */
export interface PersonSession {
  session: Session;
  /** The turns of the person or user, oldest first. */
  turns: StoredTurn[];
  /**
   * Other people wrote in the session, too. It is not deleted, but loses the data that ties it to the person or user.
   * Their data is not shown.
   */
  shared: boolean;
}

export function countRecords({ sessions, links, actions, inbox, others }: PersonRecords): number {
  const other = Object.values(others).reduce((sum, count) => sum + count, 0);
  return sessions.length + links.length + actions.length + inbox.length + other;
}

/**
 * What a kernel does after an erasure, so that its files have no byte of the deleted data, nor of anything that has
 * expired: an erasure does not find that any more.
 */
export type Scrub = (rings: readonly Ring<never>[]) => Promise<void>;

export type ForgetMemories = (owner: string) => Promise<unknown>;

export function personStore(
  kernel: Kernel,
  rings: TraceRings,
  scrub: () => Promise<void>,
  forget: ForgetMemories = (owner) => kernel.step((tx) => tx.delete(MEMORIES, owner)),
): PersonStore {
  return {
    async show(of) {
      const { match, sessions } = await PersonMatch.through(storedSessions(kernel), of);
      return toRecords(match, sessions, await findParts({ kernel, rings, match }));
    },
    async erase(of) {
      const work = () => erase(kernel, rings, of, forget);
      const records = await (kernel.together?.(work) ?? work());
      await scrub();
      return records;
    },
  };
}

/** Of how many sessions a step reads the turns. */
const READ_AT_ONCE = 100;

async function* storedSessions(kernel: Kernel): AsyncIterable<[StoredSession, StoredTurn[]]> {
  for await (const batch of inBatches(kernel.scan(SESSION), READ_AT_ONCE)) {
    const turns = await kernel.step((tx) => batch.map(({ key: tag }) => tx.items(SESSION, tag)));
    for (const [place, { doc }] of batch.entries()) yield [doc, turns[place] ?? []];
  }
}

function toRecords(match: PersonMatch, sessions: readonly FoundSession[], found: Found): PersonRecords {
  const listed = <T>(part: Part<T>) => (found.get(part) ?? []) as readonly T[];
  const others = countNone();
  others.summaries = sessions.reduce((sum, { doc }) => sum + doc.summaries.length, 0);
  for (const [{ count }, { length }] of found) if (count !== null) others[count] += length;
  return {
    sessions: sessions
      .map((one) => match.shown(one.found))
      .sort(({ session: a }, { session: b }) => {
        return b.last_active_at - a.last_active_at || (a.session_id < b.session_id ? -1 : 1);
      }),
    links: listed(LINKS)
      .map(({ doc }) => toLink(doc))
      .sort((a, b) => (a.key < b.key ? -1 : 1)),
    actions: newestFirst(listed(ACTIONS)).map(({ action }) => action),
    inbox: newestFirst(listed(INBOX)).map(({ message }) => message),
    others,
  };
}

function newestFirst<T extends { serial: number }>(found: readonly { doc: T }[]): T[] {
  return found.map(({ doc }) => doc).sort((a, b) => b.serial - a.serial);
}

/**
 * An erasure takes many steps, unless the kernel can make one of them. If it is interrupted, a repeat must find the rest.
 * So everything is found before the first deletion, and the links and the sessions are the last. Until then, the
 * sessions are claimed, so that nothing is added that only they lead to.
 */
async function erase(
  kernel: Kernel,
  rings: TraceRings,
  of: PersonSelector,
  forget: ForgetMemories,
): Promise<PersonRecords> {
  const { match, sessions } = await PersonMatch.through(storedSessions(kernel), of);
  const records = { kernel, rings, match };
  const closed = sessions.filter(({ found }) => !found.shared).map(({ doc }) => doc.session);
  const owner = randomSuffix();
  await noteSharedTurns(kernel, sessions);
  await closeSessions(kernel, closed, owner);
  const renewing = setInterval(() => {
    // A claim that cannot be renewed may be lost. Then its session is not erased, unless nothing was stored in it.
    renewClaims(kernel, closed, owner).catch(() => undefined);
  }, CLAIM_MS / 3);
  try {
    const found = await findParts(records);
    await forget('person' in of ? of.person : `${of.platform}:${of.user_id}`);
    for (const [part, theirs] of [...found].reverse()) await part.drop(records, theirs, closed);
    const erased: FoundSession[] = [];
    for (const session of sessions)
      if (await eraseSession(kernel, match, session, owner)) erased.push(session);
    // Turns could be rated as long as their session was there.
    await RATINGS.drop(records, await RATINGS.find(records), closed);
    return toRecords(match, erased, found);
  } finally {
    clearInterval(renewing);
  }
}

/**
 * Claims the sessions that will be deleted, also if a run has claimed them. A run that is under way can then store
 * nothing, and no other run can begin. If the erasure is interrupted, the claims expire.
 */
async function closeSessions(kernel: Kernel, closed: readonly Session[], owner: string): Promise<void> {
  for (const session of closed)
    await kernel.step((tx) => {
      putSessionClaim(tx, sessionTag(session), { owner, expires_at: claimTime(tx) + CLAIM_MS });
      for (const name of [sessionTag(session), session.session_id]) noteErased(tx, name);
    });
}

/**
 * A run of somebody else in a shared thread may have read the turns before they are erased. Its recording is not stored
 * then.
 */
async function noteSharedTurns(kernel: Kernel, sessions: readonly FoundSession[]): Promise<void> {
  for (const { found } of sessions) {
    if (!found.shared) continue;
    await kernel.step((tx) => {
      for (const { turn_id } of found.turns) noteErased(tx, turn_id);
    });
  }
}

async function renewClaims(kernel: Kernel, closed: readonly Session[], owner: string): Promise<void> {
  for (const session of closed)
    await kernel.step((tx) => {
      const claim = tx.get(SESSION_CLAIM, sessionTag(session));
      if (claim?.owner === owner) putSessionClaim(tx, sessionTag(session), renewed(claim, tx));
    });
}

/**
 * Deletes a session or, if others wrote in it, what ties it to the person or user. A session in which something was
 * stored since it was found is not deleted, so that a repeat finds it and its new records.
 * @returns whether it was deleted
 */
function eraseSession(
  kernel: Kernel,
  match: PersonMatch,
  { doc: { session }, found }: FoundSession,
  owner: string,
): Promise<boolean> {
  const tag = sessionTag(session);
  const theirs = new Set(found.turns.map(({ turn_id }) => turn_id));
  return kernel.step((tx) => {
    const stored = tx.get(SESSION, tag);
    if (!found.shared && holdsSession(tx, { session_tag: tag, owner })) tx.delete(SESSION_CLAIM, tag);
    if (stored === null) return true;
    if (found.shared) {
      putSession(tx, { ...stored, session: match.untied(stored.session), summaries: [] });
      const left = tx.items(SESSION, tag).filter(({ turn_id }) => !theirs.has(turn_id));
      tx.rewrite(SESSION, tag, left);
      return true;
    }
    if (stored.session.turns !== session.turns) return false;
    dropSession(tx, stored.session);
    return true;
  });
}
