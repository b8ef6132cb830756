import { clientTag } from '../session/session.ts';
import { ClaimLost, CommitUnknown } from '../store/failures.ts';
import type { StoredAnswer } from '../store/idempotency.ts';
import type { TurnChanges } from '../store/sessions/turns.ts';
import type { StreamStore } from '../store/streams.ts';
import type { TraceLine, TraceRecord } from '../trace/trace-record.ts';
import type { Arrival } from './arrival.ts';
import type { CompleteReply } from './outlet.ts';
import { keepRecording } from './run/keep-recording.ts';
import { Ended, type Sequence } from './sequence.ts';
import type { Services } from './services.ts';
import { toStoredTurn } from './stored-turn.ts';
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
    turn_id: turn_id ?? null,
    session_id,
    response,
    question,
    receipts: receipts ?? null,
    stopped: false,
    replayed: true,
  };
  turn.outlet.started(session_id);
  const { events } = await turn.outlet.close({ answered: true, reply });
  await append(events, services.store.streams);
  turn.outlet.complete?.(reply);
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
    const record = toStoredTurn(turn, services, { failure, finished_at });
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
