import { openComment } from '../../daemon/admin/records.ts';
import type { Seal } from '../../daemon/admin/sealing.ts';
import type { Feedback } from '../../daemon/admin/store.ts';
import { CHANNEL_COLUMN, channelInWords } from '../names/channel-titles.ts';
import type { Column } from '../output.ts';
import { personView } from './person-view.ts';

/** A rating with its comment, as far as a key opens it. */
interface FeedbackView extends Omit<Feedback, 'comment' | 'turn_id'> {
  /** The id of the turn. */
  message_id: string;
  has_comment: boolean;
  /** How a table shows `message_id`, if not in full. */
  short_id?: string | undefined;
  /** The name of the person, if it is known. */
  name?: string | null;
  /** Null if there is none, or if no key opens it. */
  comment: string | null;
}

/** @param seal null if comments are not shown */
export function feedbackView(
  { turn_id, comment, ...feedback }: Feedback,
  seal: Pick<Seal, 'open'> | null,
): FeedbackView {
  const opened = seal === null ? null : openComment(seal, { turn_id, comment });
  return { ...feedback, message_id: turn_id, has_comment: comment !== null, comment: opened };
}

/** `good` or `bad`, and whether there is a comment. */
function ratingInWords({ rating, has_comment }: Pick<FeedbackView, 'rating' | 'has_comment'>): string {
  return `${rating === 1 ? 'good' : 'bad'}${has_comment ? ', with a comment' : ''}`;
}

/** The rating in `agentd explain`; of a bad answer, also the commands that come next. Empty if there is none. */
export function feedbackInWords(feedback: Feedback | null): string {
  if (feedback === null) return '';
  const { turn_id, rating } = feedback;
  const rated = `The answer was rated ${ratingInWords(feedbackView(feedback, null))}: agentd feedback show ${turn_id}\n`;
  if (rating === 1) return rated;
  return `${rated}To run the agent again on it: agentd replay ${turn_id}\nTo make a test of it: agentd eval add ${turn_id} FILE\n`;
}

/** The members that a list and a single rating share. */
const COMMON: readonly Column<FeedbackView>[] = [
  { json: 'session_id' },
  { json: 'request_id' },
  { json: 'person', value: ({ person }) => personView(person) },
  { json: 'has_comment' },
];

/** Ratings in a list, without their comments. */
export const FEEDBACK_COLUMNS: readonly Column<FeedbackView>[] = [
  { title: 'TIME', json: 'rated_at', isTime: true },
  CHANNEL_COLUMN,
  {
    title: 'PERSON',
    value: ({ name }) => name,
    short: ({ name, user_id }) => name ?? user_id,
    narrow: 'cut',
  },
  { title: 'USER', json: 'user_id', isWide: true },
  {
    title: 'RATING',
    json: 'rating',
    text: ratingInWords,
    color: ({ rating }) => (rating === 1 ? 'green' : 'red'),
  },
  { title: 'MESSAGE', json: 'message_id', text: ({ short_id, message_id }) => short_id ?? message_id },
  ...COMMON,
];

/** A single rating. */
export const FEEDBACK_DETAILS: readonly Column<FeedbackView>[] = [
  { title: 'message', json: 'message_id' },
  { title: 'rating', json: 'rating', text: ratingInWords },
  { title: 'rated', json: 'rated_at', isTime: true },
  { title: 'channel', json: 'platform', text: ({ platform }) => channelInWords(platform) },
  { title: 'user', json: 'user_id' },
  { title: 'session', text: ({ session_id }) => session_id },
  { title: 'request', text: ({ request_id }) => request_id },
  ...COMMON,
  { json: 'comment' },
];
