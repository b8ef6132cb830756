import type {
  ChannelPlugin,
  ChannelRequest,
  ConversationEvent,
  IncomingMessage,
} from '../../channel/index.ts';
import { timeOrderedId } from '../clock.ts';
import { AgentdError, type ErrorCode } from '../errors.ts';
import type { House } from '../house.ts';
import { placeOf } from '../http/arrivals.ts';
import { validatedOf } from '../http/rate-limit.ts';
import { maskTokens } from '../secret.ts';
import { generateSessionId, shortId } from '../session/ids.ts';
import { EventQueue } from './event-queue.ts';
import { keepTurn, traceRecord } from './keep-turn.ts';
import { steps } from './steps.ts';
import { Trace } from './tracing.ts';
import type { Arrived, Bound, Opened } from './turn.ts';

/**
 * The door of channels that answer in the request: takes the message all the way and tells what happens.
 * The run does not depend on its reader: a client that goes away leaves a whole turn in its session.
 * The iterable throws the problem that ended the turn.
 */
export function converse(
  plugin: ChannelPlugin,
  house: House,
  message: IncomingMessage,
  request: ChannelRequest,
): AsyncIterable<ConversationEvent> {
  const events = new EventQueue<ConversationEvent>();
  const turn = arrive(plugin, house, message, request, (event) => events.push(event));
  const run = takeAllSteps(turn.arrived, turn.giveBack, house);
  house.running.add(run);
  run
    .then(
      () => events.end(),
      (error: unknown) => events.fail(error),
    )
    .finally(() => house.running.delete(run));
  return events;
}

function arrive(
  plugin: ChannelPlugin,
  house: House,
  message: IncomingMessage,
  request: ChannelRequest,
  emit: (event: ConversationEvent) => void,
): { arrived: Arrived; giveBack: GiveBack[] } {
  const giveBack: GiveBack[] = [];
  const now = house.clock.now();
  const place = placeOf(request);
  const session_id = message.thread_id ?? generateSessionId(plugin.name, message.user_id);
  const arrived: Arrived = {
    turn_id: timeOrderedId(now),
    request_id: request.id,
    message: { ...message, text: maskTokens(message.text), metadata: masked(message.metadata) },
    session_id,
    session_is_generated: message.thread_id === null,
    channel: {
      name: plugin.name,
      space: plugin.capabilities.space ?? plugin.name,
      capabilities: plugin.capabilities,
    },
    address: request.address,
    validated: validatedOf(request),
    emit,
    ...(place ? { place } : {}),
    trace: new Trace(house.clock),
    started_at: now,
    onEnd: (back) => giveBack.push(back),
  };
  return { arrived, giveBack };
}

/** Links of signed-in pages may carry a token; only the documented field may hold one. */
function masked(metadata: IncomingMessage['metadata']): IncomingMessage['metadata'] {
  const { jwt_token, ...claims } = metadata;
  const safe = Object.fromEntries(
    Object.entries(claims).map(([name, value]) => [
      name,
      typeof value === 'string' ? maskTokens(value) : value,
    ]),
  );
  return jwt_token === undefined ? safe : { ...safe, jwt_token };
}

type GiveBack = (failed: boolean) => Promise<void>;

async function takeAllSteps(turn: Arrived, giveBack: GiveBack[], house: House): Promise<void> {
  let failed = false;
  turn.emit({ type: 'started', session_id: turn.session_id });
  try {
    await steps.run(turn, house);
    await reportAnswer(turn, house);
  } catch (error) {
    failed = true;
    await keepFailure(turn, error, house);
    throw error;
  } finally {
    // Last taken, first given back; one that fails must not keep the others.
    for (const back of giveBack.reverse()) {
      await back(failed).catch((error: unknown) =>
        house.log.error({ ...describe(turn), err: error }, 'could not give back'),
      );
    }
  }
}

async function reportAnswer(turn: Arrived & Partial<Bound>, house: House): Promise<void> {
  if (turn.acting) {
    const credentials = turn.acting.person === null ? 'default' : 'user';
    house.log.info({ ...describe(turn), credentials }, 'message answered');
    return;
  }
  // Ended early with an earlier answer: there is no turn to keep the trace with.
  house.log.info(describe(turn), 'message answered again');
  await house.store.traces.keep(traceRecord(turn, 'replayed', house.clock.now()));
}

/** A failed turn is kept where it got as far as its session; else its trace is, to be found by its request. */
async function keepFailure(
  turn: Arrived & Partial<Opened & Bound>,
  error: unknown,
  house: House,
): Promise<void> {
  const code: ErrorCode = error instanceof AgentdError ? error.code : 'internal_error';
  const line = { ...describe(turn), code, err: error };
  if (code === 'internal_error' || code === 'agent_failed' || code === 'agent_timeout')
    house.log.error(line, 'message failed');
  else house.log.info({ ...describe(turn), code }, 'message refused');
  try {
    if (turn.acting && turn.session) {
      await keepTurn(turn as Arrived & Opened & Bound, house, { outcome: 'failed', failure: code });
    } else {
      await house.store.traces.keep(traceRecord(turn, code, house.clock.now()));
    }
  } catch (storeError) {
    house.log.warn({ ...describe(turn), err: storeError }, 'the trace of a failed message could not be kept');
  }
}

function describe(turn: Arrived): Record<string, unknown> {
  return {
    request_id: turn.request_id,
    channel: turn.channel.name,
    session: shortId(turn.session_id),
    took_ms: Date.now() - turn.started_at,
  };
}
