import { runtimeName } from '../agent/load.ts';
import { closeRecording, maskedCopy } from '../agent/recording.ts';
import { AgentdError } from '../errors.ts';
import { clientTag, sessionTag } from '../session/session.ts';
import { ClaimLost, CommitUnknown } from '../store/failures.ts';
import type { StoredAnswer } from '../store/idempotency.ts';
import type { NewRecording } from '../store/recordings.ts';
import type { TurnChanges } from '../store/sessions/turns.ts';
import type { StreamStore } from '../store/streams.ts';
import type { TraceLine, TraceRecord } from '../trace/trace-record.ts';
import type { Arrival } from './arrival.ts';
import type { CompleteReply } from './outlet.ts';
import { Ended, type Sequence } from './sequence.ts';
import type { Services } from './services.ts';
import { storedTurn } from './store-reply.ts';
import type { Answered, Answering, Arrived, Locked, Resolved, Stored } from './turn.ts';
import { buildTrace, endTrace } from './turn-trace.ts';
import { describeTurn, reportFailure, withTurn } from './with-turn.ts';

type Steps<Turn extends Answering> = Sequence<Turn, Turn & Resolved & Answered & Stored, StoredAnswer>;

/**
 * Answers a message with these steps. A failed turn is stored, too, if its principal was resolved, no claim was lost
 * and the message will not run again. Otherwise only its trace is stored. Never rejects.
 * A reload takes effect between two turns: the whole turn uses the services as they are now.
 * @param current the services that are in use now.
 * @param begun the trace of the message so far. Later lines are appended to this array.
 */
export async function runTurn<Turn extends Answering>(
  steps: Steps<Turn>,
  arrival: Arrival<Turn>,
  current: Services,
  begun: TraceLine[] = [],
): Promise<EndedTurn> {
  const services = { ...current };
  const endUse = services.use.begin();
  let isStored = false;
  let ended: Turn | null = null;
  const work = async (turn: Turn) => {
    ended = turn;
    try {
      return await answer(steps, turn, services);
    } catch (error) {
      isStored = await storeFailure(turn, error, services);
      throw error;
    }
  };
  const { name } = arrival.channel;
  services.observer.turnBegan(name);
  try {
    const reply = await withTurn(arrival, services, work, { begun });
    if (ended) keepRecording(ended, null, services);
    return { answered: true, reply };
  } catch (error) {
    if (ended) keepRecording(ended, error, services);
    return { answered: false, error, isStored };
  } finally {
    services.observer.turnEnded(name);
    endUse();
  }
}

type EndedTurn =
  | { answered: true; reply: CompleteReply }
  /** `isStored`: the failed turn is stored, together with the changes of its outlet. */
  | { answered: false; error: unknown; isStored: boolean };

async function answer<Turn extends Answering>(
  steps: Steps<Turn>,
  turn: Turn,
  services: Services,
): Promise<CompleteReply> {
  const found = await steps.run(turn, services);
  if (found instanceof Ended) return replay(turn, found.result, services);
  endTrace(turn, buildTrace(turn, 'answered', services.clock.now()), false, services);
  const credentials = found.principal.person === null ? 'default' : 'user';
  services.log.info({ ...describeTurn(turn, services), credentials }, 'message answered');
  services.summaries.afterTurn(found, found.record);
  return found.complete;
}

/** Replays the first answer. The message leads to no turn, so its trace is stored separately. */
async function replay(
  turn: Answering,
  { turn_id, session_id, response, confirmation, receipts }: StoredAnswer,
  services: Services,
): Promise<CompleteReply> {
  // The trace belongs to the conversation of the answer, not to a generated id that was never used.
  turn.session_id = session_id;
  const question = confirmation ? { confirmation, stored: null } : null;
  const reply = {
    ...{ turn_id: turn_id ?? null, session_id, response, question, receipts: receipts ?? null },
    ...{ stopped: false, replayed: true },
  };
  turn.outlet.started(session_id);
  const { events } = await turn.outlet.close({ answered: true, reply });
  await append(events, services.store.streams);
  turn.outlet.complete(reply);
  services.log.info(describeTurn(turn, services), 'message answered again');
  const trace = buildTrace(turn, 'replayed', services.clock.now());
  endTrace(turn, trace, false, services);
  await storeTrace(turn, trace, services);
  return reply;
}

/** Stores a failed turn. @returns whether the turn is stored. Never rejects. */
async function storeFailure(turn: Answering, error: unknown, services: Services): Promise<boolean> {
  try {
    return await storeFailedTurn(turn, error, services);
  } catch (storeError) {
    warnOfTrace(turn, storeError, services);
    return false;
  }
}

function warnOfTrace(turn: Answering, err: unknown, services: Services): void {
  services.log.warn(
    { ...describeTurn(turn, services), err },
    'the trace of a failed message could not be stored',
  );
}

