import type { StreamEvent, ToolStatus } from '../../channel/index.ts';

/** An event before it has a number; payloads as decisions §5 has them. */
export type SaidEvent =
  | { event: 'stream_start'; data: Start }
  | { event: 'text_chunk'; data: { text: string } }
  | { event: 'tool_call'; data: { tool_name: string; status: ToolStatus } }
  | { event: 'complete' | 'stream_complete'; data: Completion }
  | { event: 'error'; data: { code: string; message: string } };

export interface Start {
  stream_id: string;
  /** The id that the session has now: sign-in changes it. */
  session_id: string;
}

export interface Completion extends Start {
  /** The whole reply. */
  response: string;
  /** The person stopped it. */
  stopped?: true;
}

/** The first event of an answer, once its session is known. */
export function started(data: Start): SaidEvent {
  return { event: 'stream_start', data };
}

/** An answer that was given before, as a whole. */
export function toldAgain(data: Completion): SaidEvent[] {
  return [{ event: 'text_chunk', data: { text: data.response } }, ...completed(data)];
}

/** The two events with which an answer ends, so that clients of either name end. */
export function completed(data: Completion): SaidEvent[] {
  return [
    { event: 'complete', data },
    { event: 'stream_complete', data },
  ];
}

/** What a run that died with its process ends in; also one that a stopping daemon had to cut off. */
export const INTERRUPTED: SaidEvent = {
  event: 'error',
  data: { code: 'interrupted', message: 'The answer was interrupted. Please ask again.' },
};

/** An event as it is stored and read; its payload is turned into JSON once, for all who read it. */
export function numbered({ event, data }: SaidEvent, id: number): StreamEvent {
  return { id, event, data: JSON.stringify(data) };
}

/** Whether nothing comes after it. */
export function isLast({ event }: StreamEvent): boolean {
  return event === 'stream_complete' || event === 'error';
}
