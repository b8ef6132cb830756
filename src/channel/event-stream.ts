/**
 * How a client reads the events of an answer (agentd-service(7)). `agentd chat` and the widget of the website share
 * this module, so it must run in browsers, too.
 */

export type { Confirmation, ConfirmationAnswer } from './message.ts';

/** The end of an answer. */
export interface StreamEnd {
  session_id: string;
  /** The whole answer. */
  response: string;
  stopped: boolean;
  /** `metadata.message_id`. Absent if the answer has none. */
  message_id?: string;
}

/** Gets the events of an answer as they arrive. */
export interface AnswerHandler {
  started(session_id: string): void;
  text(piece: string): void;
  /** @param data the whole data of the event; absent if it was made in this process */
  tool(name: string, status: string, data?: EventData): void;
  /**
   * Called if the answer ends with a question about an action that the person must confirm.
   * @param id the id of the action, which the client returns with the person's decision
   * @param data the whole data of the event
   */
  confirmation?(id: string, data: EventData): void;
  /** Called before the end of an answer that did something, with what became of it. */
  actions?(data: EventData): void;
}

/** An `AnswerHandler` that also gets the event that ends a stream. */
export interface StreamHandler extends AnswerHandler {
  ended(end: StreamEnd): void;
  /** @param problem the data of the `error` event */
  failed(problem: EventData): void;
}

export type EventData = Readonly<Record<string, unknown>>;
/** @param data the object in the data of the event (`jsonObject`) */
type Reader = (data: EventData, handler: StreamHandler) => void;

const readEnd: Reader = ({ session_id, response, stopped, metadata }, handler) =>
  handler.ended({
    ...{ session_id: asText(session_id), response: asText(response), stopped: stopped === true },
    ...messageIdIn(metadata),
  });

/** The `message_id` in the `metadata` of an answer. */
export function messageIdIn(metadata: unknown): Pick<StreamEnd, 'message_id'> {
  const { message_id } = (metadata ?? {}) as EventData;
  return typeof message_id === 'string' ? { message_id } : {};
}

/** A tool that has no title: `shop_cancelOrder` becomes “Shop cancel order”. */
export function toolNameInWords(name: string): string {
  const words = name.replace(/[_-]+|([a-z])(?=[A-Z])/g, '$1 ').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Readers of the events, by the name of the event. Events with other names are ignored. */
export const EVENT_READERS: Readonly<Record<string, Reader>> = {
  stream_start: ({ session_id }, handler) => handler.started(asText(session_id)),
  text_chunk: ({ text }, handler) => handler.text(asText(text)),
  tool_call: (data, handler) => handler.tool(asText(data.tool_name), asText(data.status), data),
  confirmation: (data, handler) => handler.confirmation?.(asText(data.id), data),
  actions: (data, handler) => handler.actions?.(data),
  complete: readEnd,
  stream_complete: readEnd,
  error: (problem, handler) => handler.failed(problem),
};

function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
