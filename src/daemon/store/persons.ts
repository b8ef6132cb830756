import { toHits } from '../guard/hits.ts';
import type { PersonKey } from '../identity/identity.ts';
import { type Session, type StoredTurn, sessionTag } from '../session/session.ts';
import { randomSuffix } from '../time/clock.ts';
import { ACTION, type StoredAction } from './action-document.ts';
import { dropAction } from './action-steps.ts';
import type { Action } from './actions.ts';
import { BUDGET } from './budgets.ts';
import { claimTime, holdsSession, putSessionClaim, renewed, SESSION_CLAIM } from './claim-state.ts';
import { CLAIM_MS } from './claims.ts';
import { FEEDBACK, SENT_ANSWER } from './feedback.ts';
import { GUARD_TURNS, GUARD_USER } from './guard.ts';
import { KEY, type StoredAnswer } from './idempotency.ts';
import type { InboxMessage } from './inbox.ts';
import { dropMessage, MESSAGE, type StoredMessage } from './inbox-document.ts';
import type { Entry, Kernel, Kind, Ring, Tx } from './kernels/kernel.ts';
import { LIMIT } from './limits.ts';
import { CLAIM_OF_SENDER, CODE_HASH, CODES_OF_PERSON, LINK_CODE, WRONG_CODES } from './link-codes.ts';
import { LINK_NOTICE } from './link-notices.ts';
import {
  forgetKeys,
  LINK,
  LINKS_OF_PERSON,
  type Link,
  removeLink,
  type StoredLink,
  toLink,
} from './links.ts';
import { MEMORIES } from './memory-documents.ts';
import { PersonMatch } from './person-match.ts';
import { dropRecording, RECORDING } from './recordings.ts';
import { SEEN } from './seen.ts';
import { dropSession, putSession, SESSION, type StoredSession } from './session-document.ts';
import { dropStream, STREAM, type StoredStream } from './streams.ts';
import { ERASED, erasedKey, type KeptTrace, type TraceRings } from './traces.ts';
import { WAITING_QUESTION } from './waiting-questions.ts';

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
  others: Record<OtherRecord, number>;
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

const OTHER_RECORDS = [
  'summaries',
  'traces',
  'streams',
  'answers',
  'seen_messages',
  'guard',
  'limits',
  'budgets',
  'link_codes',
  'link_notices',
  'feedback',
  'recordings',
  'waiting_questions',
] as const;
export type OtherRecord = (typeof OTHER_RECORDS)[number];

/**
 * How long ids of erased sessions and messages are remembered, ms. During this time, a run that was under way during
 * the erasure cannot store its turn, its trace, or the answer of its key.
 */
const ERASED_MS = 60 * 60 * 1000;

/** The total number of records. */
export function countRecords({ sessions, links, actions, inbox, others }: PersonRecords): number {
  const other = Object.values(others).reduce((sum, count) => sum + count, 0);
  return sessions.length + links.length + actions.length + inbox.length + other;
}

/** Stands for the answer of a key that has none: only the key can say whose it is. */
const NO_ANSWER: StoredAnswer = { session_id: '', response: '' };

/** What a kernel does after an erasure, so that its files have no byte of the deleted data. */
export type Scrub = () => Promise<void>;

/** Deletes the memories of an owner (`MemoryOwner`). */
export type ForgetMemories = (owner: string) => Promise<unknown>;

export function personStore(
  kernel: Kernel,
  rings: TraceRings,
  scrub: Scrub,
  forget: ForgetMemories = (owner) => kernel.step((tx) => tx.delete(MEMORIES, owner)),
): PersonStore {
  return {
    async show(of) {
      const match = new PersonMatch(of);
      const sessions = await findSessions(kernel, match);
      return toRecords(match, sessions, await findOthers(kernel, rings, match));
    },
    async erase(of) {
      const work = () => erase(kernel, rings, of, forget);
      const records = await (kernel.together?.(work) ?? work());
      await scrub();
      return records;
    },
  };
}

/** A session as it was found. */
interface FoundSession {
  doc: StoredSession;
  found: PersonSession;
}

/** The records of a person or user, except their sessions. */
interface FoundOthers {
  users: Entry<unknown>[];
  answers: Entry<unknown>[];
  links: Entry<StoredLink>[];
  actions: Entry<StoredAction>[];
  inbox: Entry<StoredMessage>[];
  traces: number;
  streams: Entry<StoredStream>[];
  turns: Entry<unknown>[];
  seen: Entry<unknown>[];
  limits: Entry<unknown>[];
  budgets: Entry<unknown>[];
  codes: Entry<unknown>[];
  codeHashes: Entry<unknown>[];
  codesOfPerson: Entry<unknown>[];
  wrongCodes: Entry<unknown>[];
  feedback: Entry<unknown>[];
  sentAnswers: Entry<unknown>[];
  claims: Entry<unknown>[];
  linkNotices: Entry<unknown>[];
  linksOfPersons: Entry<unknown>[];
  recordings: Entry<{ turn_id: string }>[];
  waitingQuestions: Entry<unknown>[];
}

