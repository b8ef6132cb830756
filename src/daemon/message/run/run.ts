import type { AgentTurn } from '../../../agent/index.ts';
import { type RequestContext, RunTaint } from '../../agent/context.ts';
import { budgetKey, type MeterParts, RunMeter } from '../../agent/model-meter.ts';
import type { RunRecorder } from '../../agent/run-recorder.ts';
import { type Claims, type MemoryOwner, memoryOwner, type NobodyReason } from '../../identity/identity.ts';
import { findSendersLink } from '../../linking/find-link.ts';
import { listSpellings } from '../../linking/link-ids.ts';
import type { Action, OwnActions } from '../../store/actions/actions.ts';
import { addLazyMember } from '../../syntax/lazy-member.ts';
import { randomSuffix } from '../../time/clock.ts';
import type { TimeLimit } from '../../time/time-limit.ts';
import type { ServerPage } from '../../tools/answer.ts';
import { bindTools } from '../../tools/bind-tools.ts';
import { ConfirmationDesk } from '../../tools/confirmation/desk.ts';
import { ownJournal, recordedSummary } from '../../tools/journal/action-record.ts';
import { TurnJournal } from '../../tools/journal/turn-journal.ts';
import type { ToolRun } from '../../tools/perform-call.ts';
import type { Trace } from '../../trace/trace.ts';
import { turnKey } from '../keys.ts';
import { principalKey } from '../principal-key.ts';
import type { RunServices, Services } from '../services.ts';
import type { Answering, Arrived, Locked, Resolved, Runnable } from '../turn.ts';
import { isTaintedHistory, type RunHistory, readHistory, toPastExchange } from './history.ts';
import { KeptCalls, RunState } from './record.ts';

/** Maximum number of pages in one reply. The agent can ask for the others again. */
const MAX_PAGES = 3;

/** One run of the agent: what it may read, what it may use, and what its calls leave behind. */
export interface Run {
  limit: TimeLimit;
  meter: RunMeter;
  /** Null if runs are not recorded. */
  recorder: RunRecorder | null;
  history: RunHistory;
  taint: RunTaint;
  /** The calls of this run that later runs get. */
  calls: KeptCalls;
  state: RunState;
  /** The writes of the message, including those of its earlier runs. */
  journal: TurnJournal;
  /** Whether a tool has said that sign-in is needed. */
  sign_in: { needed: boolean };
  /** Keeps the call that the person must confirm. */
  desk: ConfirmationDesk;
  /** The pages that servers ask the person to open, by address. */
  pages: ReadonlyMap<string, ServerPage>;
  /** What the policy of tool calls gets. */
  tools: ToolRun;
}

export async function beginRun(
  turn: Runnable,
  services: RunServices,
  limit: TimeLimit,
  meter: RunMeter,
  recorder: RunRecorder | null,
): Promise<Run> {
  const history = await readHistory(turn, services);
  const taint = new RunTaint();
  // An earlier run of the message may have been tainted, and this run is told what that run wrote. It is also told what
  // waits for the person.
  const isAskedByTainted = turn.open?.actions.some(({ tainted }) => tainted) === true;
  if (isTaintedHistory(history) || turn.begun.earlier.length > 0 || isAskedByTainted) await taint.mark();
  const calls = new KeptCalls(history.calls_bytes);
  const state = new RunState(history.state?.value ?? null);
  const { store, seal, tools, clock, log } = services;
  const { message, principal } = turn;
  const origin = {
    session_tag: turn.session_tag,
    turn_key: turnKey(turn),
    session_id: turn.session.session_id,
    platform: message.platform,
    user_id: message.user_id,
    alias_id: message.alias_id ?? null,
    person: principal.person,
  };
  const claims = { session: turn.claim, key: turn.key };
  const parts = { actions: store.actions, seal, clock };
  const journal = new TurnJournal({ origin, claims, earlier: turn.begun.earlier }, parts);
  const open = turn.open?.actions ?? [];
  const asking = { origin, confirmer: principalKey(turn), open, ...declinedActions(turn) };
  const desk = new ConfirmationDesk(asking, seal, randomSuffix);
  const pages = new Map<string, ServerPage>();
  const sign_in = { needed: false };
  return {
    limit,
    meter,
    recorder,
    history,
    taint,
    calls,
    state,
    journal,
    sign_in,
    desk,
    pages,
    tools: {
      context: requestContext(turn, services, limit, taint),
      progress(progress) {
        if (progress.sign_in_needed) sign_in.needed = true;
        turn.outlet.progress(progress);
      },
      audience: { memory_of: resolveMemoryOwner(turn)?.key ?? null, shared: message.shared ?? false },
      record(call) {
        calls.add(call);
        recorder?.tool({
          tool: call.tool.name,
          effect: call.tool.effect,
          args: call.args,
          answer: call.answer,
        });
      },
      access: tools.access,
      confirmation: desk,
      showPage: (page) => void (pages.size < MAX_PAGES && pages.set(page.url, page)),
      journal,
      clock,
      trace: turn.trace,
      limit,
      // Each log line of a run has the id of the request that started it (agentd-service(7), "Request ids").
      log: log.child({ request_id: turn.request_id }),
    },
  };
}

