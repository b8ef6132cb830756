import type { ChannelPlugin } from '../../channel/index.ts';
import { toArrivedChannel } from '../message/arrival.ts';
import { runTurn } from '../message/run-turn.ts';
import { runStream as steps } from '../message/steps.ts';
import type { Log } from '../process/log.ts';
import { shortId } from '../session/session.ts';
import { REAP_MS, type StreamClaim } from '../store/claims/claims.ts';
import type { StreamStore } from '../store/streams.ts';
import { type AlarmClock, every, timeOrderedId } from '../time/clock.ts';
import type { Ticket } from '../time/tickets.ts';
import { Cancellation } from '../time/time-limit.ts';
import type { AdmittedReader } from './admit-reader.ts';
import { EventWriter } from './event-writer.ts';
import { INTERRUPTED } from './events.ts';
import type { StopRequest } from './stop-stream.ts';
import { StreamOutlet } from './stream-outlet.ts';
import type { StreamServices } from './stream-services.ts';

/** A stream for which a request of this process has begun the run. */
interface OpenedStream {
  admitted: AdmittedReader;
  claim: StreamClaim;
  /** Number of events that were stored with the claim. */
  begun: number;
  stop: StopRequest;
  /** Id of the request that opened the stream. */
  opened_by: string;
  ticket: Ticket;
}

/**
 * Answers the message of a stream, even if nobody reads the stream. The stream ends when its run ends: with the reply,
 * or with the event `error`. If the store cannot be written, the stream is abandoned instead, and the reaper ends it
 * later. Never rejects.
 */
export async function runStream(
  plugin: ChannelPlugin,
  services: StreamServices,
  { admitted, claim, begun, stop, opened_by, ticket }: OpenedStream,
): Promise<void> {
  const { stream, token, validated, claimant } = admitted;
  const { stream_id, start, idempotency_key } = stream;
  const { streams } = services.store;
  const lost = new Cancellation();
  const drop = services.claims.hold(claim, streams, lost);
  const log = services.log.child({ request_id: start.request_id, stream: shortId(stream_id) });
  const writer = new EventWriter({ streams, claim, begun, clock: services.clock, log });
  const turn_id = timeOrderedId(services.clock.now());
  const outlet = new StreamOutlet({
    writer,
    stream_id,
    turn_id,
    session_id: start.session_id,
    hasStarted: begun > 0,
    stopping: services.stopping,
  });
  stop.requested.onEnd(() => {
    outlet.stop().then(
      // The claim ends with the stream, so it must not be renewed.
      (hasEnded) => hasEnded && drop(),
      (error: unknown) => log.warn({ err: error }, 'a stream could not be ended at once'),
    );
  });
  const { message } = start;
  const metadata = token === undefined ? message.metadata : { ...message.metadata, jwt_token: token };
  const arrival = {
    turn_id,
    request_id: start.request_id,
    opened_by,
    message: { ...message, metadata },
    session_id: start.session_id,
    session_is_generated: start.session_is_generated,
    channel: toArrivedChannel(plugin),
    address: start.address,
    validated,
    ticket,
    parent_span: start.parent_span,
    idempotency_key,
    counted_in: start.counted_in,
    outlet,
    stopped: stop.requested,
    accepted_at: start.accepted_at,
    lost,
    patient: false,
    reader: claimant.reader,
    changes: {},
  };
  const opened = {
    at: services.clock.now(),
    step: 'open-stream',
    verdict: 'ok',
    detail: { opened_by },
  } as const;
  let hasEnded = false;
  try {
    await services.gate.pass();
    const end = await runTurn(steps, arrival, services, [...start.trace, opened]);
    hasEnded = end.answered || end.isStored;
  } finally {
    ticket.leave();
    stop.close();
    drop();
    // Usually the commit of the turn has stored the last events, which ended the stream.
    if (!hasEnded)
      await streams
        .release(claim)
        .catch((error: unknown) => log.warn({ err: error }, 'a stream could not be released'));
  }
}

/**
 * Ends streams whose run was abandoned or died with its process. Their last event is `error` with the code
 * `interrupted`. Checks at once, for the streams of the previous process, and then at regular intervals.
 * @returns a function that stops the reaper.
 */
export async function startReaper(
  streams: Pick<StreamStore, 'reap'>,
  clock: AlarmClock,
  log: Log,
): Promise<() => Promise<void>> {
  const { event, data } = INTERRUPTED;
  const reap = async () => {
    try {
      const dead = await streams.reap({ event, data: JSON.stringify(data) });
      if (dead > 0) log.warn({ streams: dead }, 'streams ended as interrupted: their runs had died');
    } catch (error) {
      log.warn({ err: error }, 'could not end streams of runs that died; will try again');
    }
  };
  await reap();
  return every(clock, REAP_MS, reap);
}