async function findSessions(kernel: Kernel, match: PersonMatch): Promise<FoundSession[]> {
  const sessions: FoundSession[] = [];
  for await (const { key: tag, doc } of kernel.scan(SESSION)) {
    const found = match.session(doc.session, await kernel.step((tx) => tx.items(SESSION, tag)));
    if (found !== null) sessions.push({ doc, found });
  }
  return sessions;
}

/** Finds the records in the order in which they lead to each other. */
async function findOthers(kernel: Kernel, rings: TraceRings, match: PersonMatch): Promise<FoundOthers> {
  const find = <T>(kind: Kind<T, unknown>, isTheirs: (doc: T, key: string) => boolean) =>
    findEntries(kernel, kind, isTheirs);
  const countTraces = async (ring: Ring<KeptTrace>) =>
    (await kernel.found(ring, { isFound: ({ trace }) => match.trace(trace), limit: ring.max })).length;
  return {
    users: await find(GUARD_USER, (doc, key) =>
      match.guard(key, { ...doc, messages: toHits([...doc.messages]) }),
    ),
    answers: await find(KEY, ({ answer }, key) => match.answer(key, answer ?? NO_ANSWER)),
    links: await find(LINK, (link) => match.link(link)),
    actions: await find(ACTION, ({ action }) => match.action(action)),
    inbox: await find(MESSAGE, ({ message }) => match.inbox(message)),
    traces: (await countTraces(rings.answered)) + (await countTraces(rings.refused)),
    streams: await find(STREAM, ({ record }) => match.stream(record)),
    turns: await find(GUARD_TURNS, (_, tag) => match.guardTurns(tag)),
    seen: await find(SEEN, ({ user_id }, key) => {
      const [platform, message_id] = JSON.parse(key) as [string, string];
      return match.seenMessage(platform, message_id, user_id);
    }),
    limits: await find(LIMIT, (_, key) => match.limit(key)),
    budgets: await find(BUDGET, (_, key) => match.budget(key)),
    codes: await find(LINK_CODE, (code) => match.code(code)),
    codeHashes: await find(CODE_HASH, ({ code_id }) => match.hasCode(code_id)),
    codesOfPerson: await find(CODES_OF_PERSON, (_, key) => match.person(key as PersonKey)),
    feedback: await findFeedback(kernel, match),
    sentAnswers: await find(SENT_ANSWER, (sent) => match.sentAnswer(sent)),
    wrongCodes: await find(WRONG_CODES, (_, key) => match.codeSender(key)),
    claims: await find(CLAIM_OF_SENDER, (_, key) => match.codeSender(key)),
    linkNotices: await find(LINK_NOTICE, (notice) => match.linkNotice(notice)),
    linksOfPersons: await find(
      LINKS_OF_PERSON,
      ({ keys }, key) =>
        match.person(key as PersonKey) || keys.some((link) => match.link({ key: link, alias: null })),
    ),
    recordings: await find(RECORDING, (recording) => match.recording(recording)),
    waitingQuestions: await find(WAITING_QUESTION, (question) => match.waitingQuestion(question)),
  };
}

async function findEntries<T>(
  kernel: Kernel,
  kind: Kind<T, unknown>,
  isTheirs: (doc: T, key: string) => boolean,
): Promise<Entry<T>[]> {
  const found: Entry<T>[] = [];
  for await (const entry of kernel.scan(kind)) if (isTheirs(entry.doc, entry.key)) found.push(entry);
  return found;
}

function findFeedback(kernel: Kernel, match: PersonMatch): Promise<Entry<unknown>[]> {
  return findEntries(kernel, FEEDBACK, ({ feedback, session_tag }) => match.feedback(feedback, session_tag));
}

