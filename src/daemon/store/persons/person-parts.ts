import type { PersonKey } from '../../identity/identity.ts';
import { type Session, sessionTag } from '../../session/session.ts';
import { ACTION } from '../actions/action-document.ts';
import { dropAction } from '../actions/action-steps.ts';
import { SESSION_CLAIM } from '../claims/claim-state.ts';
import { FEEDBACK, SENT_ANSWER } from '../feedback.ts';
import { KEY, type StoredAnswer } from '../idempotency.ts';
import { dropMessage, MESSAGE } from '../inbox/inbox-document.ts';
import { SEEN } from '../inbox/seen.ts';
import type { Entry, Kernel, Kind, Tx } from '../kernels/kernel.ts';
import { BUDGET } from '../limits/budgets.ts';
import { GUARD_TURNS, GUARD_USER } from '../limits/guard.ts';
import { LIMIT } from '../limits/limits.ts';
import { CLAIM_OF_SENDER, CODE_HASH, CODES_OF_PERSON, LINK_CODE, WRONG_CODES } from '../links/link-codes.ts';
import { LINK, removeLink } from '../links/links.ts';
import { WAITING_QUESTION } from '../links/waiting-questions.ts';
import { dropRecording, RECORDING } from '../recordings.ts';
import { dropStream, STREAM } from '../streams.ts';
import { noteErased, type TraceRings } from '../traces.ts';
import type { LaterMatch, LeadingMatch, PersonMatch } from './person-match.ts';

/** Names of records that are only counted, for people. */
const COUNTED = [
  'summaries',
  'traces',
  'streams',
  'answers',
  'seen_messages',
  'guard',
  'limits',
  'budgets',
  'link_codes',
  'feedback',
  'recordings',
  'waiting_questions',
] as const;
export type CountedRecord = (typeof COUNTED)[number];

interface Records {
  kernel: Kernel;
  rings: TraceRings;
  match: PersonMatch;
}

/** One kind of record, of which a person or user may have some. */
export interface Part<One = unknown> {
  /** Under which name its records are counted; null if they are shown, or show nothing that others do not. */
  readonly count: CountedRecord | null;
  find(records: Records): Promise<One[]>;
  /** @param closed the sessions that will be deleted */
  drop(records: Records, found: readonly One[], closed: readonly Session[]): Promise<void>;
}

/** The documents of a kind. @param drop deletes one, with all that depends on it */
type Documents<Match> = <T>(
  kind: Kind<T, unknown>,
  count: CountedRecord | null,
  isTheirs: (match: Match, doc: T, key: string) => boolean,
  drop?: (tx: Tx, entry: Entry<T>, match: LeadingMatch, closed: readonly Session[]) => void,
) => Part<Entry<T>>;

const documents: Documents<PersonMatch> = (
  kind,
  count,
  isTheirs,
  drop = (tx, { key }) => tx.delete(kind as Kind<never, unknown>, key),
) => ({
  count,
  async find({ kernel, match }) {
    const found = [];
    for await (const entry of kernel.scan(kind)) if (isTheirs(match, entry.doc, entry.key)) found.push(entry);
    return found;
  },
  async drop({ kernel, match }, found, closed) {
    for (const entry of found) await kernel.step((tx) => drop(tx, entry, match, closed));
  },
});

const leading: Documents<LeadingMatch> = documents;
const later: Documents<LaterMatch> = documents;

export const LINKS = leading(
  LINK,
  null,
  (match, link) => match.link(link),
  (tx, { doc }) => void removeLink(tx, doc),
);

export const ACTIONS = leading(
  ACTION,
  null,
  (match, { action }) => match.action(action),
  (tx, { key }) => void dropAction(tx, key),
);

