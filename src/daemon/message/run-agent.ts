import { AgentFailure, type AgentTurn } from '../agent/agent.ts';
import { type RequestContext, requestContext, withRequestContext } from '../agent/context.ts';
import type { RunMemory } from '../agent/long-term-memory.ts';
import { requestedWait } from '../agent/requested-wait.ts';
import { AgentdError } from '../errors.ts';
import { type MemoryOwner, memoryOwner } from '../identity/memory-owner.ts';
import type { TurnJournal } from '../journal/turn-journal.ts';
import { writingsOf } from '../linking/link-ids.ts';
import { StreamMask } from '../secret.ts';
import type { Services } from '../services.ts';
import type { StoredTurn } from '../session/session.ts';
import { sourceLocation } from '../source-location.ts';
import { ClaimLost } from '../store/claim-lost.ts';
import { TimeLimit } from '../time-limit.ts';
import { bindTools } from '../tools/bind-tools.ts';
import type { StepLine } from '../trace/trace-record.ts';
import { journalOf } from './journal-of.ts';
import { ownActionsOf } from './own-actions-of.ts';
import type { Step } from './sequence.ts';
import type { Answered, Answering, Deduplicated, Guarded, Locked, Resolved } from './turn.ts';
import { unknownWrites } from './unknown-writes.ts';

type Turn = Answering & Deduplicated & Locked & Guarded & Resolved;

/** Earlier exchanges that are handed to the agent; a runtime takes what fits its model. */
const HISTORY_TURNS = 50;
/** Longest reply, in characters; what a runtime says beyond it is cut off. */
const REPLY_MAX = 100_000;

/**
 * From message and session to the reply: waits for one of the runs, gives the tools their context, holds the deadline,
 * and hands text and tool progress to the outlet as they come.
 *
 * Adds `reply`, which is empty only if the person stopped it at once. Throws `agent_timeout` past the deadline,
 * `agent_failed` if the runtime fails, `unavailable` if no run is free in time, the daemon stops, or a claim is lost.
 */
export const runAgent: Step<Turn, Answered> = {
  name: 'run-agent',
  async run(turn, services, line) {
    const release = await services.runs.take({ line, patient: turn.patient });
    const timeout_ms = services.settings.AGENT_TIMEOUT_SECONDS * 1000;
    const ends = [services.stopping, turn.lost.signal, ...(turn.stopped ? [turn.stopped] : [])];
    const limit = new TimeLimit(services.clock, timeout_ms, ...ends);
    try {
      const context = requestContextOf(turn, services, limit.signal);
      return await withRequestContext(context, () => converse(turn, services, limit, line));
    } catch (error) {
      throw failureOf(error, turn, services, limit, line);
    } finally {
      limit.lift();
      release();
    }
  },
};

/** Why there is no reply, for the sender and for the trace. */
function failureOf(
  error: unknown,
  turn: Turn,
  services: Services,
  limit: TimeLimit,
  line: StepLine,
): AgentdError {
  if (turn.lost.signal.aborted) {
    line.reason = 'claim_lost';
    return new ClaimLost();
  }
  if (limit.passed) {
    return new AgentdError('agent_timeout', 'The agent took too long to answer.', { cause: error });
  }
  if (services.stopping.aborted) {
    line.reason = 'stopping';
    return new AgentdError('unavailable', 'The daemon is stopping.', { retryAfter: 5 });
  }
  if (error instanceof AgentdError) return error;
  if (error instanceof AgentFailure) {
    line.reason = error.reason;
    line.detail = error.detail;
  } else {
    line.reason = 'runtime_threw';
    line.detail = thrownDetail(error);
  }
  const retryAfter = requestedWait(error);
  return new AgentdError('agent_failed', 'The agent could not answer.', {
    cause: error,
    ...(retryAfter === 0 ? {} : { retryAfter }),
  });
}

/** Where a runtime threw, for its author; not the message, which may quote what a person wrote. */
function thrownDetail(error: unknown): { error: string; at?: string } {
  const at = sourceLocation(error);
  return { error: error instanceof Error ? error.name : typeof error, ...(at === null ? {} : { at }) };
}

async function converse(turn: Turn, services: Services, limit: TimeLimit, line: StepLine): Promise<Answered> {
  const isStopped = () => turn.stopped?.aborted === true;
  const journal = await journalOf(turn, services);
  const pieces = isStopped() ? null : await startRun(turn, services, limit, journal);
  const mask = new StreamMask();
  let reply = '';
  const say = (masked: string) => {
    const text = masked.slice(0, REPLY_MAX - reply.length).toWellFormed();
    if (text === '') return;
    reply += text;
    turn.outlet.text(text);
  };
  while (pieces && !isStopped() && reply.length < REPLY_MAX) {
    const next = await limit.within(pieces.next()).catch((error: unknown) => {
      if (isStopped()) return null;
      throw error;
    });
    if (next === null || isStopped()) break;
    say(next.done ? mask.end() : mask.push(next.value));
    if (next.done) break;
  }
  if (isStopped()) line.reason = 'stopped';
  else if (reply.length >= REPLY_MAX) line.reason = 'reply_cut';
  if (pieces && line.reason !== undefined) leave(pieces, turn, services);
  line.detail = { characters: reply.length };
  if (reply.trim() === '' && !isStopped())
    throw new AgentFailure('empty_reply', 'the agent runtime ended without a word');
  const { principal } = turn;
  const texts = services.texts.in(principal.person === null ? null : principal.claims.locale);
  const unknown = unknownWrites(journal, texts);
  if (unknown === '' || (isStopped() && reply === '')) return { reply, stopped: isStopped() };
  const end = reply === '' ? unknown : `\n\n${unknown}`;
  turn.outlet.text(end);
  return { reply: reply + end, stopped: isStopped() };
}

