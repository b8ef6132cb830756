import type { TraceLine, TraceRecord } from '../../daemon/admin/store.ts';
import { printable, quoteValue, wrapText } from '../../daemon/admin/texts.ts';
import { adviceFor } from '../advice/advice.ts';
import { hang } from '../hang.ts';
import type { MessageTrace } from '../message-traces.ts';
import { channelInWords } from '../names/channel-titles.ts';
import { codeLegend } from '../names/code-words.ts';
import { isoTime } from '../names/typed-values.ts';
import { type Column, type Output, toJson } from '../output.ts';
import { ACTION_COLUMNS, type ActionView } from './action-view.ts';
import { FEEDBACK_COLUMNS, feedbackInWords, feedbackView } from './feedback-view.ts';

/** Longest line of a trace, even if the output is not a terminal, because traces are pasted into tickets. */
const WIDTH_MAX = 120;
const HAPPENED = '  what happened: ';
const ADVICE = '  what to do:    ';

/** A reason in a trace that the reader can act on. It is named once for each source, even if it is in several lines. */
interface Finding {
  reason: string;
  happened: string;
  todo: string;
}

type ExplainedMessage = Omit<MessageTrace, 'actions'> & { actions: readonly ActionView[] };

/** A message as `--json` prints it. */
export function traceView({ trace, actions, feedback }: ExplainedMessage) {
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
  for (const { step, reason, verdict, detail } of trace.lines) {
    // What a message brought is not yet for whom it acted: resolve-principal says that, and why.
    if (reason === undefined || (step === 'identify' && verdict === 'ok')) continue;
    if (verdict === 'refused' || !adviceFor(reason)?.only_if_refused) find(reason, detail?.source);
  }
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
 * One message for people: who sent it and how it ended, for whom the agent acted, what happened and what to do, and then
 * the timeline.
 */
export function traceInWords(
  { trace, waits, actions, feedback }: ExplainedMessage,
  out: Pick<Output, 'table' | 'width'>,
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
  ].flatMap((parts) => fillLines(parts.filter(Boolean).map(String).map(printable), width));
  const lines = out.table(LINE_COLUMNS, trace.lines, width);
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

/** The parts in as few lines as possible. A name is never on another line than its value. */
function fillLines(parts: readonly string[], width: number): string[] {
  const lines: string[] = [];
  for (const part of parts) {
    const longer = `${lines.at(-1)}  ${part}`;
    if (lines.length > 0 && longer.length <= width) lines[lines.length - 1] = longer;
    else lines.push(...(/^\S+ \S+$/.test(part) ? [part] : wrapText(part, width)));
  }
  return lines;
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
  const paragraph = (label: string, text: string) => hang(label, text, { indent: label.length, width });
  return findings
    .map(
      ({ reason, happened, todo }) => `${reason}\n${paragraph(HAPPENED, happened)}${paragraph(ADVICE, todo)}`,
    )
    .join('');
}
