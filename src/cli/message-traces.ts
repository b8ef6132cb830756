import type {
  Action,
  CollectedMessage,
  Feedback,
  InboxMessage,
  Store,
  TraceLine,
  TraceRecord,
} from '../daemon/admin/store.ts';
import { isoTime } from './names/typed-values.ts';
import type { UserNamed } from './names/who.ts';
import { stateInWords } from './views/inbox-view.ts';

export interface MessageTrace {
  trace: TraceRecord;
  /** What the message waits for, in the words of `agentd inbox`. Null if the message has ended. */
  waits: string | null;
  /** The actions that the message confirmed, declined or carried out. */
  actions: Action[];
  /** What the person thought of the answer; null if it was not rated. */
  feedback: Feedback | null;
}

type Read = Pick<Store, 'sessions' | 'traces' | 'inbox' | 'actions' | 'waitingQuestions' | 'feedback'>;

/** Maximum number of messages of the inbox that are read to find the messages of a user, newest first. */
const INBOX_READ_MAX = 10_000;

/** What `agentd explain` is about: an id of any kind, or the users that one id may mean. */
export type Subject = { id: string } | { users: readonly UserNamed[] };

/**
 * Everything that is known about a subject, message by message, oldest first. The traces of all attempts are one
 * timeline. For a message that is answered later, the inbox adds when it was accepted, and how it ended or what it
 * waits for. A message without an attempt so far has a timeline, too.
 *
 * @param limit maximum number of messages; the last ones are returned
 * @returns the timelines, and the number of messages that exist
 */
export async function messageTraces(
  { sessions, traces, inbox, actions, waitingQuestions, feedback }: Read,
  subject: Subject,
  limit: number,
): Promise<{ shown: MessageTrace[]; all: number }> {
  const byTurn = Map.groupBy(await findTraces(subject, { sessions, traces }), ({ turn_id }) => turn_id);
  // The inbox returns the newest first. Texts that the channel itself sends do not count as messages.
  const waiting = (await findInboxMessages(subject, inbox))
    .reverse()
    .filter(({ message }) => message !== null);
  for (const { id, turn_id = id } of waiting) if (!byTurn.has(turn_id)) byTurn.set(turn_id, []);
  const known = new Map(waiting.map((message) => [message.id, message]));
  const ratings = await feedback.ofTurns([...byTurn.keys()].slice(-limit));
  const shown = [...byTurn].slice(-limit).map(async ([turn_id, records]) => {
    const message = known.get(turn_id) ?? (await inbox.find(turn_id));
    const trace = buildTimeLine(records, message, await collectedIn(message, inbox));
    const question = trace?.lines.some(({ reason }) => reason === 'question_waits')
      ? await waitingQuestions.ofTurn(turn_id)
      : null;
    if (trace && question) trace.lines.push(waitLine(question));
    const waits = message === null || message.ended_at !== null ? null : stateInWords(message);
    const rated = ratings.find((one) => one.turn_id === turn_id) ?? null;
    return trace === null
      ? []
      : [{ trace, waits, actions: await actionsIn(trace, actions), feedback: rated }];
  });
  return { shown: (await Promise.all(shown)).flat(), all: byTurn.size };
}

/**
 * The inbox messages of a subject, newest first. For a user, only messages that are not done: the others have traces.
 */
async function findInboxMessages(subject: Subject, inbox: Store['inbox']): Promise<InboxMessage[]> {
  if ('id' in subject) return inbox.search(subject.id);
  const open = await inbox.list({
    states: ['waiting', 'running', 'replied', 'failed'],
    limit: INBOX_READ_MAX,
  });
  return open.filter(({ platform, message }) =>
    subject.users.some(
      (user) => user.user_id === message?.user_id && (user.platform ?? platform) === platform,
    ),
  );
}

/**
 * The traces of a subject, oldest first. For a session, the traces of both of its ids, because sign-in replaces the
 * first id.
 */
async function findTraces(
  subject: Subject,
  { sessions, traces }: Pick<Store, 'sessions' | 'traces'>,
): Promise<TraceRecord[]> {
  if ('users' in subject) {
    const ofUsers = await Promise.all(subject.users.map((user) => traces.findOf(user)));
    return ofUsers.flat().sort((a, b) => a.started_at - b.started_at);
  }
  const { id } = subject;
  const found = await traces.find(id);
  const session = await sessions.find(id);
  const former = found.flatMap(({ lines }) => lines.map(({ detail }) => detail?.former_id));
  const ids = new Set([session?.former_id, session?.session_id, ...former]);
  ids.delete(id);
  const others = [...ids].filter((one) => typeof one === 'string').map((one) => traces.find(one));
  return [...found, ...(await Promise.all(others)).flat()].sort((a, b) => a.started_at - b.started_at);
}

