/**
 * How a client reads the events of an answer (agentd-api(7)). `agentd chat` and the web widget share it; it has no
 * imports, so that it can be bundled for browsers.
 */

/** Gets the events of an answer as they arrive. */
export interface AnswerHandler {
  started(session_id: string): void;
  text(piece: string): void;
  tool(name: string, status: string): void;
}

/** The end of an answer. */
export interface StreamEnd {
  session_id: string;
  /** The whole answer. */
  response: string;
  stopped: boolean;
}

/** The names of all events. */
export const EVENTS = [
  'stream_start',
  'text_chunk',
  'tool_call',
  'complete',
  'stream_complete',
  'error',
] as const;

type EventData = Readonly<Record<string, unknown>>;

/**
 * Passes one event to the listener. An unknown event, and an event whose data is not an object, does nothing.
 * @param failure makes the error of an `error` event, which is thrown
 * @returns the end of the answer, or null if the answer goes on
 */
export function takeEvent(
  event: string,
  data: string,
  listener: AnswerHandler,
  failure: (data: EventData) => Error,
): StreamEnd | null {
  const { session_id, text, tool_name, status, response, stopped, ...rest } = parse(data);
  switch (event) {
    case 'stream_start':
      listener.started(string(session_id));
      return null;
    case 'text_chunk':
      listener.text(string(text));
      return null;
    case 'tool_call':
      listener.tool(string(tool_name), string(status));
      return null;
    case 'complete':
    case 'stream_complete':
      return { session_id: string(session_id), response: string(response), stopped: stopped === true };
    case 'error':
      throw failure(rest);
    default:
      return null;
  }
}

function string(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function parse(data: string): EventData {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === 'object' && value !== null ? (value as EventData) : {};
  } catch {
    return {};
  }
}
