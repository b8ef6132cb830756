import type { PastExchange } from '../agent/agent.ts';
import type { Services } from '../services.ts';
import { isTainted, type StoredTurn, tagOf } from '../session/session.ts';
import type { HistoryReader } from '../store/sessions.ts';
import { shownTurns } from '../store/shown-turns.ts';
import type { Summary } from '../store/summaries.ts';
import { BEGUN_TURNS } from '../store/turns.ts';
import type { Answering, Locked, Resolved } from './turn.ts';

/** Maximum number of earlier exchanges that the agent gets. A runtime uses as many of them as fit into its model. */
export const HISTORY_TURNS = 50;

/** The part of the conversation that a run may see, oldest first. */
export interface RunHistory {
  /** The summary of everything before `turns`; null if there is none. */
  summary: Summary | null;
  turns: readonly StoredTurn[];
}

/** Whether the history may be based on results of tools of another origin (`RunTaint`). */
export function isTaintedHistory({ summary, turns }: TaintedParts): boolean {
  return summary?.tainted === true || turns.some(isTainted);
}

interface TaintedParts {
  summary: Pick<Summary, 'tainted'> | null;
  turns: readonly StoredTurn[];
}

type Turn = Answering & Resolved;

/**
 * The earlier turns that this run may see (agentd-message(7), "History"). The turns of a person are visible only in
 * runs of the same person. Anybody who knows a session id that a client chose may write in that session without signing
 * in, so a person's run does not see turns without sign-in in that session. Anybody who knows a generated id may also
 * write before sign-in, so turns from before sign-in are visible but marked.
 */
export async function readHistory(
  turn: Turn & Pick<Locked, 'begun'>,
  { store, agent }: Pick<Services, 'store' | 'agent'>,
): Promise<RunHistory> {
  const { session, session_origin, principal, channel } = turn;
  if (session_origin !== 'found') return { summary: null, turns: [] };
  const owner = agent.summarize ? summaryOwner(turn) : null;
  const reader = { person: principal.person, nobodys: channel.has_platform || session.generated };
  const [summary, turns] = await Promise.all([
    owner === null ? null : store.summaries.find(tagOf(session), owner),
    begunHistory(turn, reader) ?? store.sessions.history(session.session_id, reader, HISTORY_TURNS),
  ]);
  return { summary, turns: turnsAfter(summary, turns, turn) };
}

/** The history, made from the turns that were read at the beginning of the turn. Null if too few turns were read. */
function begunHistory(
  { begun: { turns } }: Pick<Locked, 'begun'>,
  reader: HistoryReader,
): StoredTurn[] | null {
  if (turns === null) return null;
  const shown = shownTurns(reader, turns);
  return shown.length >= HISTORY_TURNS || turns.length < BEGUN_TURNS ? shown.slice(-HISTORY_TURNS) : null;
}

/**
 * The owner of the summary of a conversation: the person of the run. Without a person, the platform's verified user;
 * and without a platform, anybody who knows an id that the daemon generated. Null if several people take part in the
 * conversation, or if the sender cannot be distinguished from other people.
 */
export function summaryOwner({ session, principal, channel, message }: Turn): string | null {
  if (message.shared) return null;
  if (principal.person !== null) return principal.person;
  // A person's key is a JSON list, so owners of different kinds are never equal.
  if (channel.has_platform) return `${channel.name}:${message.user_id}`;
  return session.generated ? 'anonymous' : null;
}

/** Whether the turn was made before the person signed in, perhaps by somebody else. */
export function isBeforeSignIn(past: StoredTurn, { channel, principal }: Turn): boolean {
  return !channel.has_platform && principal.person !== null && past.person === null;
}

export function pastExchange(past: StoredTurn, turn: Turn): PastExchange {
  return {
    user: past.text,
    speaker: past.user_id,
    reply: past.reply ?? '',
    ...(isBeforeSignIn(past, turn) ? { before_sign_in: true as const } : {}),
  };
}

/** The turns that the summary does not cover. A person's summary never includes turns from before sign-in. */
function turnsAfter(
  summary: Summary | null,
  turns: readonly StoredTurn[],
  turn: Turn,
): readonly StoredTurn[] {
  if (summary === null) return turns;
  const last = turns.findIndex(({ turn_id }) => turn_id === summary.through_turn);
  const isCovered = (past: StoredTurn, place: number) =>
    last < 0 ? past.finished_at <= summary.through_at : place <= last;
  return turns.filter((past, place) => isBeforeSignIn(past, turn) || !isCovered(past, place));
}
