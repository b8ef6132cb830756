import { AgentFailure, type AgentTurn } from '../agent/agent.ts';
import { bindTools } from '../agent/bind-tools.ts';
import { type RequestContext, withRequestContext } from '../agent/context.ts';
import { requestedWait } from '../agent/requested-wait.ts';
import { AgentdError } from '../errors.ts';
import { StreamMask } from '../secret.ts';
import type { Services } from '../services.ts';
import { sourceLocation } from '../source-location.ts';
import type { StepLine } from '../trace/trace-record.ts';
import { limitRun, type RunLimit } from './run-limit.ts';
import type { Step } from './sequence.ts';
import type { Answered, Arrived, Bound, Guarded, Opened } from './turn.ts';

type Turn = Arrived & Opened & Guarded & Bound;

/** Earlier exchanges that are handed to the agent; a runtime takes what fits its model. */
const HISTORY_TURNS = 50;
/** Longest reply, in characters; what a runtime says beyond it is cut off. */
const REPLY_MAX = 100_000;

const STOPPED = { done: true, value: undefined } as const;

/**
 * From message and session to the reply: waits for one of the runs, gives the tools their context, holds
 * the deadline, tells the reader the words and the tool progress as they come.
 *
 * Adds `reply`, never empty but where the person stopped it at once. Throws `agent_timeout` past the deadline,
 * `agent_failed` when the runtime fails, `unavailable` when no run is free in time or the daemon stops.
 */
export const runAgent: Step<Turn, Answered> = {
  name: 'run-agent',
  async run(turn, services, line) {
    const giveBack = await services.queue.takeRun(line, turn.inbox ? services.stopping : undefined);
    const timeout_ms = services.settings.AGENT_TIMEOUT_SECONDS * 1000;
    const limit = limitRun(timeout_ms, services.stopping, turn.stream?.stopped ?? null);
    try {
      turn.stream?.begin();
      const context = requestContextOf(turn, services, limit.signal);
      return await withRequestContext(context, () => converse(turn, services, limit, line));
    } catch (error) {
      if (limit.passed) {
        throw new AgentdError('agent_timeout', 'The agent took too long to answer.', { cause: error });
      }
      if (services.stopping.aborted) {
        line.reason = 'stopping';
        throw new AgentdError('unavailable', 'The daemon is stopping.', { retryAfter: 5 });
      }
      if (error instanceof AgentdError) throw error;
      if (error instanceof AgentFailure) {
        line.reason = error.reason;
        line.detail = error.detail;
      } else {
        line.reason = 'runtime_threw';
        line.detail = thrownDetail(error);
      }
      const retryAfter = requestedWait(error);
      throw new AgentdError('agent_failed', 'The agent could not answer.', {
        cause: error,
        ...(retryAfter === 0 ? {} : { retryAfter }),
      });
    } finally {
      limit.lift();
      giveBack();
    }
  },
};

/** Where a runtime threw, for its author; not the message, which may quote what a person wrote. */
function thrownDetail(error: unknown): { error: string; at?: string } {
  const at = sourceLocation(error);
  return { error: error instanceof Error ? error.name : typeof error, ...(at === null ? {} : { at }) };
}

