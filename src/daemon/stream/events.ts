import type { Confirmation, ConversationEvent, Receipts, StreamEvent } from '../../channel/index.ts';

/** An event before it has a number (agentd-service(7), "Events"). */
export type StreamEventData =
  | { event: 'stream_start'; data: Start }
  | { event: 'text_chunk'; data: { text: string } }
  | { event: 'tool_call'; data: Omit<Extract<ConversationEvent, { type: 'tool_call' }>, 'type'> }
  | { event: 'confirmation'; data: Confirmation }
  | { event: 'actions'; data: Receipts }
  | { event: 'complete' | 'stream_complete'; data: Completion }
  | { event: 'error'; data: { code: string; message: string } };

interface Start {
  stream_id: string;
  /** The current id of the session. Sign-in can change it. */
  session_id: string;
}

interface Completion extends Start {
  /** The complete reply. */
  response: string;
  /** Set if the person stopped the answer. */
  stopped?: true;
  /** `message_id` names the message with its answer. Absent if nothing ran. */
  metadata?: { message_id: string };
}

/** The first event of an answer, which is sent when its session is known. */
export function started(data: Start): StreamEventData {
  return { event: 'stream_start', data };
}

/** The last event if the process of a run died, or if the daemon ended the run because it stopped. */
export const INTERRUPTED: StreamEventData = {
  event: 'error',
  data: { code: 'interrupted', message: 'The answer was interrupted. Please ask again.' },
};

/** An event with its number, as it is stored and read. Its data is converted to JSON once for all readers. */
export function numberEvent({ event, data }: StreamEventData, id: number): StreamEvent {
  return { id, event, data: JSON.stringify(data) };
}

export function isLast({ event }: StreamEvent): boolean {
  return event === 'stream_complete' || event === 'error';
}
