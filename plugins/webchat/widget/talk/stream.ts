import { failureOf } from './failure.ts';
import type { Answer } from './service.ts';

/** What a stream tells while it runs. */
export interface StreamListener {
  /** Number of the last event that was taken. */
  taken(id: number): void;
  started(session_id: string): void;
  text(piece: string): void;
  tool(name: string, status: string): void;
  /** The connection is being made again, or is there again. */
  connected(yes: boolean): void;
}

export interface StreamEnd extends Answer {
  stopped: boolean;
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

    /** Takes an event once; the object in it, or null where it was taken before. */
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
          // An `error` without data is not the service's word but the browser's, of the connection.
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

/** An event whose data is no object tells nothing. */
function parse(data: string): EventData {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === 'object' && value !== null ? (value as EventData) : {};
  } catch {
    return {};
  }
}