export const INBOX = leading(
  MESSAGE,
  null,
  (match, { message }) => match.inbox(message),
  (tx, { doc }, match, closed) => {
    dropMessage(tx, doc);
    noteErased(tx, doc.message.id);
    const tag = match.runsIn(doc.message);
    // The other claims are those of the erasure.
    if (tag !== null && !closed.some((session) => sessionTag(session) === tag)) tx.delete(SESSION_CLAIM, tag);
  },
);

/** Ratings can be given as long as their turn is there, so they are found once more when the sessions are gone. */
export const RATINGS: Part = later(FEEDBACK, 'feedback', (match, { feedback, session_tag }) =>
  match.feedback(feedback, session_tag),
);

const TRACES: Part = {
  count: 'traces',
  async find({ kernel, rings, match }) {
    const find = (ring: TraceRings['answered']) =>
      kernel.findRecords(ring, { isFound: ({ trace }) => match.trace(trace), limit: ring.max });
    return [...(await find(rings.answered)), ...(await find(rings.refused))];
  },
  async drop({ kernel, rings, match }) {
    for (const ring of [rings.answered, rings.refused])
      await kernel.unlog(ring, ({ trace }) => match.trace(trace));
  },
};

/** Stands for the answer of a key that has none: only the key can say whose it is. */
const NO_ANSWER: StoredAnswer = { session_id: '', response: '' };

/** Records through which others are found, except sessions; each also through those before it. */
const LEADING: readonly Part[] = [
  LINKS,
  leading(GUARD_USER, 'guard', (match, doc) => match.guard(doc)),
  leading(KEY, 'answers', (match, { answer }, key) => match.answer(key, answer ?? NO_ANSWER)),
  ACTIONS,
  INBOX,
  TRACES,
  leading(
    STREAM,
    'streams',
    (match, { record }) => match.stream(record),
    (tx, { doc }) => dropStream(tx, doc.record),
  ),
  leading(
    LINK_CODE,
    'link_codes',
    (match, code) => match.code(code),
    (tx, { key }) => {
      tx.delete(LINK_CODE, key);
      noteErased(tx, key);
    },
  ),
];

const LATER: readonly Part[] = [
  later(GUARD_TURNS, 'guard', (match, _, tag) => match.guardTurns(tag)),
  later(SEEN, 'seen_messages', (match, { user_id }, key) => {
    const [platform, message_id] = JSON.parse(key) as [string, string];
    return match.seenMessage(platform, message_id, user_id);
  }),
  later(LIMIT, 'limits', (match, _, key) => match.limit(key)),
  later(BUDGET, 'budgets', (match, _, key) => match.budget(key)),
  // Without the hash, nobody can claim the code.
  later(CODE_HASH, null, (match, { code_id }) => match.hasCode(code_id)),
  later(CODES_OF_PERSON, 'link_codes', (match, _, key) => match.person(key as PersonKey)),
  later(WRONG_CODES, 'link_codes', (match, _, key) => match.codeSender(key)),
  later(CLAIM_OF_SENDER, null, (match, _, key) => match.codeSender(key)),
  RATINGS,
  later(SENT_ANSWER, 'feedback', (match, sent) => match.sentAnswer(sent)),
  later(
    RECORDING,
    'recordings',
    (match, recording) => match.recording(recording),
    (tx, { doc }) => void dropRecording(tx, doc),
  ),
  later(WAITING_QUESTION, 'waiting_questions', (match, question) => match.waitingQuestion(question)),
];

/**
 * Finds all records of a person or user, except sessions and memories. They are deleted in the reverse order, so that a
 * repeat finds what an interrupted erasure has left.
 */
export async function findParts(records: Records): Promise<Found> {
  const found = new Map<Part, readonly unknown[]>();
  for (const part of [...LEADING, ...LATER]) found.set(part, await part.find(records));
  return found;
}

export type Found = ReadonlyMap<Part, readonly unknown[]>;

/** No record of any counted kind. */
export function countNone(): Record<CountedRecord, number> {
  return Object.fromEntries(COUNTED.map((name) => [name, 0])) as Record<CountedRecord, number>;
}
