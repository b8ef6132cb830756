import { type PersonKey, personFrom } from '../identity/identity.ts';
import type { Rerun } from '../store/inbox/inbox.ts';
import type { MessageSpan } from '../trace/span.ts';
import type { TraceLine, TraceRecord } from '../trace/trace-record.ts';
import type { Arrival } from './arrival.ts';
import type { Services } from './services.ts';
import type { Answering, Arrived, Chosen, Identified, Opened } from './turn.ts';

/**
 * Starts the span of a message, and adds the trace lines that were written before the start.
 * @returns null if no spans are collected.
 */
export function beginSpan(
  { turn_id, channel, validated, parent_span }: Arrival<Arrived>,
  { observer }: Pick<Services, 'observer'>,
  begun: readonly TraceLine[],
): MessageSpan | null {
  const [first] = begun;
  const span = observer.messageBegan({
    turn_id,
    channel: channel.name,
    is_later: channel.has_platform,
    parent: parent_span ?? null,
    is_authenticated: channel.has_platform || validated?.verdict.valid === true,
    began_at: first === undefined ? null : first.at - (first.took_ms ?? 0),
  });
  if (span) for (const line of begun) span.past(line);
  return span;
}

/** The trace as it is stored; `outcome` is `answered`, `replayed`, or the error code. */
export function buildTrace(
  turn: Arrived & Partial<Identified & Opened & Chosen>,
  outcome: string,
  finished_at: number,
): TraceRecord {
  const person = personIn(turn);
  return {
    turn_id: turn.turn_id,
    request_id: turn.request_id,
    session_id: isPartOfSession(turn, outcome) ? turn.session_id : null,
    message_id: turn.message.message_id ?? null,
    platform: turn.message.platform,
    user_id: turn.message.user_id,
    ...(turn.collected === undefined ? {} : { collected: turn.collected }),
    ...(turn.rerun === undefined ? {} : { rerun_of: pickRerun(turn.rerun) }),
    ...(person === null ? {} : { person }),
    ...(turn.agent === undefined ? {} : { agent: turn.agent }),
    agent_digest: turn.agent_digest,
    started_at: turn.started_at,
    finished_at,
    outcome,
    lines: turn.trace.finished(),
  };
}

function pickRerun({ turn_id, message_id }: Rerun): NonNullable<TraceRecord['rerun_of']> {
  return { turn_id, message_id };
}

/**
 * The trace of an answered turn. It is stored by store-reply, before the steps store-reply and send-reply have ended,
 * so their lines are added in advance.
 */
export function buildAnsweredTrace(turn: Answering & Opened, finished_at: number): TraceRecord {
  const record = buildTrace(turn, 'answered', finished_at);
  const lines: TraceLine[] = [...record.lines, { at: finished_at, step: 'store-reply', verdict: 'ok' }];
  const reason = turn.outlet.leaves;
  if (reason !== null) lines.push({ at: finished_at, step: 'send-reply', verdict: 'ok', reason });
  return { ...record, lines };
}

/**
 * The person of the valid token that came with the message, even if the message was refused before it was identified.
 */
function personIn({ credential, validated }: Arrived & Partial<Identified>): PersonKey | null {
  if (credential) return personFrom(credential);
  return validated?.verdict.valid ? validated.verdict.person : null;
}

/**
 * Whether the message became part of its session, so that its trace is found by the session's id. A web client may name
 * any session, and a refused message has nothing to do with the owner of that session. Platforms name their own
 * sessions.
 */
function isPartOfSession(turn: Arrived & Partial<Opened>, outcome: string): boolean {
  if (outcome === 'session_forbidden') return false;
  const isOpened = turn.session !== undefined || outcome === 'replayed';
  return isOpened || turn.channel.has_platform || turn.session_is_generated;
}

/**
 * Reports the end of a message, or of one of its runs.
 * @param runs_again see `Observer.turnTraced`.
 */
export function endTrace(
  { span }: Pick<Arrived, 'span'>,
  record: TraceRecord,
  runs_again: boolean,
  { observer }: Pick<Services, 'observer'>,
): void {
  span?.end(record);
  observer.turnTraced(record, runs_again);
}
