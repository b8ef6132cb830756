import type { AgentRuntime } from '../../../agent/index.ts';
import { estimateTokens } from '../../agent/model-meter.ts';
import { fittingExchanges } from '../../agent/prompt.ts';
import { type StoredTurn, sessionTag } from '../../session/session.ts';
import { maskTokens } from '../../settings/secret.ts';
import type { Summary } from '../../store/sessions/summaries.ts';
import { TimeLimit } from '../../time/time-limit.ts';
import { Trace } from '../../trace/trace.ts';
import type { StepLine } from '../../trace/trace-record.ts';
import type { Services } from '../services.ts';
import type { Answered, Answering, Resolved } from '../turn.ts';
import { buildTrace } from '../turn-trace.ts';
import { HISTORY_TURNS, isBeforeSignIn, isTaintedHistory, summaryOwner, toPastExchange } from './history.ts';
import { createTurnMeter } from './run.ts';

/** Maximum length of a summary, in characters. */
const SUMMARY_MAX = 4000;
/**
 * Maximum number of summaries that a daemon makes at a time. Beyond that, a session gets its summary after a later
 * turn.
 */
const AT_ONCE = 4;

type Turn = Answering & Resolved & Answered;
type SummaryServices = Pick<
  Services,
  'agent' | 'store' | 'settings' | 'seal' | 'clock' | 'log' | 'observer' | 'texts'
>;

/**
 * The part of a conversation to summarize: its oldest turns. The other turns then easily fit into the room for history.
 */
interface Overflow {
  owner: string;
  /** The existing summary of everything before these turns; null if there is none. */
  summary: Pick<Summary, 'text' | 'tainted'> | null;
  turns: readonly StoredTurn[];
}

/**
 * Summarizes the turns that do not fit into the history of a session. This happens in the background, after the reply
 * was sent. If a summary fails or is lost, it is made after a later turn. Until then, the oldest turns are left out of
 * the history.
 */
export class HistorySummaries {
  readonly #services: () => SummaryServices;
  readonly #running = new Map<string, Promise<void>>();
  readonly #stop = new AbortController();

  /** @param services the services that are in use now. Each summary is made with one state of them. */
  constructor(services: () => SummaryServices) {
    this.#services = services;
  }

  /** Must be called after a turn was stored and its reply was sent. Never throws, never waits. */
  afterTurn(turn: Turn, record: StoredTurn): void {
    const services = { ...this.#services() };
    const { agent } = services;
    const tag = sessionTag(turn.session);
    if (!agent.summarize || this.#stop.signal.aborted) return;
    if (this.#running.size >= AT_ONCE || this.#running.has(tag)) return;
    const overflow = findOverflow(turn, record, services);
    if (overflow === null) return;
    const work = this.#summarize(turn, overflow, services, agent.summarize.bind(agent)).finally(() =>
      this.#running.delete(tag),
    );
    this.#running.set(tag, work);
  }

  /** Resolves when no summary is being made. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.values());
  }

  /** Aborts the summaries that are being made. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('the daemon is stopping'));
    await this.idle();
  }

  /** Makes and stores a summary. Never rejects. */
  async #summarize(
    turn: Turn,
    overflow: Overflow,
    services: SummaryServices,
    summarize: NonNullable<AgentRuntime['summarize']>,
  ): Promise<void> {
    const { store, settings, clock, log } = services;
    const tag = sessionTag(turn.session);
    const ttl_ms = settings.AGENT_TIMEOUT_SECONDS * 1000;
    const started_at = clock.now();
    const span = turn.span?.child('summarize') ?? null;
    const trace = new Trace(clock, [], span);
    const line: StepLine = { verdict: 'ok', detail: { turns: overflow.turns.length } };
    const limit = new TimeLimit(clock, ttl_ms, [this.#stop.signal]);
    const isLost = async () => (await store.sessions.find(tag)) === null;
    const meter = createTurnMeter(turn, services, trace, { deadline: limit.deadline, isLost });
    try {
      const token = await store.summaries.begin(tag, ttl_ms);
      if (token === null) return;
      const said = summarize({
        summary: overflow.summary?.text ?? null,
        exchanges: overflow.turns.map((past) => toPastExchange(past, turn, services)),
        max_characters: SUMMARY_MAX,
        meter,
        signal: limit.signal,
        deadline: limit.deadline,
        log: log.child({ request_id: turn.request_id }),
      });
      const text = maskTokens((await limit.within(said)).trim())
        .slice(0, SUMMARY_MAX)
        .toWellFormed();
      const last = overflow.turns.at(-1);
      if (text === '' || !last) throw new Error('the summary is empty');
      const summary = {
        principal: overflow.owner,
        text,
        tainted: isTaintedHistory(overflow),
        through_turn: last.turn_id,
        through_at: last.finished_at,
      };
      if (!(await store.summaries.keep(tag, token, summary))) line.reason = 'session_ended_meanwhile';
    } catch (err) {
      line.verdict = 'failed';
      line.reason = 'not_summarized';
      log.warn({ request_id: turn.request_id, err }, 'the history of a session could not be summarized');
    } finally {
      limit.lift();
      await meter.settled();
    }
    const ended = { step: 'summarize', ...line, took_ms: clock.now() - started_at };
    trace.note(ended);
    span?.end({ at: clock.now(), ...ended });
    const record = buildTrace({ ...turn, trace, started_at }, 'summarized', clock.now());
    // `true` because a summary is not a separate message, so no message has ended.
    services.observer.turnTraced(record, true);
    await store.traces.keep(record).catch((err: unknown) => {
      log.warn({ request_id: turn.request_id, err }, 'the trace of a summary could not be stored');
    });
  }
}

/**
 * The turns to summarize. Null if the history has room for everything, the conversation has no owner, or there was no
 * run.
 */
function findOverflow(turn: Turn, record: StoredTurn, services: SummaryServices): Overflow | null {
  const owner = summaryOwner(turn);
  const { history } = turn;
  if (owner === null || history === null) return null;
  const past = history.turns.filter((one) => !isBeforeSignIn(one, turn));
  const { summary } = history;
  const turns = [...past, record];
  const exchanges = turns.map((one) => toPastExchange(one, turn, services));
  const room = services.settings.AGENT_HISTORY_TOKENS - estimateTokens(summary?.text ?? '');
  if (turns.length < HISTORY_TURNS && fittingExchanges(exchanges, room).length === turns.length) return null;
  // Leaves half of the room free, so that a summary is not needed again after each turn.
  const kept = Math.min(fittingExchanges(exchanges, room / 2).length, HISTORY_TURNS / 2);
  return { owner, summary, turns: turns.slice(0, turns.length - kept) };
}
