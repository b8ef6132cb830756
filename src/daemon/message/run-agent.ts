import { AgentFailure, type AgentTurn, type ConfirmedAction } from '../agent/agent.ts';
import { type RequestContext, requestContext, withRequestContext } from '../agent/context.ts';
import type { RunMemory } from '../agent/long-term-memory.ts';
import type { RunMeter } from '../agent/model-meter.ts';
import { requestedWait } from '../agent/requested-wait.ts';
import { confirmationGone } from '../confirmation/confirmation-gone.ts';
import { confirmerOf } from '../confirmation/confirmer.ts';
import { Desk } from '../confirmation/desk.ts';
import { plainQuestion } from '../confirmation/question.ts';
import { questionText } from '../confirmation/question-text.ts';
import { summaryOf } from '../confirmation/summary-of.ts';
import { AgentdError, StoreUnavailable } from '../errors.ts';
import { type MemoryOwner, memoryOwner } from '../identity/memory-owner.ts';
import { ownJournal } from '../journal/own-journal.ts';
import type { TurnJournal } from '../journal/turn-journal.ts';
import { writingsOf } from '../linking/link-ids.ts';
import { StreamMask } from '../secret.ts';
import type { Services } from '../services.ts';
import { sourceLocation } from '../source-location.ts';
import { ClaimLost } from '../store/claim-lost.ts';
import { TimeLimit } from '../time-limit.ts';
import { bindTools, type ToolRun } from '../tools/bind-tools.ts';
import type { StepLine } from '../trace/trace-record.ts';
import { carryOut } from './carry-out.ts';
import { journalOf } from './journal-of.ts';
import { meterOfTurn } from './meter-of-turn.ts';
import { ownActionsOf } from './own-actions-of.ts';
import { reportAction } from './report-action.ts';
import { pastExchange, type RunHistory, readHistory } from './run-history.ts';
import type { Step } from './sequence.ts';
import type { Answered, Answering, Deduplicated, Guarded, Locked, Resolved, Settled } from './turn.ts';
import { turnKey } from './turn-key.ts';
import { unknownWrites } from './unknown-writes.ts';

type Turn = Answering & Deduplicated & Locked & Guarded & Resolved & Settled;

/** Longest reply, in characters; what a runtime says beyond it is cut off. */
const REPLY_MAX = 100_000;

/**
 * From message and session to the reply: waits for one of the runs, gives the tools their context, holds the deadline,
 * and hands text and tool progress to the outlet as they come. The call of a confirmed action is made first, and the agent
 * is told what came of it. If a call waits for the person, the reply ends with the question.
 *
 * Adds `reply`, which is empty only if the person stopped it at once. Throws `agent_timeout` past the deadline,
 * `agent_failed` if the runtime fails, `unavailable` if no run is free in time, the daemon stops, or a claim is lost.
 */
