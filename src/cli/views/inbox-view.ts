import type { JsonObject } from '../../channel/index.ts';
import { SECRET_SHOWN, type Settings } from '../../daemon/admin/settings.ts';
import type { InboxMessage, InboxState, Outage, Store } from '../../daemon/admin/store.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { adviceFor } from '../advice/advice.ts';
import { failed } from '../cli-error.ts';
import type { OptionValues } from '../command.ts';
import { CHANNEL_COLUMN, channelInWords } from '../names/channel-titles.ts';
import { relativeTime } from '../names/typed-values.ts';
import { wholeId } from '../names/whole-id.ts';
import type { CellColor, Column } from '../output.ts';

/** A message of the inbox, with the data that its next attempt depends on. */
export interface ListedMessage extends InboxMessage {
  /** The outage of its platform, if the platform cannot be reached. */
  outage?: Outage | undefined;
  /** Whether no earlier message of its session is open. */
  isFirst: boolean;
  now: number;
  /** How a table shows the id, if not in full. */
  short_id?: string | undefined;
  /** The person who is signed in, if it is known. */
  name?: string | null;
}

export interface ShownMessage extends ListedMessage {
  settings: Pick<Settings, 'INBOX_RUN_SECONDS' | 'INBOX_SEND_SECONDS'>;
}

/** A message in a list: without its texts. */
export const MESSAGE_COLUMNS: readonly Column<ListedMessage>[] = [
  { title: 'ID', json: 'id', text: ({ short_id, id }) => short_id ?? id },
  CHANNEL_COLUMN,
  {
    title: 'PERSON',
    value: ({ name }) => name,
    short: ({ name, message }) => name ?? message?.user_id,
    narrow: 'cut',
  },
  // Null for a text of the channel itself, which no user wrote.
  { title: 'USER', json: 'user_id', value: ({ message }) => message?.user_id ?? null, isWide: true },
  { json: 'session_id' },
  { json: 'message_id' },
  { json: 'request_id' },
  { json: 'turn_id', value: ({ turn_id }) => turn_id ?? null },
  {
    title: 'STATE',
    json: 'state',
    text: stateInWords,
    short: shortState,
    color: ({ state }) => STATE_COLORS[state],
  },
  { json: 'attempts' },
  { json: 'sends' },
  { json: 'sent_at', isTime: true },
  { title: 'RECEIVED', json: 'received_at', isTime: true },
  { title: 'ATTEMPTS', text: attemptsInWords, isWide: true },
  {
    title: 'NEXT',
    json: 'next_attempt_at',
    value: nextAttemptAt,
    isTime: true,
    text: nextInWords,
    short: shortNext,
    isRare: true,
  },
  { json: 'ended_at', isTime: true },
  { title: 'LAST FAILURE', json: 'failure', narrow: 'wrap' },
  { json: 'notice_failure' },
];

const STATE_COLORS: Readonly<Record<InboxState, CellColor | null>> = {
  waiting: null,
  running: 'yellow',
  replied: 'yellow',
  done: 'green',
  failed: 'red',
};

/** The details of one message. `--json` prints its texts here; in the output for people, they follow the details. */
export const MESSAGE_DETAILS: readonly Column<ShownMessage>[] = [
  { title: 'message', json: 'id' },
  { title: 'state', json: 'state', text: stateInWords },
  { title: 'channel', json: 'platform', text: ({ platform }) => channelInWords(platform) },
  { title: 'user', json: 'user_id', value: ({ message }) => message?.user_id ?? null },
  { title: 'session', json: 'session_id' },
  { title: "platform's id", json: 'message_id' },
  { title: 'request', json: 'request_id' },
  { title: 'part of the turn', json: 'turn_id', value: ({ turn_id }) => turn_id ?? null },
  {
    title: 'answered with',
    json: 'collected',
    value: ({ collected = [] }) => [...collected],
    text: ({ collected = [] }) => collected.join(', ') || null,
  },
  { title: 'second run of', json: 'rerun_of', value: ({ rerun }) => rerun?.turn_id ?? null },
  { title: 'written', json: 'sent_at', isTime: true },
  { title: 'received', json: 'received_at', isTime: true },
  { json: 'attempts' },
  { json: 'sends' },
  { title: 'attempts', text: (message) => attemptsInWords(message) || 'none yet' },
  {
    title: 'parts sent',
    json: 'parts_sent',
    text: ({ parts_sent }) => (parts_sent > 0 ? `${parts_sent} so far` : null),
  },
  { title: 'next attempt', json: 'next_attempt_at', value: nextAttemptAt, isTime: true, text: nextInWords },
  { title: 'tried until', json: 'tried_until', value: triedUntil, isTime: true },
  { title: 'ended', json: 'ended_at', isTime: true },
  { title: 'last failure', json: 'failure' },
  { title: 'notice failure', json: 'notice_failure' },
  { title: 'what to do', text: whatToDo },
  { json: 'platform_out_of_reach', value: ({ outage }) => outage?.words ?? null },
  { json: 'text', value: ({ message }) => message?.text ?? null },
  { json: 'metadata', value: ({ message }) => message?.metadata ?? null },
  { json: 'shared', value: ({ message }) => message?.shared ?? false },
  { json: 'reply' },
  { json: 'notice' },
  { json: 'reply_to', value: ({ reply_to }) => shownReplyTo(reply_to) },
];

/** A secret of the platform is not shown, sealed or not. */
function shownReplyTo(reply_to: JsonObject): JsonObject {
  return 'private' in reply_to ? { ...reply_to, private: SECRET_SHOWN } : reply_to;
}

