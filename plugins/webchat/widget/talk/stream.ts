import {
  type AnswerHandler,
  EVENT_READERS,
  SILENCE_MS,
  type StreamEnd,
  type StreamHandler,
} from '../../../../src/channel/event-stream.ts';
import { jsonObject } from '../../../../src/channel/json-object.ts';
import { toFailure } from './service.ts';

/** Gets the events of a stream as they arrive. */
export interface StreamListener extends AnswerHandler {
  /** Number of the last event that was read. */
  taken(id: number): void;
  /** Called with false when the connection is lost and will be restored, and with true whenever it works. */
  connected(yes: boolean): void;
}

/** The stream cannot be read to its end, but the message may still have an answer. */
export class StreamBroken extends Error {
  /** Whether no event ever arrived. Probably, something between the browser and the service then blocks streams. */
  readonly silent: boolean;

  constructor(silent: boolean) {
    super('the event stream broke');
    this.silent = silent;
  }
}

/** Time after which a connection without any event is given up, in ms. The service sends the first event at once. */
const OPEN_WITHIN_MS = 10_000;
/** How long to wait between attempts, in ms. After each event, the waits start again with the first. */
const WAITS_MS = [300, 1000, 2000, 4000, 8000];
/** Maximum number of attempts for a stream without any event. After that, an answer in one response is faster. */
const FIRST_ATTEMPTS = 2;

/**
 * Reads an event stream to its end, over several connections if necessary. Each connection continues after the last
 * event that was received. Rejects with the `Failure` of the stream, with `StreamBroken`, or when aborted.
 * @param addressAfter returns the address that continues the stream after an event
 */
export function readStream(
  addressAfter: (id: number) => string,
  after: number,
  listener: StreamListener,
  signal: AbortSignal,
): Promise<StreamEnd> {
  return new Promise((resolve, reject) => {
    let last = after;
    let attempts = 0;
    let source: EventSource | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;

    const leave = () => {
      clearTimeout(timer);
      source?.close();
      removeEventListener('online', reconnectNow);
      signal.removeEventListener('abort', abort);
    };
    const finish = (settle: () => void) => {
      leave();
      settle();
    };
    const abort = () => finish(() => reject(signal.reason));
    const giveUp = () => finish(() => reject(new StreamBroken(last === 0)));
    const watch = (ms: number) => {
      clearTimeout(timer);
      timer = setTimeout(last === 0 ? giveUp : connectAgain, ms);
    };
    const connectAgain = () => {
      clearTimeout(timer);
      source?.close();
      listener.connected(false);
      // Without a network, attempts are useless. The event `online` reports when the network is back.
      if (!navigator.onLine) return;
      const wait = last === 0 && attempts === FIRST_ATTEMPTS ? undefined : WAITS_MS[attempts++];
      if (wait === undefined) return giveUp();
      timer = setTimeout(connect, wait);
    };
    // The device is connected again, so there is no reason to wait.
    const reconnectNow = () => {
      attempts = 0;
      clearTimeout(timer);
      connect();
    };

    const handler: StreamHandler = {
      ...listener,
      ended: (end) => finish(() => resolve(end)),
      failed: (problem) => finish(() => reject(toFailure(problem, { over: true }))),
    };

    /** Reads an event, unless it was read before. */
    const take = ({ data, lastEventId }: MessageEvent<string>, read: (typeof EVENT_READERS)[string]) => {
      const id = Number(lastEventId) || last + 1;
      if (id <= last) return;
      last = id;
      attempts = 0;
      listener.connected(true);
      listener.taken(id);
      watch(SILENCE_MS);
      read(jsonObject(data), handler);
    };

    const connect = () => {
      source?.close();
      const next = new EventSource(addressAfter(last), { withCredentials: true });
      for (const [name, read] of Object.entries(EVENT_READERS)) {
        next.addEventListener(name, (event) => {
          if (next !== source) return;
          // An `error` event of the service contains data. An `error` event without data is a connection error.
          if ('data' in event) take(event as MessageEvent<string>, read);
          else connectAgain();
        });
      }
      source = next;
      next.onopen = () => {
        if (last === 0) return;
        listener.connected(true);
        watch(SILENCE_MS);
      };
      watch(OPEN_WITHIN_MS);
    };

    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener('abort', abort);
    addEventListener('online', reconnectNow);
    connect();
  });
}
