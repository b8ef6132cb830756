import type { PersonKey } from '../identity/identity.ts';
import { type Session, type StoredTurn, sessionTag } from '../session/session.ts';
import { DONE_MS } from './bounds.ts';
import type { Kernel, Kind, Tx } from './kernels/kernel.ts';
import { findFirst } from './scans.ts';
import { findSession, SESSION } from './sessions/session-document.ts';
import { stepsOf } from './steps-of.ts';

/**
 * What people thought of answers: one rating for each turn. A rating ends with the trace of its turn. Comments are
 * sealed by the layer above.
 */
export interface FeedbackStore {
  /**
   * Stores the rating of an answered turn, and replaces an earlier rating of the turn; atomic. Null if the session has
   * no such turn, if the turn is not the rater's (`Rater`), or if the trace of the turn is too old to be kept. Nothing
   * is stored then, and the caller cannot tell these cases apart.
   */
  rate(rating: NewRating, rater: Rater): Promise<Rated | null>;
  /** The ratings of these turns, in no particular order. */
  ofTurns(turn_ids: readonly string[]): Promise<Feedback[]>;
  /** The answer that was sent as this message of a platform. Null if it is not known, or was sent over 7 days ago. */
  findSent(platform: string, sent_id: string): Promise<SentAnswer | null>;
  /** Lists ratings, newest first. */
  list(filter: FeedbackFilter): Promise<Feedback[]>;
}

/** 1: the answer was good. -1: it was not. */
export type Rating = 1 | -1;

export interface NewRating {
  /** An id of the session that the turn belongs to. */
  session_id: string;
  turn_id: string;
  rating: Rating;
  /** Sealed; null if there is none. */
  comment: string | null;
}

/** Who rates. Nobody else than these may rate a turn. */
export type Rater =
  /**
   * A web client that knows the ids of the session and of the turn. A turn that acted for a person can be rated only with
   * a valid token of this person, and so can turns of a session that is named by its id from before sign-in.
   */
  | {
      kind: 'client';
      /** The person of the client's valid token; null if it has none. */
      person: PersonKey | null;
      /** The namespaces of channels for web clients. */
      namespaces: readonly string[];
    }
  /** A platform's user, as the platform has verified it. Only the sender of the message can rate its answer. */
  | { kind: 'user'; platform: string; user_id: string };

interface Rated {
  /** The channel of the session. */
  platform: string;
  /** False if the turn had the same rating before; then only the comment may be new. */
  isNew: boolean;
}

export interface Feedback extends Pick<NewRating, 'turn_id' | 'rating' | 'comment'> {
  request_id: string;
  /** The id that the session had when the turn was rated. */
  session_id: string;
  platform: string;
  /** The channel user who sent the message. */
  user_id: string;
  /** The person for whom the turn acted; null if there was none. */
  person: PersonKey | null;
  /** When the turn was rated, ms since the epoch. */
  rated_at: number;
}

/** The turn of an answer that a platform has accepted. */
export interface SentAnswer {
  turn_id: string;
  session_id: string;
}

interface FeedbackFilter {
  platform?: string;
  rating?: Rating;
  /** Only ratings at this time or later. */
  since?: number;
  limit: number;
}

interface StoredFeedback {
  feedback: Feedback;
  session_tag: string;
  expires_at: number;
  /** The tag of the anonymous client that began the session; null if the session or the turn is a person's. */
  client: string | null;
}

/** A rating by its turn. */
export const FEEDBACK: Kind<StoredFeedback> = {
  name: 'feedback',
  expires: ({ expires_at }) => expires_at,
  client: ({ client }) => client,
};

/** Answers by `JSON.stringify([platform, sent_id])`. */
export const SENT_ANSWER: Kind<SentAnswer & { expires_at: number }> = {
  name: 'sent_answer',
  expires: ({ expires_at }) => expires_at,
};

/** Longest id of a message on a platform, characters. */
const SENT_ID_MAX = 256;

function sentKey(platform: string, sent_id: string): string {
  return JSON.stringify([platform, sent_id]);
}

/** Stores as which messages of its platform an answer was sent, for as long as the inbox keeps the message. */
export function noteSentAnswer(
  tx: Tx,
  { platform, turn_id, session_id }: SentAnswer & { platform: string },
  sent_ids: readonly string[],
): void {
  for (const sent_id of sent_ids)
    if (sent_id.length <= SENT_ID_MAX)
      tx.put(SENT_ANSWER, sentKey(platform, sent_id), { turn_id, session_id, expires_at: tx.now + DONE_MS });
}

export function feedbackStore(
  kernel: Kernel,
  { traceRetentionMs }: { traceRetentionMs: number },
): FeedbackStore {
  const step = stepsOf(kernel);
  return {
    rate: step((tx, rating, rater) => rate(tx, rating, rater, traceRetentionMs)),
    ofTurns: step((tx, turn_ids) => turn_ids.flatMap((turn_id) => tx.get(FEEDBACK, turn_id)?.feedback ?? [])),
    findSent: step((tx, platform, sent_id) => {
      const sent = tx.get(SENT_ANSWER, sentKey(platform, sent_id));
      return sent && { turn_id: sent.turn_id, session_id: sent.session_id };
    }),
    list: async ({ platform, rating, since = 0, limit }) => {
      const found = await findFirst(kernel, FEEDBACK, {
        isMeant: ({ feedback }) =>
          feedback.rated_at >= since &&
          (platform === undefined || feedback.platform === platform) &&
          (rating === undefined || feedback.rating === rating),
        compare: ({ feedback: a }, { feedback: b }) =>
          b.rated_at - a.rated_at || (a.turn_id < b.turn_id ? 1 : -1),
        limit,
      });
      return found.map(({ feedback }) => feedback);
    },
  };
}

function rate(
  tx: Tx,
  { session_id, turn_id, rating, comment }: NewRating,
  rater: Rater,
  retention_ms: number,
): Rated | null {
  const session = findSession(tx, session_id)?.session;
  if (session === undefined || !mayUse(session, session_id, rater)) return null;
  const session_tag = sessionTag(session);
  const turn = tx.items(SESSION, session_tag).find((one) => one.turn_id === turn_id);
  if (turn === undefined || turn.outcome !== 'answered' || !mayRate(session, turn, rater)) return null;
  const expires_at = turn.finished_at + retention_ms;
  if (expires_at <= tx.now) return null;
  const { request_id, user_id, person } = turn;
  const { platform } = session;
  const earlier = tx.get(FEEDBACK, turn_id)?.feedback.rating;
  tx.put(FEEDBACK, turn_id, {
    feedback: {
      turn_id,
      rating,
      comment,
      request_id,
      session_id: session.session_id,
      platform,
      user_id,
      person,
      rated_at: tx.now,
    },
    session_tag,
    expires_at,
    client: session.owner === null && person === null ? (session.client ?? null) : null,
  });
  return { platform, isNew: earlier !== rating };
}

function mayUse(session: Session, session_id: string, rater: Rater): boolean {
  if (rater.kind === 'user') return session.platform === rater.platform;
  if (!rater.namespaces.includes(session.namespace)) return false;
  return session.session_id === session_id || (rater.person !== null && rater.person === session.owner);
}

function mayRate({ owner }: Session, turn: StoredTurn, rater: Rater): boolean {
  if (rater.kind === 'user') return turn.user_id === rater.user_id;
  if (turn.person !== null) return turn.person === rater.person;
  return rater.person === null || owner === null || owner === rater.person;
}
