import type { AnswerReaction } from '../../channel/index.ts';
import type { Seal } from '../identity/seal.ts';
import { withoutCodes } from '../linking/codes-in-text.ts';
import { maskSecrets } from '../settings/mask-secrets.ts';
import { maskTokens, type Secret } from '../settings/secret.ts';
import type { Feedback, Rater, Rating } from '../store/feedback.ts';
import type { Store } from '../store/store.ts';
import type { Observer } from '../trace/observer.ts';

/** Longest comment, characters. */
export const COMMENT_MAX = 1000;

interface FeedbackServices {
  store: Pick<Store, 'feedback' | 'linkCodes' | 'recordings'>;
  seal: Seal;
  observer: Pick<Observer, 'answerRated'>;
  /** They are masked in comments. */
  secrets: readonly Secret[];
}

/** What somebody thinks of an answer. */
export interface GivenRating {
  session_id: string;
  /** `message_id` of the answer, which is the id of its turn. */
  message_id: string;
  rating: Rating;
  /** At most `COMMENT_MAX` characters; null if there is none. */
  comment: string | null;
}

/**
 * Stores a rating, with its comment sealed; tokens, secrets and link codes in it are masked. A rating replaces the earlier one of the same answer. It also
 * marks the recording of the run, so that the recording is kept.
 * @returns false if the rater may not rate such an answer, or if there is none.
 */
export async function rateAnswer(
  { store, seal, observer, secrets }: FeedbackServices,
  { session_id, message_id: turn_id, rating, comment }: GivenRating,
  rater: Rater,
): Promise<boolean> {
  const masked = await withoutCodes(maskTokens(maskSecrets(comment?.trim().toWellFormed() ?? '', secrets)), {
    store,
    seal,
  });
  const sealed = masked === '' ? null : seal.close(masked, commentRecord(turn_id));
  const rated = await store.feedback.rate({ session_id, turn_id, rating, comment: sealed }, rater);
  if (rated) await store.recordings.mark(turn_id);
  if (rated?.isNew) observer.answerRated(rated.platform, rating);
  return rated !== null;
}

/**
 * Stores the reaction of a platform's user to a message of its channel.
 * @returns false if the message is no answer that this user has asked for
 */
export async function rateSentAnswer(
  services: FeedbackServices,
  platform: string,
  { sent_id, user_id, rating }: AnswerReaction,
): Promise<boolean> {
  const sent = await services.store.feedback.findSent(platform, sent_id);
  if (sent === null) return false;
  const { session_id, turn_id: message_id } = sent;
  const given = { session_id, message_id, rating, comment: null };
  return rateAnswer(services, given, { kind: 'user', platform, user_id });
}

/** The comment of a rating. Null if there is none, or if no encryption key opens it. */
export function openComment(
  seal: Pick<Seal, 'open'>,
  { turn_id, comment }: Pick<Feedback, 'turn_id' | 'comment'>,
): string | null {
  return comment === null ? null : seal.open(comment, commentRecord(turn_id));
}

/** The record that a sealed comment is bound to. */
export function commentRecord(turn_id: string): string {
  return `feedback:${turn_id}`;
}