export const runAgent: Step<Turn, Answered> = {
  name: 'run-agent',
  async run(turn, services, line) {
    const { settlement } = turn;
    if (settlement.kind === 'said' || (settlement.kind === 'declined' && settlement.ends)) {
      line.reason = 'no_run_needed';
      return { ...onlySaid(turn, settlement.text), history: null, usage: null };
    }
    const release = await services.runs.take({ line, patient: turn.patient });
    const timeout_ms = services.settings.AGENT_TIMEOUT_SECONDS * 1000;
    const ends = [services.stopping, turn.lost.signal, ...(turn.stopped ? [turn.stopped] : [])];
    const limit = new TimeLimit(services.clock, timeout_ms, ...ends);
    const meter = meterOfTurn(turn, services, turn.trace, limit.deadline);
    try {
      const history = await readHistory(turn, services);
      const context = requestContextOf(turn, services, limit.signal);
      const answered = await withRequestContext(context, () =>
        converse(turn, services, { limit, meter, history }, line),
      );
      return { ...answered, history, usage: meter.usage };
    } catch (error) {
      throw failureOf(error, turn, services, limit, line);
    } finally {
      await meter.settled();
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

/** What the person is answered; the rest is known once the run has ended. */
type Said = Omit<Answered, 'usage' | 'history'>;

function onlySaid({ outlet }: Turn, reply: string): Said {
  outlet.text(reply);
  return { reply, stopped: false, asked: null };
}

/** What a run is given, and held to. */
interface Run {
  limit: TimeLimit;
  meter: RunMeter;
  history: RunHistory;
}

async function converse(turn: Turn, services: Services, run: Run, line: StepLine): Promise<Said> {
  const { limit } = run;
  const isStopped = () => turn.stopped?.aborted === true;
  const desk = deskOf(turn, services);
  const journal = journalOf(turn, services);
  const tools = toolRun(turn, services, limit, { confirmation: desk, journal });
  const { settlement } = turn;
  let confirmed: ConfirmedAction | null = null;
  if (settlement.kind === 'confirmed' && !isStopped()) {
    const { action } = settlement;
    const answer = await carryOut(settlement, turn, services, tools);
    if (answer === null) return noLongerWaits(turn);
    confirmed = { tool: action.tool, summary: summaryOf(action, services.seal), answer };
  }
  const mask = new StreamMask();
  let reply = '';
  const say = (masked: string) => {
    const text = masked.slice(0, REPLY_MAX - reply.length).toWellFormed();
    if (text === '') return;
    reply += text;
    turn.outlet.text(text);
  };
  /** A text of the daemon, which is never cut. */
  const add = (text: string) => {
    const piece = reply === '' ? text : `\n\n${text}`;
    reply += piece;
    turn.outlet.text(piece);
  };
  const reported: string[] = [];
  if (settlement.kind === 'declined') say(`${settlement.text}\n\n`);
  const before = reply.length;
  let pieces: AsyncIterator<string> | null = null;
  try {
    if (!isStopped()) pieces = await startRun(turn, services, run, { tools, confirmed });
    while (pieces && !isStopped() && reply.length < REPLY_MAX) {
      const next = await limit.within(pieces.next()).catch((error: unknown) => {
        if (isStopped()) return null;
        throw error;
      });
      if (next === null || isStopped()) break;
      say(next.done ? mask.end() : mask.push(next.value));
      if (next.done) break;
    }
    if (reply.slice(before).trim() === '' && !isStopped() && desk.kept === null)
      throw new AgentFailure('empty_reply', 'the agent runtime ended without a word');
  } catch (error) {
    if (settlement.kind !== 'confirmed' || confirmed === null || mustEnd(turn, services)) throw error;
    // The action was carried out: the person must not read that the message failed.
    line.reason = failureOf(error, turn, services, limit, line).code;
    line.verdict = 'fallback';
    const text = await reportAction(settlement.action.action_id, confirmed.summary, turn, services);
    say(mask.end());
    add(text);
    reported.push(settlement.action.action_id);
  }
  if (isStopped()) line.reason = 'stopped';
  else if (reply.length >= REPLY_MAX) line.reason = 'reply_cut';
  if (pieces && line.reason !== undefined) leave(pieces, turn, services);
  line.detail = { ...line.detail, characters: reply.length };
  await recordAgain(journal, turn, services);
  const unknown = unknownWrites(journal, turn.texts, reported);
  if (unknown !== '' && !(isStopped() && reply === '')) add(unknown);
  const question = isStopped() ? null : askedBy(desk, turn);
  if (question === null) return { reply, stopped: isStopped(), asked: null };
  add(question.text);
  const begins_at = reply.length - question.text.length;
  return { reply, stopped: false, asked: { ...question.asked, begins_at } };
}

/** The reply would never be stored. */
function mustEnd({ lost }: Turn, { stopping }: Services): boolean {
  return lost.signal.aborted || stopping.aborted;
}

/** It was answered, withdrawn or expired since settle-pending looked. @throws `confirmation_gone` to a web client's button */
function noLongerWaits(turn: Turn): Said {
  if (turn.message.confirm && !turn.channel.has_platform) throw confirmationGone();
  return onlySaid(turn, turn.texts.say('confirm_gone'));
}

/** The question that ends a reply, if a call of the run waits for the person. */
function askedBy(
  { kept }: Desk,
  { texts }: Turn,
): { text: string; asked: Omit<NonNullable<Answered['asked']>, 'begins_at'> } | null {
  if (kept === null) return null;
  const asked = {
    action: kept.action,
    summary: plainQuestion(kept.question),
    buttons: { confirm: texts.say('confirm_button'), decline: texts.say('decline_button') },
  };
  return { text: questionText(kept.question, texts), asked };
}

function deskOf(turn: Turn, { seal }: Services): Desk {
  const { principal, session_tag, session, message, still_waits } = turn;
  const asking = {
    confirmer: confirmerOf(turn),
    still_waits,
    session_tag,
    session_id: session.session_id,
    platform: message.platform,
    user_id: message.user_id,
    alias_id: message.alias_id ?? null,
    person: principal.person,
    turn_key: turnKey(turn),
  };
  return new Desk(asking, seal);
}

/** What this run brings along for the agent. */
interface Prepared {
  tools: ToolRun & { journal: TurnJournal };
  confirmed: ConfirmedAction | null;
}

/** Outcomes that cannot be recorded are unknown to operators; the reply says what is known. */
async function recordAgain(journal: TurnJournal, { request_id }: Turn, { log }: Services): Promise<void> {
  try {
    await journal.recordAgain();
  } catch (err) {
    if (!(err instanceof StoreUnavailable)) throw err;
    log.warn({ request_id, err }, 'the outcome of a write could not be recorded');
  }
}

async function startRun(
  turn: Turn,
  services: Services,
  run: Run,
  prepared: Prepared,
): Promise<AsyncIterator<string>> {
  return services.agent.run(await agentTurn(turn, services, run, prepared))[Symbol.asyncIterator]();
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
  { limit: { signal, deadline }, meter, history }: Run,
  { tools, confirmed }: Prepared,
): Promise<AgentTurn> {
  const { message, principal } = turn;
  const memories = (await requestContext()?.memory?.given(message.text)) ?? [];
  const { user_name, page_url, user_agent, other } = message.metadata;
  return {
    text: message.text,
    history: history.turns.map((past) => pastExchange(past, turn)),
    summary: history.summary?.text ?? null,
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
    tools: bindTools(services.tools.tools(), tools),
    confirmed,
    already_done: tools.journal.alreadyDone,
    meter,
    memories,
    signal,
    deadline,
    log: tools.log,
  };
}

function toolRun<Parts extends Pick<ToolRun, 'journal' | 'confirmation'>>(
  turn: Turn,
  services: Services,
  { signal }: TimeLimit,
  parts: Parts,
): ToolRun & Parts {
  return {
    tool: (progress) => turn.outlet.tool(progress),
    audience: { memory_of: rememberedBy(turn)?.key ?? null, shared: turn.message.shared ?? false },
    access: services.tools.access,
    ...parts,
    clock: services.clock,
    trace: turn.trace,
    signal,
    // Whatever the run logs is found by the request that started it (agentd-service(7), "Request ids").
    log: services.log.child({ request_id: turn.request_id }),
  };
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
  const own = ownActionsOf(turn);
  return {
    session_id: session.session_id,
    user_id: message.user_id,
    app_name: services.settings.APP_NAME,
    // A session that is stored with this turn cannot be found in the store yet.
    session_service: isUnsaved ? { find: async () => session } : services.store.sessions,
    acts_for: principal.person,
    acts_for_nobody_because: principal.person === null ? principal.reason : null,
    own_journal: own === null ? null : ownJournal(own, services),
    memory: memoryOf(turn, services, signal),
    trace,
    request_id,
    signal,
  };
}