/**
 * What the person has declined, so that this run does not ask again: by this message, or in the last 10 minutes by a
 * message that was not accepted before this one. A later message of the person may lead to the same action.
 */
function declinedActions(turn: Runnable): { declined: Action[]; declined_tools: string[] } {
  const { settlement, says_more, begun, channel, message, accepted_at } = turn;
  const confirmer = principalKey(turn);
  const isTheirs = ({ principal, user_id }: Action) =>
    principal === confirmer || (channel.has_platform && user_id === message.user_id);
  const earlier = begun.declined.filter(
    (action) => isTheirs(action) && accepted_at <= (action.answered_at ?? 0),
  );
  const now = settlement.declined;
  return { declined: [...earlier, ...now], declined_tools: says_more ? [] : now.map(({ tool }) => tool) };
}

/** What the tools of a run may read about the message. */
function requestContext(
  turn: Runnable,
  { store, seal, clock, log, memory, settings }: RunServices,
  limit: TimeLimit,
  taint: RunTaint,
): RequestContext {
  const { session, message, principal, turn_id, request_id, trace } = turn;
  const own = selectOwnActions(turn);
  const owner = resolveMemoryOwner(turn);
  const isLost = createLossCheck(turn, { store });
  return {
    request_id,
    session_id: session.session_id,
    user_id: message.user_id,
    app_name: settings.APP_NAME,
    // A session that will be stored with this turn cannot be found in the store yet.
    readSession: async () => (turn.changes.session ? session : store.sessions.find(session.session_id)),
    whyUnlinked: () => whyUnlinked(turn, { store, seal, log }),
    acts_for: principal.person,
    acts_for_nobody_because: principal.person === null ? principal.reason : null,
    own_journal: own && ownJournal(own, { store, seal, clock }),
    memory:
      owner === null || memory === null
        ? null
        : memory.ofRun({ owner, turn_id, request_id, trace, limit, taint, isLost }),
    taint,
  };
}

async function whyUnlinked(
  { channel, message, principal: { person } }: Runnable,
  services: Pick<RunServices, 'store' | 'seal' | 'log'>,
): Promise<NobodyReason | null> {
  if (!channel.has_platform) return null;
  const link = await findSendersLink(services, channel, message);
  if (link === null) return 'no_link';
  if (link === 'other_sender') return 'link_of_other_sender';
  return link.person === person ? null : 'other_sender';
}

/**
 * The actions in the journal that the sender may read: the actions of the person for whom the message acts. Without a
 * person, the actions that a platform's verified user caused while not linked. Null if the sender's identity is only
 * claimed by the client, or if other people can read the answer.
 */
export function selectOwnActions({
  principal: { person },
  channel,
  message,
}: Pick<Answering & Resolved, 'principal' | 'channel' | 'message'>): OwnActions | null {
  if (message.shared) return null;
  if (person !== null) return { who: { person }, alias_id: null };
  if (!channel.has_platform) return null;
  const { platform, user_id, alias_id = null } = message;
  return { who: { platform, user_id, nobodys: true }, alias_id };
}

/**
 * The owner of the memories of a run. Null if the sender is not known, or if other people can read the conversation.
 */
