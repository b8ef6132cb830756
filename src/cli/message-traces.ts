import type {
  Action,
  CollectedMessage,
  Feedback,
  InboxMessage,
  Store,
  TraceLine,
  TraceRecord,
} from '../daemon/admin/store.ts';
import { printable, quoteValue } from '../daemon/admin/texts.ts';
import { adviceFor } from './advice.ts';
import { channelInWords } from './channel-titles.ts';
import { codeLegend } from './code-words.ts';
import { FEEDBACK_COLUMNS, feedbackInWords, feedbackView } from './feedback-view.ts';
import { stateInWords } from './inbox-view.ts';
import { type Column, type Output, toJson } from './output.ts';
import { ACTION_COLUMNS, type ActionView } from './record-views.ts';
import { isoTime } from './typed-values.ts';
import type { UserNamed } from './who.ts';
import { wrapText } from './wrap-text.ts';

/** One message. */
interface MessageTrace {
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
  const byTurn = new Map<string, TraceRecord[]>();
  for (const trace of await findTraces(subject, { sessions, traces })) {
    const earlier = byTurn.get(trace.turn_id);
    if (earlier) earlier.push(trace);
    else byTurn.set(trace.turn_id, [trace]);
  }
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

/** Longest line of a trace, even if the output is not a terminal, because traces are pasted into tickets. */
const WIDTH_MAX = 120;
const HAPPENED = '  what happened: ';
const TODO = '  what to do:    ';

/** A reason in a trace that the reader can act on. It is named once for each source, even if it is in several lines. */
export interface Finding {
  reason: string;
  happened: string;
  todo: string;
}

/** A trace as `--json` prints it. */
export function traceView(
  trace: TraceRecord,
  actions: readonly ActionView[] = [],
  feedback: Feedback | null = null,
) {
  return {
    ...trace,
    started_at: isoTime(trace.started_at),
    finished_at: isoTime(trace.finished_at),
    took_ms: trace.finished_at - trace.started_at,
    acted_for: actedFor(trace) ?? null,
    lines: trace.lines.map((line) => ({ ...line, at: isoTime(line.at) })),
    actions: actions.map((action) => toJson(ACTION_COLUMNS, action)),
    feedback: feedback && toJson(FEEDBACK_COLUMNS, feedbackView(feedback, null)),
    findings: listFindings(trace),
  };
}

/** The reasons in a trace that the reader can act on, in order. */
export function listFindings(trace: TraceRecord): Finding[] {
  const findings = new Map<string, Finding>();
  const find = (reason: string, source?: unknown) => {
    const { happened = '', todo } = adviceFor(reason, source) ?? {};
    if (todo !== undefined) findings.set(`${reason} ${happened}`, { reason, happened, todo });
  };
  for (const { reason, verdict, detail } of trace.lines)
    if (reason !== undefined && (verdict === 'refused' || !adviceFor(reason)?.only_if_refused))
      find(reason, detail?.source);
  // The outcome is a finding only if no line gives the cause.
  const cause = trace.lines.find((line) => line.verdict === 'refused' || line.verdict === 'failed')?.reason;
  if (cause === undefined || !adviceFor(cause)?.todo) find(trace.outcome);
  return [...findings.values()];
}

const LINE_COLUMNS: readonly Column<TraceLine>[] = [
  { title: 'TIME (UTC)', text: ({ at }) => isoTime(at).slice(11, 23) },
  { title: 'TOOK', text: ({ took_ms }) => (took_ms === undefined ? '' : `${took_ms} ms`), align: 'right' },
  { title: 'STEP', text: ({ step }) => step },
  { title: 'VERDICT', text: ({ verdict }) => verdict },
  { title: 'REASON', text: ({ reason }) => reason },
  { title: 'DETAIL', text: detailInWords, narrow: 'wrap' },
];

/**
 * One trace for people: who sent the message and how it ended, for whom the agent acted, what happened and what to do,
 * and then the timeline.
 * @param waits what the message waits for; null if it has ended
 * @param actions the actions that the message confirmed, declined or carried out
 * @param feedback what the person thought of the answer
 */
export function traceInWords(
  trace: TraceRecord,
  out: Pick<Output, 'table' | 'width'>,
  waits: string | null = null,
  actions: readonly ActionView[] = [],
  feedback: Feedback | null = null,
): string {
  const width = Math.min(WIDTH_MAX, out.width);
  const who = [channelInWords(trace.platform), trace.user_id && `user ${trace.user_id}`]
    .filter(Boolean)
    .join(', ');
  const end = waits ?? `${trace.outcome} in ${trace.finished_at - trace.started_at} ms`;
  const head = [
    [isoTime(trace.started_at), who, end],
    [
      `request ${trace.request_id}`,
      trace.session_id && `session ${trace.session_id}`,
      trace.message_id && `message ${trace.message_id}`,
      trace.agent_digest && `agent ${[trace.agent, trace.agent_digest].filter(Boolean).join(' ')}`,
    ],
    ...collectedInWords(trace),
    ...(trace.rerun_of === undefined ? [] : [[`second run of turn ${trace.rerun_of.turn_id}`]]),
  ].flatMap((parts) => wrapText(parts.filter(Boolean).map(String).map(printable).join('  '), width));
  const lines = trace.lines.length === 0 ? '' : out.table(LINE_COLUMNS, trace.lines, width);
  const findings = listFindings(trace);
  const codes = codesInWords(trace, findings, width);
  const result = [
    principalInWords(trace),
    actionsInWords(actions, width),
    feedbackInWords(feedback),
    findingsInWords(findings, trace.outcome, width, feedback?.rating === -1),
  ].join('');
  return [`${head.join('\n')}\n`, result, lines, codes].filter((part) => part !== '').join('\n');
}

function collectedInWords({ turn_id, message_id, collected = [] }: TraceRecord): string[][] {
  if (collected.length === 0) return [];
  const ids = [message_id ?? turn_id, ...collected.map((one) => one.message_id ?? one.id)];
  return [[`turn ${turn_id}`, `answers ${ids.length} messages: ${ids.join(', ')}`]];
}

/** The `sub` of the person; null if nobody is signed in; undefined if the message ended before this was known. */
function actedFor({ lines }: TraceRecord): string | null | undefined {
  const line = lines.find(({ step, detail }) => step === 'resolve-principal' && detail !== undefined);
  if (line === undefined) return undefined;
  const { sub } = line.detail ?? {};
  return sub === undefined ? null : String(sub);
}

/** Whom the message acted for. A message can be answered without an error, but act for the wrong person. */
function principalInWords(trace: TraceRecord): string {
  const sub = actedFor(trace);
  if (sub === undefined) return '';
  if (sub === null) return 'Nobody was signed in, so no call used the credentials of a person.\n';
  return `The agent acted for the person ${printable(quoteValue(sub))}.\n`;
}

/**
 * What the other codes mean: the reasons of lines that did not go well, but need nothing to be done, and the state of
 * the session at the end.
 */
function codesInWords({ lines }: TraceRecord, findings: readonly Finding[], width: number): string {
  const reasons = lines.flatMap(({ verdict, reason }) => (verdict === 'ok' ? [] : (reason ?? [])));
  const states = lines.flatMap(({ detail }) => (typeof detail?.state === 'string' ? detail.state : []));
  const codes = new Set([...reasons, ...states.slice(-1)]);
  for (const { reason } of findings) codes.delete(reason);
  return codeLegend([...codes], width);
}

function actionsInWords(actions: readonly ActionView[], width: number): string {
  return actions
    .flatMap(({ summary, tool, outcome, status }) => {
      const end = status === null ? outcome : `${outcome}, status ${status}`;
      return wrapText(`Action (${end}): ${printable(summary ?? tool)}`, width);
    })
    .map((line) => `${line}\n`)
    .join('');
}

function detailInWords({ detail = {} }: TraceLine): string {
  const pairs = Object.entries(detail).map(([name, value]) => `${name}=${quoteValue(String(value))}`);
  return pairs.join(' ');
}

function findingsInWords(
  findings: readonly Finding[],
  outcome: string,
  width: number,
  isRatedBad: boolean,
): string {
  if (findings.length === 0) {
    const isWell = ['answered', 'replayed', 'summarized'].includes(outcome);
    if (!isWell) return `It ended with ${printable(outcome)}; see \`agentd logs --request\`.\n`;
    return isRatedBad ? 'No step failed.\n' : 'Nothing went wrong with this message.\n';
  }
  const paragraph = (label: string, text: string) =>
    `${label}${wrapText(text, width - label.length).join(`\n${' '.repeat(label.length)}`)}\n`;
  return findings
    .map(
      ({ reason, happened, todo }) => `${reason}\n${paragraph(HAPPENED, happened)}${paragraph(TODO, todo)}`,
    )
    .join('');
}
