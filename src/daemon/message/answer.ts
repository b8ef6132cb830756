import type { ChannelPlugin } from '../../channel/index.ts';
import { AgentdError, type ErrorCode } from '../errors.ts';
import type { Services } from '../services.ts';
import { shortId } from '../session/ids.ts';
import { Trace } from '../trace/trace.ts';
import { keepTurn, traceRecord } from './keep-turn.ts';
import type { Sequence } from './sequence.ts';
import { steps } from './steps.ts';
import type { Arrived, Bound, Opened } from './turn.ts';

/** What a door knows of a message that has arrived; the rest of the turn is made here. */
export type Arrival = Omit<Arrived, 'channel' | 'trace' | 'started_at' | 'onEnd'>;

/** Takes a message all the way. Throws the problem that ended the turn, once it is logged and kept. */
export function answer(plugin: ChannelPlugin, services: Services, arrival: Arrival): Promise<void> {
  return takeSteps(plugin, services, arrival, steps, (turn) => reportAnswer(turn, services));
}

/**
 * Takes a message through these steps, then reports, and gives back what the steps have taken, however it
 * ends. Throws the problem that ended it, once that is logged and kept.
 */
export async function takeSteps<Arriving extends Arrival>(
  plugin: ChannelPlugin,
  services: Services,
  arrival: Arriving,
  sequence: Pick<Sequence<Arrived>, 'run'>,
  report: (turn: Arriving & Arrived) => Promise<void>,
): Promise<void> {
  const giveBack: ((failed: boolean) => Promise<void>)[] = [];
  const turn: Arriving & Arrived = {
    ...arrival,
    channel: {
      name: plugin.name,
      space: plugin.capabilities.space ?? plugin.name,
      capabilities: plugin.capabilities,
      linking: plugin.linking,
    },
    trace: new Trace(services.clock, arrival.stream?.trace),
    started_at: services.clock.now(),
    onEnd: (back) => giveBack.push(back),
  };
  let failed = false;
  try {
    await sequence.run(turn, services);
    await report(turn);
  } catch (error) {
    failed = true;
    await keepFailure(turn, error, services);
    throw error;
  } finally {
    // Last taken, first given back; one that fails must not keep the others.
    for (const back of giveBack.reverse()) {
      await back(failed).catch((error: unknown) =>
        services.log.error({ ...describe(turn), err: error }, 'could not give back'),
      );
    }
  }
}

async function reportAnswer(turn: Arrived & Partial<Bound>, services: Services): Promise<void> {
  if (turn.acting) {
    const credentials = turn.acting.person === null ? 'default' : 'user';
    services.log.info({ ...describe(turn), credentials }, 'message answered');
    return;
  }
  // Ended early with an earlier answer: there is no turn to keep the trace with.
  services.log.info(describe(turn), 'message answered again');
  await keepTrace(turn, 'replayed', services);
}

/**
 * A failed turn is kept where it got as far as its session and is not begun again; else its trace is, to be
 * found by its request.
 */
async function keepFailure(
  turn: Arrived & Partial<Opened & Bound>,
  error: unknown,
  services: Services,
): Promise<void> {
  const code: ErrorCode = error instanceof AgentdError ? error.code : 'internal_error';
  const line = { ...describe(turn), code, err: error };
  if (code === 'internal_error' || code === 'agent_failed' || code === 'agent_timeout')
    services.log.error(line, 'message failed');
  // The guard tells when it begins to block; a line for each message would be a flood of its own.
  else if (code === 'loop_guard_blocked') services.log.debug({ ...describe(turn), code }, 'message refused');
  else services.log.info({ ...describe(turn), code }, 'message refused');
  try {
    if (turn.acting && turn.session && !turn.inbox?.willRunAgain(error)) {
      await keepTurn(turn as Arrived & Opened & Bound, services, { outcome: 'failed', failure: code });
    } else {
      await keepTrace(turn, code, services);
    }
  } catch (storeError) {
    services.log.warn(
      { ...describe(turn), err: storeError },
      'the trace of a failed message could not be kept',
    );
  }
}

/** A platform signs what it sends; anybody can send the other messages, and have them refused. */
function keepTrace(turn: Arrived, outcome: string, { store, clock }: Services): Promise<void> {
  const record = traceRecord(turn, outcome, clock.now());
  return turn.inbox ? store.traces.keep(record) : store.traces.keepRefused(record);
}

function describe(turn: Arrived): Record<string, unknown> {
  return {
    request_id: turn.request_id,
    channel: turn.channel.name,
    session: shortId(turn.session_id),
    took_ms: Date.now() - turn.started_at,
    ...(turn.stream ? { opened_by: turn.stream.opened_by } : {}),
  };
}
