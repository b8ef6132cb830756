import {
  type AnswerHandler,
  EVENT_READERS,
  type StreamEnd,
  type StreamHandler,
} from '../../../../src/channel/event-stream.ts';
import { jsonObject } from '../../../../src/channel/json-object.ts';
import { failureOf } from './failure.ts';

/** Gets the events of a stream as they arrive. */
export interface StreamListener extends AnswerHandler {
  /** Number of the last event that was read. */
  taken(id: number): void;
  /** The connection is lost and will be made again (false), or is there again. */
  connected(yes: boolean): void;
}

/** The stream cannot be read to its end this way; the message may have an answer all the same. */
export class StreamBroken extends Error {
  /** Not one event ever came: something on the way does not let streams through. */
  readonly silent: boolean;

  constructor(silent: boolean) {
    super('the event stream broke');
    this.silent = silent;
  }
}

/** A connection that tells nothing within this time is given up: the first event comes at once, ms. */
const OPEN_WITHIN_MS = 10_000;
/** Silence after which a connection may be dead without knowing it; asking again costs nothing, ms. */
const SILENCE_MS = 45_000;
/** Waits between attempts, ms; a taken event begins them anew. */
const WAITS_MS = [300, 1000, 2000, 4000, 8000];
/** Attempts for a stream of which not one event ever came: the answer in one piece is there sooner. */
const FIRST_ATTEMPTS = 2;

/**
 * Reads an event stream to its end over as many connections as it takes; each goes on after the last event
 * that was taken. Rejects with a `Failure` that the stream told, with `StreamBroken`, or when aborted.
 * @param addressAfter address of the stream after an event
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
      // Without a network nothing is gained by trying; `online` says when there is one.
      if (!navigator.onLine) return;
      const wait = last === 0 && attempts === FIRST_ATTEMPTS ? undefined : WAITS_MS[attempts++];
      if (wait === undefined) return giveUp();
      timer = setTimeout(connect, wait);
    };
    // The device says that it has a network again: no reason to wait any longer.
    const reconnectNow = () => {
      attempts = 0;
      clearTimeout(timer);
      connect();
    };

    const handler: StreamHandler = {
      ...listener,
      ended: (end) => finish(() => resolve(end)),
      failed: (problem) => finish(() => reject(failureOf(problem, { over: true }))),
    };

    /** Each event is read once. */
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
          // The service sends `error` events with data. Without data, it is an error of the connection.
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