async function converse(turn: Turn, services: Services, limit: RunLimit, line: StepLine): Promise<Answered> {
  const stopped = turn.stream?.stopped;
  if (stopped?.aborted) {
    line.reason = 'stopped';
    return { reply: '', stopped: true };
  }
  const words = services.agent.run(await agentTurn(turn, services, limit))[Symbol.asyncIterator]();
  const patience = new Patience(limit.signal);
  const mask = new StreamMask();
  let reply = '';
  const say = (masked: string) => {
    const text = masked.slice(0, REPLY_MAX - reply.length).toWellFormed();
    if (text === '') return;
    reply += text;
    turn.emit({ type: 'text_chunk', text });
  };
  while (reply.length < REPLY_MAX) {
    const next = await patience.wait(words.next()).catch((error: unknown) => {
      if (stopped?.aborted) return STOPPED;
      throw error;
    });
    say(next.done ? mask.end() : mask.push(next.value));
    if (next === STOPPED) line.reason = 'stopped';
    if (next.done) break;
  }
  if (reply.length >= REPLY_MAX) line.reason = 'reply_cut';
  if (line.reason !== undefined) {
    // Not awaited: a runtime that does not end must not hold the reply that is there.
    words
      .return?.()
      .catch((error: unknown) =>
        services.log.debug(
          { request_id: turn.request_id, err: error },
          'agent runtime failed while it was ended',
        ),
      );
  }
  line.detail = { characters: reply.length };
  if (line.reason === 'stopped') return { reply, stopped: true };
  if (reply.trim() === '') throw new AgentFailure('empty_reply', 'the agent runtime ended without a word');
  return { reply, stopped: false };
}

/** Waits for a runtime, one step at a time. One that ignores its signal must not hold the message beyond that. */
class Patience {
  readonly #signal: AbortSignal;
  #giveUp: ((reason: unknown) => void) | null = null;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    // One for the whole run: it says many words.
    signal.addEventListener('abort', () => this.#giveUp?.(signal.reason), { once: true });
  }

  wait<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      work.then(resolve, reject);
      if (this.#signal.aborted) reject(this.#signal.reason);
      else this.#giveUp = reject;
    });
  }
}

async function agentTurn(turn: Turn, services: Services, { signal, deadline }: RunLimit): Promise<AgentTurn> {
  const { message, acting } = turn;
  const history = turn.session_is_new ? [] : await historyOf(turn, services);
  const { user_name, page_url, user_agent, other } = message.metadata;
  // Whatever the run logs is found by the request that started it (decisions §1).
  const log = services.log.child({ request_id: turn.request_id });
  return {
    text: message.text,
    history,
    person: acting.person === null ? null : knownOf(acting.claims),
    sign_in_expired:
      acting.person === null &&
      !acting.lapse_told &&
      (acting.reason === 'stored_token_expired' || acting.token_reason === 'Token Expired'),
    claimed: {
      ...(user_name === undefined ? {} : { user_name }),
      ...(page_url === undefined ? {} : { page_url }),
      ...(user_agent === undefined ? {} : { user_agent }),
      ...(other === undefined ? {} : { other }),
    },
    speaker: message.user_id,
    shared: message.shared ?? false,
    channel: { name: message.platform, markdown: turn.channel.capabilities.markdown },
    app_name: services.settings.APP_NAME,
    tools: bindTools(services.tools, { emit: turn.emit, trace: turn.trace, signal, log }),
    signal,
    deadline,
    log,
  };
}

/**
 * The earlier turns that this run may see (agentd-message(7), "Whose turns the agent is shown"): turns of a person in
 * that person's runs only. Whoever knows a session id that a client chose may write there as nobody, so a person's run
 * sees nothing of that; before sign-in the same holds for a generated id, so those turns are marked.
 */
async function historyOf(
  { session, acting, channel }: Turn,
  services: Services,
): Promise<AgentTurn['history']> {
  const { person } = acting;
  const ofWeb = channel.capabilities.reply === 'in-request';
  const reader = { person, nobodys: !ofWeb || session.generated };
  const turns = await services.store.sessions.history(session.session_id, reader, HISTORY_TURNS);
  return turns.map((past) => ({
    user: past.text,
    speaker: past.user_id,
    reply: past.reply ?? '',
    ...(ofWeb && person !== null && past.person === null ? { before_sign_in: true as const } : {}),
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

function requestContextOf(turn: Turn, services: Services, signal: AbortSignal): RequestContext {
  const { session, message, acting, trace, request_id } = turn;
  return {
    session_id: session.session_id,
    user_id: message.user_id,
    app_name: services.settings.APP_NAME,
    session_service: services.store.sessions,
    acts_for: acting.person,
    acts_for_nobody_because: acting.person === null ? acting.reason : null,
    trace,
    request_id,
    signal,
  };
}
