import { AgentdError } from '../errors.ts';
import type { CompleteReply, Outlet, OutletChanges, TurnEnd } from '../message/outlet.ts';
import type { EventWriter } from './event-writer.ts';
import { INTERRUPTED, type StreamEventData, started } from './events.ts';

interface StreamOutletParts {
  writer: EventWriter;
  stream_id: string;
  /** The turn of the stream's message; null if nothing runs. */
  turn_id: string | null;
  /** The id of the session when the message was stored. */
  session_id: string;
  /** Whether the first event, which names the session of the answer, is already stored. */
  hasStarted?: boolean;
  /** Aborts when the daemon stops. */
  stopping: AbortSignal;
}

/**
 * The outlet of a message that is answered on an event stream. Text and tool progress are stored during the run. The
 * last events are stored with the turn.
 */
export class StreamOutlet implements Outlet {
  readonly leaves = 'on_stream';
  readonly #parts: StreamOutletParts;
  #session_id: string | null = null;
  #hasBegun = false;
  /** Number of characters of the reply that are written. */
  #written = 0;
  /** Whether the turn is ending or has ended. */
  #isClosing = false;
  /**
   * The end of a stream that was stopped before it had any text. Resolves to true if the end is stored. Null if the
   * stream was not stopped in this way.
   */
  #stopping: Promise<boolean> | null = null;

  constructor(parts: StreamOutletParts) {
    this.#parts = parts;
    this.#session_id = parts.hasStarted ? parts.session_id : null;
  }

  started(session_id: string): void {
    if (session_id === this.#session_id) return;
    this.#session_id = session_id;
    this.#parts.writer.write(started({ stream_id: this.#parts.stream_id, session_id }));
  }

  text(text: string): void {
    this.#hasBegun = true;
    this.#written += text.length;
    this.#parts.writer.write({ event: 'text_chunk', data: { text } });
  }

  progress(data: Extract<StreamEventData, { event: 'tool_call' }>['data']): void {
    this.#hasBegun = true;
    this.#parts.writer.write({ event: 'tool_call', data });
  }

  mustReport(): void {
    this.#hasBegun = true;
  }

  async close(end: TurnEnd): Promise<OutletChanges> {
    this.#isClosing = true;
    if (await this.#stopping?.catch(() => false)) return {};
    return { events: await this.#parts.writer.close(this.#lastEvents(end)) };
  }

  /**
   * Called when the person stops the answer. If the answer has no text and no call of a tool yet, and carries out
   * nothing, the stream ends now, and the turn is stored later with an empty reply. Otherwise, the reply may have to say
   * what was done.
   * @returns whether the stream has ended.
   */
  async stop(): Promise<boolean> {
    if (this.#hasBegun || this.#isClosing) return false;
    const { writer, session_id, turn_id } = this.#parts;
    const reply = {
      turn_id,
      session_id: this.#session_id ?? session_id,
      response: '',
      question: null,
      receipts: null,
      stopped: true,
      replayed: false,
    };
    this.#stopping ??= writer.end(this.#lastEvents({ answered: true, reply }));
    return this.#stopping;
  }

  #lastEvents(end: TurnEnd): StreamEventData[] {
    if (end.answered) return this.#endOfAnswer(end.reply);
    if (this.#parts.stopping.aborted) return [INTERRUPTED];
    const { error } = end;
    const { code, message } =
      error instanceof AgentdError
        ? error
        : { code: 'internal_error', message: 'Something unexpected happened.' };
    return [{ event: 'error', data: { code, message } }];
  }

  /**
   * The events at the end of an answer: what was done, the question, the rest of the text, and two events with the same
   * data, so that a client can wait for either name. The text comes after the events that say which of it a client may
   * show in another form.
   */
  #endOfAnswer(reply: CompleteReply): StreamEventData[] {
    const { turn_id, session_id, response, question, receipts, stopped } = reply;
    const { stream_id } = this.#parts;
    const data = {
      stream_id,
      session_id,
      response,
      ...(stopped ? { stopped: true as const } : {}),
      ...(turn_id === null ? {} : { metadata: { message_id: turn_id } }),
    };
    const rest = response.slice(this.#written);
    return [
      ...(this.#session_id === null ? [started({ stream_id, session_id })] : []),
      ...(receipts === null ? [] : [{ event: 'actions' as const, data: receipts }]),
      ...(question === null ? [] : [{ event: 'confirmation' as const, data: question.confirmation }]),
      ...(rest === '' ? [] : [{ event: 'text_chunk' as const, data: { text: rest } }]),
      { event: 'complete', data },
      { event: 'stream_complete', data },
    ];
  }
}