function toRecords(match: PersonMatch, sessions: readonly FoundSession[], found: FoundOthers): PersonRecords {
  return {
    sessions: sessions
      .map((one) => match.shown(one.found))
      .sort((a, b) => b.session.last_active_at - a.session.last_active_at),
    links: found.links.map(({ doc }) => toLink(doc)).sort((a, b) => (a.key < b.key ? -1 : 1)),
    actions: found.actions
      .map(({ doc }) => doc)
      .sort((a, b) => b.serial - a.serial)
      .map(({ action }) => action),
    inbox: found.inbox
      .map(({ doc }) => doc)
      .sort((a, b) => b.serial - a.serial)
      .map(({ message }) => message),
    others: {
      summaries: sessions.reduce((sum, { doc }) => sum + doc.summaries.length, 0),
      traces: found.traces,
      streams: found.streams.length,
      answers: found.answers.length,
      seen_messages: found.seen.length,
      guard: found.users.length + found.turns.length,
      limits: found.limits.length,
      budgets: found.budgets.length,
      link_codes: found.codes.length + found.codesOfPerson.length + found.wrongCodes.length,
      link_notices: found.linkNotices.length,
      feedback: found.feedback.length + found.sentAnswers.length,
      recordings: found.recordings.length,
      waiting_questions: found.waitingQuestions.length,
    },
  };
}

/**
 * An erasure takes many steps, unless the kernel can make one of them. If it is interrupted, a repeat must find the rest. So everything is found before the first
 * deletion, and a record is deleted before the records through which it is found. The links and the sessions are the
 * last. Until then, the sessions are claimed, so that nothing is added that only they lead to.
 */
async function erase(
  kernel: Kernel,
  rings: TraceRings,
  of: PersonSelector,
  forget: ForgetMemories,
): Promise<PersonRecords> {
  const match = new PersonMatch(of);
  const sessions = await findSessions(kernel, match);
  const closed = sessions.filter(({ found }) => !found.shared).map(({ doc }) => doc.session);
  const owner = randomSuffix();
  await noteSharedTurns(kernel, sessions);
  await closeSessions(kernel, closed, owner);
  const renewing = setInterval(() => {
    // A claim that cannot be renewed may be lost. Then its session is not erased, unless nothing was stored in it.
    renewClaims(kernel, closed, owner).catch(() => undefined);
  }, CLAIM_MS / 3);
  try {
    const found = await findOthers(kernel, rings, match);
    const drop = async (kind: Kind<never, unknown>, entries: readonly { key: string }[]) => {
      for (const { key } of entries) await kernel.step((tx) => tx.delete(kind, key));
    };
    await drop(LIMIT, found.limits);
    await drop(BUDGET, found.budgets);
    await drop(WRONG_CODES, found.wrongCodes);
    await drop(CLAIM_OF_SENDER, found.claims);
    await drop(CODES_OF_PERSON, found.codesOfPerson);
    // A hash is found through its code. Without the hash, nobody can claim the code.
    await drop(CODE_HASH, found.codeHashes);
    await drop(LINK_CODE, found.codes);
    await drop(GUARD_TURNS, found.turns);
    await drop(GUARD_USER, found.users);
    await drop(SEEN, found.seen);
    await forget('person' in of ? of.person : `${of.platform}:${of.user_id}`);
    await drop(FEEDBACK, found.feedback);
    await drop(SENT_ANSWER, found.sentAnswers);
    for (const { key } of found.actions) await kernel.step((tx) => dropAction(tx, key));
    await drop(LINK_NOTICE, found.linkNotices);
    await drop(WAITING_QUESTION, found.waitingQuestions);
    for (const { doc } of found.inbox) await eraseMessage(kernel, match, doc, closed);
    for (const { doc } of found.streams) await kernel.step((tx) => dropStream(tx, doc.record));
    await drop(KEY, found.answers);
    for (const { doc } of found.recordings) await kernel.step((tx) => dropRecording(tx, doc));
    for (const ring of [rings.answered, rings.refused])
      await kernel.unlog(ring, ({ trace }) => match.trace(trace));
    for (const { doc } of found.links) await kernel.step((tx) => removeLink(tx, doc));
    for (const { key } of found.linksOfPersons) {
      const person = key as PersonKey;
      const isMeant = (link: string) => match.person(person) || match.link({ key: link, alias: null });
      await kernel.step((tx) => forgetKeys(tx, person, isMeant));
    }
    const erased: FoundSession[] = [];
    for (const session of sessions)
      if (await eraseSession(kernel, match, session, owner)) erased.push(session);
    // Turns could be rated as long as their session was there.
    await drop(FEEDBACK, await findFeedback(kernel, match));
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

async function eraseMessage(
  kernel: Kernel,
  match: PersonMatch,
  doc: StoredMessage,
  closed: readonly Session[],
): Promise<void> {
  await kernel.step((tx) => {
    dropMessage(tx, doc);
    noteErased(tx, doc.message.id);
    const tag = match.runsIn(doc.message);
    // The other claims are those of the erasure.
    if (tag !== null && !closed.some((session) => sessionTag(session) === tag)) tx.delete(SESSION_CLAIM, tag);
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

function noteErased(tx: Tx, id: string): void {
  tx.put(ERASED, erasedKey(id), { expires_at: tx.now + ERASED_MS });
}
