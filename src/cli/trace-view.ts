import { printable, wordOf } from '../daemon/printable.ts';
import type { TraceLine, TraceRecord } from '../daemon/trace/trace-record.ts';
import { adviceFor } from './advice.ts';
import type { Output } from './output.ts';
import { isoTime } from './time-words.ts';
import { wrapText } from './wrap-text.ts';

/** As wide as one trace is printed, so that it can be read at a glance and pasted into a ticket. */
const COLUMNS = 120;
/** Between two columns of a table. */
const GAP = 2;
/** The detail has at least so much, however long the reasons are. */
const DETAIL_MIN = 24;
const HAPPENED = '  what happened: ';
const TODO = '  what to do:    ';

/** One thing that went otherwise than hoped, once however often it stands in the trace. */
export interface Finding {
  reason: string;
  happened: string;
  todo: string;
}

/** What a trace says, for `--json`. */
export interface TraceView extends Omit<TraceRecord, 'lines' | 'started_at' | 'finished_at'> {
  started_at: string;
  finished_at: string;
  took_ms: number;
  lines: (Omit<TraceLine, 'at'> & { at: string })[];
  findings: Finding[];
}

export function traceView(trace: TraceRecord): TraceView {
  return {
    ...trace,
    started_at: isoTime(trace.started_at),
    finished_at: isoTime(trace.finished_at),
    took_ms: trace.finished_at - trace.started_at,
    lines: trace.lines.map((line) => ({ ...line, at: isoTime(line.at) })),
    findings: findingsOf(trace),
  };
}

/** The reasons of the trace that somebody can act on, in the order in which they came up. */
export function findingsOf(trace: TraceRecord): Finding[] {
  const reasons = new Set<string>();
  for (const line of trace.lines) if (line.reason !== undefined) reasons.add(line.reason);
  // The outcome is worth telling where no line says more: what led to it stands in the lines.
  const cause = trace.lines.find((line) => line.verdict === 'refused' || line.verdict === 'failed')?.reason;
  if (cause === undefined || !adviceFor(cause)?.todo) reasons.add(trace.outcome);
  const findings: Finding[] = [];
  for (const reason of reasons) {
    const advice = adviceFor(reason);
    if (advice?.todo !== undefined) findings.push({ reason, happened: advice.happened, todo: advice.todo });
  }
  return findings;
}

/**
 * One trace for people: who and how it ended, the time line, what happened and what to do.
 * @param waits what the message waits for; null: it has ended
 */
export function traceInWords(trace: TraceRecord, out: Output, waits: string | null = null): string {
  const who = [trace.platform, trace.user_id && `user ${trace.user_id}`].filter(Boolean).join(', ');
  const ids = [
    `request ${trace.request_id}`,
    trace.session_id && `session ${trace.session_id}`,
    trace.message_id && `message ${trace.message_id}`,
  ];
  const end = waits ?? `${trace.outcome} in ${trace.finished_at - trace.started_at} ms`;
  const head = [
    ...apart([isoTime(trace.started_at), who, end]),
    ...apart(ids.filter((id) => typeof id === 'string')),
  ].join('\n');
  return `${head}\n\n${timeLine(trace, out)}\n${findingsInWords(findingsOf(trace), trace.outcome)}`;
}

/** Parts that two blanks hold apart, as a table does its columns. */
function apart(parts: readonly string[]): string[] {
  return wrapText(parts.filter(Boolean).map(printable).join('  '), COLUMNS);
}

const HEAD = ['TIME (UTC)', 'TOOK', 'STEP', 'VERDICT', 'REASON', 'DETAIL'];

/** A detail that is too long goes on below itself. */
function timeLine(trace: TraceRecord, out: Output): string {
  const cells = trace.lines.map((line) => [
    isoTime(line.at).slice(11, 23),
    line.took_ms === undefined ? '' : `${line.took_ms} ms`,
    line.step,
    line.verdict,
    line.reason ?? '',
  ]);
  const others = HEAD.slice(0, -1).map((name, column) =>
    Math.max(name.length, ...cells.map((row) => row[column]?.length ?? 0)),
  );
  const left = COLUMNS - others.reduce((sum, width) => sum + width + GAP, 0);
  const rows = trace.lines.flatMap((line, index) => {
    const [first = '', ...more] = wrapText(detailInWords(line), Math.max(left, DETAIL_MIN));
    const below = more.map((part) => [...others.map(() => ''), part]);
    return [[...(cells[index] ?? []), first], ...below];
  });
  return out.table(HEAD, rows);
}

function detailInWords({ detail = {} }: TraceLine): string {
  const pairs = Object.entries(detail).map(([name, value]) => `${name}=${wordOf(String(value))}`);
  return printable(pairs.join(' '));
}

function findingsInWords(findings: readonly Finding[], outcome: string): string {
  if (findings.length === 0) {
    const well = outcome === 'answered' || outcome === 'replayed';
    return well
      ? 'Nothing stood in the way of this message.\n'
      : `It ended with ${printable(outcome)}; see \`agentd logs --request\`.\n`;
  }
  return findings
    .map(
      ({ reason, happened, todo }) => `${reason}\n${paragraph(HAPPENED, happened)}${paragraph(TODO, todo)}`,
    )
    .join('');
}

function paragraph(label: string, text: string): string {
  const below = `\n${' '.repeat(label.length)}`;
  return `${label}${wrapText(text, COLUMNS - label.length).join(below)}\n`;
}