export function stateInWords(message: InboxMessage): string {
  const { state, attempts, interrupted, sends, session_id } = message;
  switch (state) {
    case 'waiting':
      if (interrupted > 0)
        return `waits for run ${attempts + 1}, which runs alone because the daemon died during the last run`;
      return attempts === 0 ? 'waits for its turn' : `waits for run ${attempts + 1}`;
    case 'running':
      return 'is being answered';
    case 'replied':
      return `${textName(message)} is waiting to be sent${sends > 1 ? ' again' : ''}`;
    case 'done':
      return session_id === null ? 'sent' : 'answered';
    case 'failed':
      return failedInWords(message);
  }
}

/** The state in a narrow table. `inbox show` says more. */
function shortState(message: InboxMessage): string {
  const { state, attempts, sends, notice, notice_failure, reply } = message;
  switch (state) {
    case 'waiting':
      return attempts === 0 ? 'waiting' : 'to run again';
    case 'running':
      return 'running';
    case 'replied':
      return sends > 1 ? 'to send again' : 'to send';
    case 'done':
      return stateInWords(message);
    case 'failed':
      if (notice !== null) return notice_failure === null ? 'failed, told' : 'failed, not told';
      return reply === null ? 'failed' : 'failed, not sent';
  }
}

/** `2 runs, 1 send`. */
function attemptsInWords({ attempts, sends }: InboxMessage): string {
  const count = (number: number, word: string) => `${number} ${word}${number === 1 ? '' : 's'}`;
  return [attempts > 0 && count(attempts, 'run'), sends > 0 && count(sends, 'send')]
    .filter(Boolean)
    .join(', ');
}

function nextInWords(message: ListedMessage): string {
  return describeNext(message, 'long', {
    running: 'in progress',
    waits: 'after the previous message',
    probe: 'when the platform can be reached, next probe',
  });
}

function shortNext(message: ListedMessage): string {
  return describeNext(message, 'narrow', { running: 'now', waits: 'in turn', probe: 'probe' });
}

function describeNext(
  { ended_at, state, isFirst, outage, now, next_attempt_at }: ListedMessage,
  style: 'long' | 'narrow',
  words: Readonly<Record<'running' | 'waits' | 'probe', string>>,
): string {
  if (ended_at !== null) return '';
  if (state === 'running') return words.running;
  if (!isFirst) return words.waits;
  const due = (at: number) => (at <= now ? 'now' : relativeTime(at, now, style));
  return state === 'replied' && outage ? `${words.probe} ${due(outage.probe_at)}` : due(next_attempt_at);
}

/** The earliest time of the next attempt. Null while an attempt is in progress, and once the message has ended. */
function nextAttemptAt({ ended_at, state, next_attempt_at, outage }: ListedMessage): number | null {
  if (ended_at !== null || state === 'running') return null;
  return state === 'replied' && outage ? Math.max(next_attempt_at, outage.probe_at) : next_attempt_at;
}

/** The time until which temporary failures are retried. Null if the message has ended, or if no run has begun yet. */
function triedUntil({
  state,
  ended_at,
  first_run_at,
  text_stored_at,
  settings,
}: ShownMessage): number | null {
  if (ended_at !== null) return null;
  const [began, seconds] =
    state === 'replied'
      ? [text_stored_at, settings.INBOX_SEND_SECONDS]
      : [first_run_at, settings.INBOX_RUN_SECONDS];
  return began === null ? null : began + seconds * 1000;
}

function whatToDo({ state, failure }: InboxMessage): string | undefined {
  return state === 'failed' && failure !== null ? adviceFor(failure.split(':')[0] ?? '')?.todo : undefined;
}

function textName({ notice, session_id, closes }: InboxMessage): string {
  if (closes !== undefined) return 'outcome of a question';
  if (notice !== null) return 'notice of the failure';
  return session_id === null ? 'text' : 'reply';
}

function failedInWords({ notice, notice_failure, reply, session_id }: InboxMessage): string {
  if (notice !== null)
    return notice_failure === null
      ? 'failed, the person was notified'
      : 'failed, the person could not be notified';
  if (reply !== null) return session_id === null ? 'failed, not sent' : 'failed, its reply was not sent';
  return 'failed';
}

/** How many ids the error names if an id matches several messages. */
const NAMED_MAX = 5;

/**
 * Finds a message of the inbox. The id may be the message's own id, or the platform's id with or without the channel's
 * name before it; the beginning of one is enough. Until the message is done, it may also be the id of its request or
 * session.
 * @throws CliError (1) if no message matches, or more than one
 */
export async function findInboxMessage(
  store: Pick<Store, 'inbox' | 'ids'>,
  given: string,
  options: OptionValues,
): Promise<InboxMessage> {
  const { inbox } = store;
  const isKnown = async (one: string) => (await inbox.search(one)).length > 0;
  const id = await wholeId(store, { kinds: ['message'], given, options, isKnown });
  const found = await inbox.search(id);
  const [only] = found;
  if (only && found.length === 1) return only;
  if (!only) {
    throw failed(
      `there is no message '${printable(id)}' in the inbox`,
      'Answered messages are kept for 7 days, failed ones for 30. List waiting and failed messages with `agentd inbox list`.',
    );
  }
  const ids = found.slice(0, NAMED_MAX).map((message) => message.id);
  throw failed(
    `'${printable(id)}' matches ${found.length} messages of the inbox`,
    `Use the id of one of them: ${ids.join(', ')}${found.length > ids.length ? ', …' : ''}.`,
  );
}