function resolveMemoryOwner({ message, principal, channel }: Arrived & Resolved): MemoryOwner | null {
  // A platform may write the same id in several ways.
  const [user_id = message.user_id] = listSpellings(channel, message.user_id);
  return memoryOwner({
    person: principal.person,
    platform: channel.has_platform ? channel.name : null,
    user_id,
    alias_id: message.alias_id ?? null,
    shared: message.shared ?? false,
  });
}

/**
 * Checks whether the run has lost its session, so that its results can no longer be stored: the session was erased with
 * its person, or another daemon has taken it over. The run is also aborted in these cases, but only when its claim is
 * renewed the next time.
 */
export function createLossCheck(
  { claim }: Locked,
  { store: { sessions } }: Pick<RunServices, 'store'>,
): () => Promise<boolean> {
  return async () => !(await sessions.renew(claim));
}

/**
 * The meter of the model calls of a turn. Their tokens count toward AGENT_DAILY_TOKENS of the sender.
 * @param deadline when reservations expire, ms since the epoch.
 * @param isLost whether the turn can no longer store anything.
 */
export function createTurnMeter(
  { channel, address, principal, message }: Answering & Resolved,
  { clock, log, settings, store, texts }: Pick<RunServices, 'clock' | 'log' | 'settings' | 'store' | 'texts'>,
  trace: Trace,
  { deadline, isLost, recorder = null }: Pick<MeterParts, 'deadline' | 'isLost' | 'recorder'>,
): RunMeter {
  const max = settings.AGENT_DAILY_TOKENS;
  const key = budgetKey({ person: principal.person, channel, user_id: message.user_id, address });
  const budget = max === 0 ? null : { store: store.budgets, key, max };
  const claimed = principal.person === null ? null : principal.claims.locale;
  const said = texts.in(claimed, message.locale);
  return new RunMeter({ trace, clock, log, budget, deadline, isLost, recorder, texts: said });
}

/** The message and its context, as a runtime gets them. */
export async function createAgentTurn(
  turn: Runnable,
  services: Pick<Services, 'clock' | 'settings' | 'seal' | 'tools'>,
  { limit, meter, history, state, journal, tools }: Run,
  { confirmed_actions, reportWrites }: Pick<AgentTurn, 'confirmed_actions' | 'reportWrites'>,
): Promise<AgentTurn> {
  const { message, principal } = turn;
  const memories = (await tools.context?.memory?.given(message.text)) ?? [];
  const { user_name, page_url, user_agent, other } = message.metadata;
  const given = {
    agent: turn.agent,
    text: message.text,
    session_id: turn.session.session_id,
    history: history.turns.map((past) => toPastExchange(past, turn, services)),
    summary: history.summary?.text ?? null,
    person: principal.person === null ? null : toPerson(principal.claims),
    principal: principal.person === null ? null : toPrincipal(principal.claims),
    state: state.forRun(limit),
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
    confirmed_actions,
    waiting: waitingActions(turn, services),
    already_done: journal.alreadyDone,
    reportWrites,
    meter,
    memories,
    started_at: services.clock.now(),
    deadline: limit.deadline,
    log: tools.log,
  };
  // Many runtimes never ask for it, and a signal that aborts at the end of each run is expensive.
  return addLazyMember(given, 'signal', () => limit.signal);
}

/** The actions that the person is asked to confirm, and has neither confirmed nor declined. */
function waitingActions({ open }: Runnable, { seal }: Pick<Services, 'seal'>): AgentTurn['waiting'] {
  return (open?.actions ?? []).map((action, index) => ({
    number: index + 1,
    tool: action.tool,
    summary: recordedSummary(seal, action),
  }));
}

function toPrincipal({ sub, tenant_id, roles = [] }: Claims): AgentTurn['principal'] {
  return { sub, tenant_id: tenant_id ?? null, roles: [...roles] };
}

function toPerson({ email, name, locale, timezone }: Claims): AgentTurn['person'] {
  return {
    email,
    ...(name === undefined ? {} : { name }),
    ...(locale === undefined ? {} : { locale }),
    ...(timezone === undefined ? {} : { timezone }),
  };
}
