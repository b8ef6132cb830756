import { failureOf } from './failure.ts';
import type { Answer } from './service.ts';

/** What a stream reports while it runs. */
export interface StreamListener {
  /** Number of the last event that was received. */
  taken(id: number): void;
  started(session_id: string): void;
  text(piece: string): void;
  tool(name: string, status: string): void;
  /** The connection is being restored, or is restored. */
  connected(yes: boolean): void;
}

export interface StreamEnd extends Answer {
  stopped: boolean;
}

/** The stream cannot be read to its end. The message may still have an answer. */
export class StreamBroken extends Error {
  /** No event ever arrived: something between browser and service blocks streams. */
  readonly silent: boolean;

  constructor(silent: boolean) {
    super('the event stream broke');
    this.silent = silent;
  }
}

/** A connection without an event is given up after this time, ms. The first event is sent at once. */
const OPEN_WITHIN_MS = 10_000;
/** After this silence a connection may be dead, ms. A new connection continues where the old one was. */
const SILENCE_MS = 45_000;
/** Waits between attempts, ms. A received event resets them. */
const WAITS_MS = [300, 1000, 2000, 4000, 8000];
/** Attempts for a stream without any event. After that, an answer in one response is faster. */
const FIRST_ATTEMPTS = 2;

/**
 * Reads an event stream to its end, over several connections if needed. Each continues after the last event that was
 * received. Rejects with the `Failure` of the stream, with `StreamBroken`, or when aborted.
 * @param addressAfter returns the address of the stream after an event
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
      // Without a network, attempts are useless. The event `online` reports a network.
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

    /** Reads an event once: the object in it, or null if it was read before. */
    const take = ({ data, lastEventId }: MessageEvent<string>): EventData | null => {
      const id = Number(lastEventId) || last + 1;
      if (id <= last) return null;
      last = id;
      attempts = 0;
      listener.connected(true);
      listener.taken(id);
      watch(SILENCE_MS);
      return parse(data);
    };
    const end = ({ response, session_id, stopped }: EventData) =>
      finish(() =>
        resolve({ response: words(response), session_id: words(session_id), stopped: stopped === true }),
      );
    const tellers: Record<string, (data: EventData) => void> = {
      stream_start: ({ session_id }) => listener.started(words(session_id)),
      text_chunk: ({ text }) => listener.text(words(text)),
      tool_call: ({ tool_name, status }) => listener.tool(words(tool_name), words(status)),
      complete: end,
      stream_complete: end,
      error: (data) => finish(() => reject(failureOf(data, { over: true }))),
    };

    const connect = () => {
      source?.close();
      const next = new EventSource(addressAfter(last), { withCredentials: true });
      for (const [name, tell] of Object.entries(tellers)) {
        next.addEventListener(name, (event) => {
          if (next !== source) return;
          // An `error` without data comes from the browser, about the connection.
          if (!('data' in event)) return connectAgain();
          const data = take(event as MessageEvent<string>);
          if (data) tell(data);
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

type EventData = Readonly<Record<string, unknown>>;

function words(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** An event whose data is not an object is empty. */
function parse(data: string): EventData {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === 'object' && value !== null ? (value as EventData) : {};
  } catch {
    return {};
  }
}
