import type { RequestContext, RunTaint } from '../../agent/context.ts';
import type { RunMemory } from '../../agent/long-term-memory.ts';
import { budgetKey, type MeterParts, RunMeter } from '../../agent/model-meter.ts';
import { type MemoryOwner, memoryOwner } from '../../identity/memory-owner.ts';
import { writingsOf } from '../../linking/link-ids.ts';
import type { OwnActions } from '../../store/actions.ts';
import type { ConfirmationDesk } from '../../tools/confirmation/desk.ts';
import { ownJournal } from '../../tools/journal/own-journal.ts';
import { TurnJournal } from '../../tools/journal/turn-journal.ts';
import type { ToolRun } from '../../tools/perform-call.ts';
import type { Trace } from '../../trace/trace.ts';
import { turnKey } from '../keys.ts';
import type { Services } from '../services.ts';
import type { Answering, Arrived, Deduplicated, Locked, Resolved, Runnable } from '../turn.ts';
import type { Run } from './agent-turn.ts';

/** The context of a run: what its tools may read about the message. */
export function requestContextOf(
  turn: Runnable,
  services: Services,
  signal: AbortSignal,
  taint: RunTaint,
): RequestContext {
  const { session, message, principal, request_id, changes } = turn;
  const isUnsaved = changes.session !== undefined;
  const own = ownActionsOf(turn);
  return {
    session_id: session.session_id,
    user_id: message.user_id,
    app_name: services.settings.APP_NAME,
    // A session that will be stored with this turn cannot be found in the store yet.
    readSession: async () => (isUnsaved ? session : services.store.sessions.find(session.session_id)),
    acts_for: principal.person,
    acts_for_nobody_because: principal.person === null ? principal.reason : null,
    own_journal: own === null ? null : ownJournal(own, services),
    memory: memoryOf(turn, services, signal, taint),
    taint,
    request_id,
  };
}

function memoryOf(
  turn: Runnable,
  services: Services,
  signal: AbortSignal,
  taint: RunTaint,
): RunMemory | null {
  const owner = memoryOwnerOf(turn);
  const { memory } = services;
  if (owner === null || memory === null) return null;
  const { turn_id, request_id, trace } = turn;
  return memory.ofRun({ owner, turn_id, request_id, trace, signal, taint, isLost: lossOf(turn, services) });
}

/**
 * The actions in the journal that the sender may read: the actions of the person for whom the message acts. Without a
 * person, the actions that a platform's verified user caused while not linked. Null if the sender's identity is only
 * claimed by the client, or if other people can read the answer.
 */
export function ownActionsOf({
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
export function memoryOwnerOf({ message, principal, channel }: Arrived & Resolved): MemoryOwner | null {
  // A platform may write the same id in several ways.
  const [user_id = message.user_id] = writingsOf(channel, message.user_id);
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
export function lossOf(
  { claim }: Locked,
  { store: { sessions } }: Pick<Services, 'store'>,
): () => Promise<boolean> {
  return async () => !(await sessions.renew(claim));
}

/** The data of a turn that the policy of tool calls needs. */
export function toolRunOf(
  turn: Runnable,
  { tools, clock, log }: Services,
  { context, limit: { signal }, calls }: Pick<Run, 'context' | 'limit' | 'calls'>,
  {
    confirmation,
    journal,
    showPage,
  }: Pick<ToolRun, 'showPage'> & { confirmation: ConfirmationDesk; journal: TurnJournal },
): ToolRun {
  return {
    context,
    tool: (progress) => turn.outlet.tool(progress),
    audience: { memory_of: memoryOwnerOf(turn)?.key ?? null, shared: turn.message.shared ?? false },
    record: (call) => calls.add(call),
    access: tools.access,
    confirmation,
    showPage,
    journal,
    clock,
    trace: turn.trace,
    signal,
    // Each log line of a run has the id of the request that started it (agentd-service(7), "Request ids").
    log: log.child({ request_id: turn.request_id }),
  };
}

/** The journal of this run. It includes the writes of earlier runs of the message. */
export function journalOf(
  turn: Answering & Deduplicated & Locked & Resolved,
  { store, seal }: Pick<Services, 'store' | 'seal'>,
): TurnJournal {
  const { claim, begun, key, message, session_id, principal } = turn;
  const run = {
    turn_key: turnKey(turn),
    earlier: begun.earlier,
    claims: { session: claim, key },
    session_id,
    platform: message.platform,
    user_id: message.user_id,
    alias_id: message.alias_id ?? null,
    person: principal.person,
  };
  const { actions, lieTogether } = store;
  return new TurnJournal(run, { actions, lieTogether, seal });
}

/**
 * The meter of the model calls of a turn. Their tokens count toward AGENT_DAILY_TOKENS of the sender.
 * @param deadline when reservations expire, ms since the epoch.
 * @param isLost whether the turn can no longer store anything.
 */
export function meterOfTurn(
  { channel, address, principal, message }: Answering & Resolved,
  { clock, log, settings, store, texts }: Pick<Services, 'clock' | 'log' | 'settings' | 'store' | 'texts'>,
  trace: Trace,
  { deadline, isLost }: Pick<MeterParts, 'deadline' | 'isLost'>,
): RunMeter {
  const max = settings.AGENT_DAILY_TOKENS;
  const key = budgetKey({ person: principal.person, channel, user_id: message.user_id, address });
  const budget = max === 0 ? null : { store: store.budgets, key, max };
  const claimed = principal.person === null ? null : principal.claims.locale;
  const said = texts.in(claimed, message.locale);
  return new RunMeter({ trace, clock, log, budget, deadline, isLost, texts: said });
}
