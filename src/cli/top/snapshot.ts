import {
  type GuardList,
  type InboxCount,
  type MessageOutcome,
  messageOutcome,
  type Outage,
  type StreamCount,
  type TraceRecord,
} from '../../daemon/admin/store.ts';
import type { DaemonLoad, Health } from '../running-daemon.ts';

/** The part of the past that counts as now, ms. */
export const WINDOW_MS = 5 * 60_000;
/** How many of the newest traces are read. */
export const TRACES_MAX = 1000;
/** How many failed messages are shown. */
const FAILURES_MAX = 5;

/** What `agentd top` has read. */
export interface TopSources {
  now: number;
  inbox: readonly InboxCount[];
  streams: readonly StreamCount[];
  outages: readonly Outage[];
  guard: GuardList;
  /** The newest traces, oldest first. */
  traces: readonly TraceRecord[];
  /** The answer of the running daemon; null if it cannot be reached. */
  health: Health | null;
  /** From the admin listener; null if it cannot be asked. */
  load: DaemonLoad | null;
}

export interface TopChannel {
  channel: string;
  /** `ok` or `degraded`, as the daemon reports it; `away` during an outage of the platform; null if it is not known. */
  state: string | null;
  detail: string | null;
  running: number;
  /** Messages that have no run yet, and streams that nobody has opened yet. */
  waiting: number;
  /** Replies that the platform has not accepted yet. */
  unsent: number;
  /** Messages of the inbox that have failed for good. */
  failed: number;
  /** Age of the oldest message that waits or has an unsent reply, seconds; null if there is none. */
  oldest_seconds: number | null;
  /** How many messages ended so within `WINDOW_MS`. */
  recent: { answered: number; failed: number; refused: number };
  /** The time within which 95 % of the answers were ready, ms; null if there was none. */
  p95_ms: number | null;
}

export interface TopFailure {
  at: number;
  channel: string;
  outcome: string;
  request_id: string;
}

export interface Snapshot {
  at: number;
  /** Null if the daemon cannot be reached. */
  daemon: string | null;
  channels: TopChannel[];
  /** Users and sessions that the loop guard blocks. */
  blocked: { users: number; sessions: number };
  runs: { running: number; waiting: number } | null;
  /** The newest failed messages, newest first. */
  failures: TopFailure[];
}

export function takeSnapshot(sources: TopSources): Snapshot {
  const { now, inbox, streams, outages, guard, health, load } = sources;
  const recent = sources.traces.filter((trace) => isMessage(trace) && trace.finished_at > now - WINDOW_MS);
  const names = new Set([
    ...(health?.platforms ?? []),
    ...[...inbox, ...streams, ...outages, ...recent].map(({ platform }) => platform),
  ]);
  return {
    at: now,
    daemon: health?.status ?? null,
    channels: [...names].sort().map((name) => summarizeChannel(name, sources, recent)),
    blocked: { users: guard.circuits.length, sessions: guard.sessions.length },
    runs: load && { running: load.runs, waiting: load.waiting },
    failures: recent
      .filter((trace) => messageOutcome(trace) === 'failed')
      .slice(-FAILURES_MAX)
      .reverse()
      .map(({ finished_at, platform, outcome, request_id }) => ({
        at: finished_at,
        channel: platform,
        outcome,
        request_id,
      })),
  };
}

function summarizeChannel(
  channel: string,
  { now, inbox, streams, outages, health, load }: TopSources,
  recent: readonly TraceRecord[],
): TopChannel {
  const ofInbox = inbox.filter(({ platform }) => platform === channel);
  const count = (state: string) =>
    [...ofInbox.map((one) => ({ ...one, n: one.messages })), ...countStreams(channel, streams)]
      .filter((one) => one.state === state)
      .reduce((sum, { n }) => sum + n, 0);
  const open = ofInbox.filter(({ state }) => state === 'waiting' || state === 'replied');
  const oldest_at = Math.min(...open.map((one) => one.oldest_at));
  const outage = outages.find(({ platform }) => platform === channel);
  const { status = null, detail = null } = health?.adapters[channel] ?? {};
  const theirs = recent.filter(({ platform }) => platform === channel);
  const ended = (...outcomes: MessageOutcome[]) =>
    theirs.filter((trace) => outcomes.includes(messageOutcome(trace)));
  const answered = ended('answered', 'stopped');
  return {
    channel,
    state: outage ? 'away' : status,
    detail: outage ? `${outage.reason}: ${outage.words}` : detail,
    // The store does not know of every message that one process answers, and one process knows only of its own.
    running: Math.max(count('running'), load?.running.get(channel) ?? 0),
    waiting: count('waiting'),
    unsent: count('replied'),
    failed: count('failed'),
    oldest_seconds: open.length === 0 ? null : Math.max(0, Math.floor((now - oldest_at) / 1000)),
    recent: {
      answered: answered.length,
      failed: ended('failed').length,
      refused: ended('refused', 'blocked').length,
    },
    p95_ms: p95(answered.map(({ started_at, finished_at }) => finished_at - started_at)),
  };
}

function countStreams(channel: string, streams: readonly StreamCount[]): { state: string; n: number }[] {
  return streams
    .filter(({ platform }) => platform === channel)
    .map(({ state, streams: n }) => ({ state, n }));
}

/** Whether a trace is that of a message, and not of a later attempt to send its reply or of a summary. */
function isMessage({ outcome, lines }: TraceRecord): boolean {
  return outcome !== 'summarized' && !lines.every(({ step }) => step === 'send-reply');
}

function p95(times: readonly number[]): number | null {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.95) - 1] ?? null;
}