async function startRun(
  turn: Turn,
  services: Services,
  limit: TimeLimit,
  journal: TurnJournal,
): Promise<AsyncIterator<string>> {
  return services.agent.run(await agentTurn(turn, services, limit, journal))[Symbol.asyncIterator]();
}

/** Ends a runtime early. Not awaited: one that does not end must not hold the reply that is there. */
function leave(pieces: AsyncIterator<string>, { request_id }: Turn, { log }: Services): void {
  pieces
    .return?.()
    .catch((error: unknown) =>
      log.debug({ request_id, err: error }, 'agent runtime failed while it was ended'),
    );
}

async function agentTurn(
  turn: Turn,
  services: Services,
  { signal, deadline }: TimeLimit,
  journal: TurnJournal,
): Promise<AgentTurn> {
  const { message, principal } = turn;
  const [history, memories] = await Promise.all([
    turn.session_origin !== 'found' ? [] : historyOf(turn, services),
    requestContext()?.memory?.given(message.text) ?? [],
  ]);
  const { user_name, page_url, user_agent, other } = message.metadata;
  // Whatever the run logs is found by the request that started it (agentd-service(7), "Request ids").
  const log = services.log.child({ request_id: turn.request_id });
  return {
    text: message.text,
    history,
    person: principal.person === null ? null : knownOf(principal.claims),
    sign_in_expired:
      principal.person === null &&
      !principal.expiry_notified &&
      (principal.reason === 'stored_token_expired' || principal.token_reason === 'Token Expired'),
    claimed: {
      ...(user_name === undefined ? {} : { user_name }),
      ...(page_url === undefined ? {} : { page_url }),
      ...(user_agent === undefined ? {} : { user_agent }),
      ...(other === undefined ? {} : { other }),
    },
    speaker: message.user_id,
    shared: message.shared ?? false,
    channel: { name: message.platform, markdown: turn.channel.markdown },
    app_name: services.settings.APP_NAME,
    tools: bindTools(services.tools.tools(), {
      tool: (progress) => turn.outlet.tool(progress),
      audience: { memory_of: rememberedBy(turn)?.key ?? null, shared: message.shared ?? false },
      access: services.tools.access,
      journal,
      confirmation: null,
      clock: services.clock,
      trace: turn.trace,
      signal,
      log,
    }),
    already_done: journal.alreadyDone,
    memories,
    signal,
    deadline,
    log,
  };
}

/**
 * The earlier turns that this run may see (agentd-message(7), "History"): turns of a person in
 * that person's runs only. Whoever knows a session id that a client chose may write there as nobody, so a person's run
 * sees nothing of that; before sign-in the same holds for a generated id, so those turns are marked.
 */
async function historyOf(
  { session, principal, channel }: Turn,
  services: Services,
): Promise<AgentTurn['history']> {
  const { person } = principal;
  const reader = { person, nobodys: channel.has_platform || session.generated };
  const isBeforeSignIn = (past: StoredTurn) =>
    !channel.has_platform && person !== null && past.person === null;
  const turns = await services.store.sessions.history(session.session_id, reader, HISTORY_TURNS);
  return turns.map((past) => ({
    user: past.text,
    speaker: past.user_id,
    reply: past.reply ?? '',
    ...(isBeforeSignIn(past) ? { before_sign_in: true as const } : {}),
  }));
}

function knownOf(claims: {
  email: string;
  name?: string;
  locale?: string;
  timezone?: string;
}): AgentTurn['person'] {
  const { email, name, locale, timezone } = claims;
  return {
    email,
    ...(name === undefined ? {} : { name }),
    ...(locale === undefined ? {} : { locale }),
    ...(timezone === undefined ? {} : { timezone }),
  };
}

/** For whom this run remembers; null: nobody is known, or others read along. */
function rememberedBy({ message, principal, channel }: Turn): MemoryOwner | null {
  // A platform may write one id in several ways.
  const [user_id = message.user_id] = writingsOf(channel, message.user_id);
  return memoryOwner({
    person: principal.person,
    platform: channel.has_platform ? channel.name : null,
    user_id,
    alias_id: message.alias_id ?? null,
    shared: message.shared ?? false,
  });
}

function memoryOf(turn: Turn, { memory }: Services, signal: AbortSignal): RunMemory | null {
  const owner = rememberedBy(turn);
  if (owner === null || memory === null) return null;
  const { turn_id, request_id, trace } = turn;
  return memory.ofRun({ owner, turn_id, request_id, trace, signal });
}

function requestContextOf(turn: Turn, services: Services, signal: AbortSignal): RequestContext {
  const { session, message, principal, trace, request_id, changes } = turn;
  const isUnsaved = changes.session !== undefined;
  return {
    session_id: session.session_id,
    user_id: message.user_id,
    app_name: services.settings.APP_NAME,
    // A session that is stored with this turn cannot be found in the store yet.
    session_service: isUnsaved ? { find: async () => session } : services.store.sessions,
    acts_for: principal.person,
    acts_for_nobody_because: principal.person === null ? principal.reason : null,
    own_actions: ownActionsOf(turn),
    memory: memoryOf(turn, services, signal),
    trace,
    request_id,
    signal,
  };
}