async function storeFailedTurn(turn: Answering, error: unknown, services: Services): Promise<boolean> {
  const failure = reportFailure(turn, error, services);
  const finished_at = services.clock.now();
  const { runs_again, ...changes } = await turn.outlet.close({ answered: false, error });
  const trace = buildTrace(turn, failure, finished_at);
  endTrace(turn, trace, runs_again === true, services);
  if (isResolved(turn) && !runs_again && mayBeStored(error)) {
    const record = storedTurn(turn, services, { failure, finished_at });
    const all: TurnChanges = { ...turn.changes, ...changes, turn: record, trace };
    if ((await services.sessions.commit(turn.claim, all)) !== 'lost') return true;
  }
  const traced = storeTrace(turn, trace, services);
  // The commit has waited for the store as long as a sender may wait.
  const mayWait = !(error instanceof CommitUnknown);
  await Promise.all([
    mayWait ? traced : void traced.catch((err: unknown) => warnOfTrace(turn, err, services)),
    append(changes.events, services.store.streams),
  ]);
  return false;
}

/**
 * Whether a failed turn may be stored. It must not be stored after a claim was lost. It must not be stored after a
 * commit with an unknown outcome either, because it may be stored already.
 */
function mayBeStored(error: unknown): boolean {
  return !(error instanceof ClaimLost || error instanceof CommitUnknown);
}

function isResolved(turn: Answering & Partial<Locked & Resolved>): turn is Answering & Locked & Resolved {
  return turn.claim !== undefined && turn.principal !== undefined;
}

/**
 * Stores the trace of a message without a turn. Anybody can send messages that are refused, so the store limits their
 * traces. Platforms sign their messages, so traces of their messages are not limited in this way.
 */
export function storeTrace(
  turn: Arrived,
  trace: TraceRecord,
  { store }: Pick<Services, 'store'>,
): Promise<void> {
  if (turn.channel.has_platform) return store.traces.keep(trace);
  const isNobodys = trace.person === undefined && turn.address !== null;
  return store.traces.keepRefused(trace, isNobodys ? clientTag(turn.address as string) : null);
}

async function append(events: TurnChanges['events'], streams: StreamStore): Promise<void> {
  if (events) await streams.append(events.claim, events.events);
}

type EndingTurn = Answering & Partial<Locked & Resolved & Answered>;

/**
 * Stores the recording of a turn that has ended, in the background: a reply never waits for it. `services.running` has
 * the work, so that a daemon that stops waits for it. A recording that cannot be stored is logged and lost.
 * @param error why the turn failed; null if it was answered
 */
function keepRecording(turn: EndingTurn, error: unknown, services: Services): void {
  // The message runs again, here or elsewhere, or its person was erased.
  if (!turn.recording || turn.lost.hasEnded || error instanceof ClaimLost) return;
  const outcome = error === null ? 'answered' : error instanceof AgentdError ? error.code : 'internal_error';
  const work = storeRecording(turn, outcome, services)
    .catch((err: unknown) =>
      services.log.warn({ request_id: turn.request_id, err }, 'the recording of a run could not be stored'),
    )
    .finally(() => services.running.delete(work));
  services.running.add(work);
}

async function storeRecording(turn: EndingTurn, outcome: string, services: Services): Promise<void> {
  if (!turn.recording) return;
  const { recording, session, principal, message, turn_id, request_id } = turn;
  const { seal, settings, secrets, log } = services;
  const warnings = listWarnings(turn.trace.finished());
  const run = recording.recorder.end({
    agent_digest: turn.agent_digest,
    ...{ turn_id, request_id, runtime: runtimeName(settings), reply: turn.reply ?? null, outcome, warnings },
  });
  if (!run || !session || !principal) return;
  if (seal.marks.length === 0) throw new Error('there is no key to seal it with');
  const past = recording.history;
  const stored: NewRecording = {
    ...{ turn_id, request_id, message_id: message.message_id ?? null, platform: message.platform },
    ...{ session_id: session.session_id, session_tag: sessionTag(session) },
    turns: [turn_id, ...past.map((one) => one.turn_id)],
    users: unique([message.user_id, message.alias_id ?? null, ...past.map(({ user_id }) => user_id)]),
    persons: unique([principal.person, ...past.map(({ person }) => person)]),
    provisional: settings.RECORD_RUNS === 'flagged' && outcome === 'answered' && warnings.length === 0,
    content: await closeRecording(seal, maskedCopy(run, secrets)),
  };
  const kept = await services.store.recordings.keep(stored);
  if (kept !== 'kept') log.debug({ request_id, reason: kept }, 'the recording of a run was not stored');
}

function unique<T>(values: readonly (T | null)[]): T[] {
  return [...new Set(values.filter((value) => value !== null))];
}

/** Reasons of calls that are not defects: the person must do something first. */
const ORDINARY: readonly (string | undefined)[] = ['sign_in_needed', 'no_token', 'claim_missing', 'stopped'];

/** The reasons for which somebody should look at the run although it was answered. */
function listWarnings(lines: readonly TraceLine[]): string[] {
  const reasons = lines.flatMap(({ step, verdict, reason = verdict }) => {
    const isCall = step === 'tool' || step === 'downstream';
    const isWarning =
      verdict === 'failed' ||
      (step === 'model' && verdict !== 'ok') ||
      reason === 'reply_cut' ||
      reason === 'claim_without_action';
    return isWarning && !(isCall && ORDINARY.includes(reason)) ? [reason] : [];
  });
  return [...new Set(reasons)];
}