async function actionsIn({ lines }: TraceRecord, actions: Store['actions']): Promise<Action[]> {
  const ids = new Set(
    lines.flatMap(({ detail }) => (typeof detail?.action === 'string' ? detail.action : [])),
  );
  // A line names one action, or a question about several.
  const found = await Promise.all(
    [...ids].map(async (id) => [await actions.find(id), ...(await actions.ofQuestion(id))]),
  );
  const distinct = new Map(found.flat().flatMap((action) => (action ? [[action.action_id, action]] : [])));
  return [...distinct.values()];
}

/** The further messages of a turn that the inbox still has. */
async function collectedIn(message: InboxMessage | null, inbox: Store['inbox']): Promise<InboxMessage[]> {
  const found = await Promise.all((message?.collected ?? []).map((id) => inbox.find(id)));
  return found.filter((one) => one !== null);
}

function buildTimeLine(
  records: readonly TraceRecord[],
  message: InboxMessage | null,
  further: readonly InboxMessage[],
): TraceRecord | null {
  const [first] = records;
  // A summary is made after the message has ended.
  const last = records.findLast(({ outcome }) => outcome !== 'summarized');
  const begun = message === null ? first : (first ?? emptyTrace(message));
  if (!begun) return null;
  const lines = records.flatMap((record) => record.lines);
  if (message === null) {
    const { finished_at, outcome } = last ?? begun;
    return { ...begun, lines, finished_at, outcome: outcome === 'sent' ? 'answered' : outcome };
  }
  const { received_at, ended_at } = message;
  const hasEnd = lines.some(({ step, reason }) => step === 'send-reply' && reason === 'sent');
  return {
    ...begun,
    started_at: received_at,
    finished_at: ended_at ?? last?.finished_at ?? received_at,
    outcome: describeOutcome(message),
    ...(further.length === 0 ? {} : { collected: further.map(collectedMessage) }),
    lines: [
      acceptLine(message, first),
      ...further.map(acceptedLater),
      ...lines,
      ...(message.state === 'done' && hasEnd ? [] : [endLine(message)]),
    ],
  };
}

function collectedMessage({ id, message_id, request_id }: InboxMessage): CollectedMessage {
  return { id, message_id, request_id };
}

/** The trace of a message without an attempt so far. */
function emptyTrace(message: InboxMessage): TraceRecord {
  const { id, request_id, session_id, message_id, platform, received_at } = message;
  return {
    turn_id: id,
    request_id,
    session_id,
    message_id,
    platform,
    user_id: message.message?.user_id ?? null,
    started_at: received_at,
    finished_at: received_at,
    outcome: message.state,
    lines: [],
  };
}

function acceptLine({ received_at, sent_at }: InboxMessage, first: TraceRecord | undefined): TraceLine {
  const waited = first ? { waited_ms: first.started_at - received_at } : {};
  return {
    at: received_at,
    step: 'accept',
    verdict: 'ok',
    detail: { written: isoTime(sent_at), ...waited },
  };
}

function acceptedLater(message: InboxMessage): TraceLine {
  const { detail, ...line } = acceptLine(message, undefined);
  return { ...line, detail: { message: message.message_id ?? message.id, ...detail } };
}

function endLine(message: InboxMessage): TraceLine {
  const { state, attempts, sends, failure, notice, notice_failure, ended_at, next_attempt_at } = message;
  const figures = { runs: attempts, sends };
  if (state === 'done')
    return { at: ended_at ?? 0, step: 'send-reply', verdict: 'ok', reason: 'sent', detail: figures };
  const words = failure === null ? {} : { last_failure: failure };
  if (state === 'failed') {
    const told = notice_failure === null ? {} : { notice_failure };
    const detail = { ...figures, notice: notice !== null, ...words, ...told };
    return { at: ended_at ?? 0, step: 'end', verdict: 'failed', reason: describeOutcome(message), detail };
  }
  return {
    at: next_attempt_at,
    step: 'next',
    verdict: 'ok',
    reason: state,
    detail: { ...figures, ...words },
  };
}

function waitLine({ expires_at }: { expires_at: number }): TraceLine {
  const detail = { until: isoTime(expires_at) };
  return { at: expires_at, step: 'next', verdict: 'ok', reason: 'waits_for_sign_in', detail };
}

function describeOutcome({ state, failure }: InboxMessage): string {
  if (state === 'done') return 'answered';
  return state === 'failed' ? (failure?.split(':')[0] ?? 'failed') : state;
}
