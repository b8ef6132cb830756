import type { PastCall, PastExchange } from '../../../agent/index.ts';
import type { Seal } from '../../identity/seal.ts';
import { isTainted, openTurnText, type StoredTurn, sessionTag } from '../../session/session.ts';
import type { HistoryReader } from '../../store/sessions/sessions.ts';
import { shownTurns } from '../../store/sessions/sessions.ts';
import type { Summary } from '../../store/sessions/summaries.ts';
import { BEGUN_TURNS } from '../../store/sessions/turns.ts';
import { principalKey } from '../principal-key.ts';
import type { Services } from '../services.ts';
import type { Answering, Locked, Resolved } from '../turn.ts';

/** Maximum number of earlier exchanges that the agent gets. A runtime uses as many of them as fit into its model. */
export const HISTORY_TURNS = 50;

/** The part of the conversation that a run may see, oldest first. */
export interface RunHistory {
  /** The summary of everything before `turns`; null if there is none. */
  summary: Summary | null;
  turns: readonly StoredTurn[];
  /** The state that the runtime has set for the same principal; null if there is none. */
  state: PastState | null;
  /** The size of the calls that the session keeps for the same principal, in bytes. */
  calls_bytes: number;
}

interface PastState {
  value: unknown;
  /** Whether the run that set it was tainted. */
  tainted: boolean;
  /** In which turn it is stored: 1 is the latest turn that the run may see. */
  turns_ago: number;
}

const NO_HISTORY: RunHistory = { summary: null, turns: [], state: null, calls_bytes: 0 };

/** Whether the history may be based on results of tools of another origin (`RunTaint`). */
export function isTaintedHistory({ summary, turns, state }: TaintedParts): boolean {
  return summary?.tainted === true || state?.tainted === true || turns.some(isTainted);
}

interface TaintedParts {
  summary: Pick<Summary, 'tainted'> | null;
  turns: readonly StoredTurn[];
  state?: PastState | null;
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
  { store, agent, seal }: Pick<Services, 'store' | 'agent' | 'seal'>,
): Promise<RunHistory> {
  const { session, session_origin, principal, channel } = turn;
  if (session_origin !== 'found') return NO_HISTORY;
  const owner = agent.summarize ? summaryOwner(turn) : null;
  const reader = { person: principal.person, nobodys: channel.has_platform || session.generated };
  const begun = begunHistory(turn, reader);
  const [summary, turns] =
    owner === null && begun !== null
      ? [null, begun]
      : await Promise.all([
          owner === null ? null : store.summaries.find(sessionTag(session), owner),
          begun ?? store.sessions.history(session.session_id, reader, HISTORY_TURNS),
        ]);
  return {
    summary,
    turns: turnsAfter(summary, turns, turn),
    state: pastState(turns, turn, seal),
    calls_bytes: turns.findLast((past) => past.calls_bytes && isOfPrincipal(past, turn))?.calls_bytes ?? 0,
  };
}

/** The history, made from the turns that were read at the beginning of the turn. Null if too few turns were read. */
function begunHistory(
  { begun: { turns } }: Pick<Locked, 'begun'>,
  reader: HistoryReader,
): StoredTurn[] | null {
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
  return principalKey({ principal, channel, message }) ?? (session.generated ? 'anonymous' : null);
}

/** Whether the turn was made before the person signed in, perhaps by somebody else. */
export function isBeforeSignIn(past: StoredTurn, { channel, principal }: Turn): boolean {
  return !channel.has_platform && principal.person !== null && past.person === null;
}

/**
 * Whether the turn was made for the principal of this run: the same person or, if nobody is signed in, the same user. A
 * run gets the results of calls and the state only of such turns, even if it may see the texts of others.
 */
function isOfPrincipal(past: StoredTurn, { principal: { person }, message }: Turn): boolean {
  return past.person === person && (person !== null || past.user_id === message.user_id);
}

function pastState(turns: readonly StoredTurn[], turn: Turn, seal: Seal): PastState | null {
  const index = turns.findLastIndex((past) => past.state !== undefined && isOfPrincipal(past, turn));
  const past = turns[index];
  const value = past && openTurnText(seal, past, 'state');
  if (past === undefined || value === undefined) return null;
  return { value, tainted: isTainted(past), turns_ago: turns.length - index };
}

function pastCalls(past: StoredTurn, turn: Turn, seal: Seal): readonly PastCall[] {
  if (!isOfPrincipal(past, turn)) return [];
  return (openTurnText(seal, past, 'calls') as PastCall[] | undefined) ?? [];
}

export function toPastExchange(past: StoredTurn, turn: Turn, { seal }: Pick<Services, 'seal'>): PastExchange {
  const calls = pastCalls(past, turn, seal);
  return {
    user: past.text,
    speaker: past.user_id,
    reply: agentsReply(past),
    ...(calls.length === 0 ? {} : { calls }),
    ...(isBeforeSignIn(past, turn) ? { before_sign_in: true as const } : {}),
  };
}

/**
 * The reply without the daemon's lines about its writes: a model that read them as its own words would write such lines
 * itself. The calls of the turn say what was done. If the reply has nothing else, it stays whole.
 */
export function agentsReply({ reply, receipt_lines }: StoredTurn): string {
  if (reply === null || receipt_lines === undefined) return reply ?? '';
  const { begins_at, ends_at } = receipt_lines;
  const rest = [reply.slice(0, begins_at).trimEnd(), reply.slice(ends_at)].filter((part) => part !== '');
  return rest.length === 0 ? reply : rest.join('\n\n');
}

/** The turns that the summary does not cover. A person's summary never includes turns from before sign-in. */
function turnsAfter(
  summary: Summary | null,
  turns: readonly StoredTurn[],
  turn: Turn,
): readonly StoredTurn[] {
  if (summary === null) return turns;
  const last = turns.findIndex(({ turn_id }) => turn_id === summary.through_turn);
  const isCovered = (past: StoredTurn, index: number) =>
    last < 0 ? past.finished_at <= summary.through_at : index <= last;
  return turns.filter((past, index) => isBeforeSignIn(past, turn) || !isCovered(past, index));
}
