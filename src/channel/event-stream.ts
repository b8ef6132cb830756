/**
 * How a client reads the events of an answer (agentd-service(7)). `agentd chat` and the widget of the website share
 * this module, so it must run in browsers, too.
 */

export type { Confirmation, ConfirmationAnswer } from './message.ts';

/** Time without data after which a stream counts as dead, ms. The daemon sends a comment every 10 s. */
export const SILENCE_MS = 45_000;

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
    session_id: asText(session_id),
    response: asText(response),
    stopped: stopped === true,
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

/** An action that waits for the person, as a client shows it. */
export interface AskedAction {
  title: string;
  details: readonly { label: string; value: string }[];
  /** The verb for the button. */
  confirm_label?: string | undefined;
}

/**
 * Reads the actions of a question. If the service sends only its text, they are read from the text.
 * @param question the data of the event `confirmation`; a later version of the service may send something else
 */
export function readActions({ actions, summary }: { actions?: unknown; summary?: unknown }): AskedAction[] {
  const listed = Array.isArray(actions) ? actions.map(readAction) : [];
  return listed.length > 0 ? listed : [actionInText(String(summary ?? ''))];
}

function readAction(value: unknown): AskedAction {
  const { title, details, confirm_label } = (value ?? {}) as EventData;
  return {
    title: String(title ?? ''),
    details: Array.isArray(details)
      ? details.map((one) => ({ label: String(one?.title ?? one?.label), value: String(one?.value) }))
      : [],
    confirm_label: typeof confirm_label === 'string' ? confirm_label : undefined,
  };
}

/** The first line is the action. Each further line is `name: "value"`. */
function actionInText(text: string): AskedAction {
  const [title = '', ...lines] = text.split('\n');
  const details = lines.map((line) => {
    const [, label = '', value = line] = /^([^:"]+): (.*)$/.exec(line) ?? [];
    return { label, value };
  });
  return { title, details };
}

/** The minutes until a question ends, rounded up; null if there are more than 5, which a client does not show. */
export function minutesLeft({ expires_at }: { expires_at: number }, now: number): number | null {
  const minutes = Math.ceil((expires_at - now) / 60_000);
  return minutes > 5 ? null : minutes;
}

/** What a message did. A client that shows it leaves out the lines in the text of the answer. */
export interface ActionsEvent {
  actions: readonly Receipt[];
  /** Where the lines about them begin in the text of the answer. Null if there are none. */
  begins_at: number | null;
}

export interface Receipt {
  /** `<question>`, or `<question>:<number>` for one of several actions; another id if no question was asked. */
  id: string;
  /** Name of the tool. */
  tool: string;
  summary: string;
  outcome: Outcome;
  /** Status of the HTTP answer; null if there is none. */
  status: number | null;
  /** ms since the epoch */
  at: number;
}

export type Outcome = 'done' | 'failed' | 'unknown';

/** Reads the data of the event `actions`. A later version of the service may send something else. */
export function readReceipts({ actions, begins_at }: EventData): ActionsEvent {
  const listed: readonly EventData[] = Array.isArray(actions) ? actions : [];
  return {
    actions: listed.map((action) => {
      const { action_id, tool, summary, title, outcome, status, at } = action ?? {};
      return {
        id: String(action_id),
        tool: String(tool ?? ''),
        summary: String(summary ?? title ?? ''),
        outcome: outcome === 'done' || outcome === 'failed' ? outcome : 'unknown',
        status: typeof status === 'number' ? status : null,
        at: Date.parse(String(at)) || Date.now(),
      };
    }),
    begins_at: typeof begins_at === 'number' ? begins_at : null,
  };
}
