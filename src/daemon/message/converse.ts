import type { ChannelPlugin, ConversationEvent, IncomingMessage } from '../../channel/index.ts';
import { createArrival, type Origin, withoutLinkCodes } from './arrival.ts';
import { type Outlet, restOfReply } from './outlet.ts';
import { runTurn } from './run-turn.ts';
import type { Services } from './services.ts';
import { answerNow } from './steps.ts';

/**
 * The entry point for channels that answer in the response: answers the message, and reports the progress of the run.
 * The run does not depend on its reader: if the client disconnects, the complete turn is still stored in the session.
 * The iterable throws the error that ended the turn.
 * @throws `invalid_request` at once if the message does not follow the contract.
 */
export function converse(
  plugin: ChannelPlugin,
  services: Services,
  message: IncomingMessage,
  origin: Origin,
): AsyncIterable<ConversationEvent> {
  const events = new EventQueue<ConversationEvent>();
  const arrival = {
    ...createArrival(plugin, message, origin, services),
    outlet: responseOutlet(events),
    stopped: null,
    accepted_at: services.clock.now(),
    lost: new AbortController(),
    patient: false,
    reader: null,
    changes: {},
  };
  const run = withoutLinkCodes(arrival, services)
    .then((masked) => runTurn(answerNow, masked, services))
    .then(
      (end) => (end.answered ? events.end() : events.fail(end.error)),
      (error: unknown) => events.fail(error),
    )
    .finally(() => services.running.delete(run));
  services.running.add(run);
  return events;
}

/** The outlet for a message that is answered in the response to its own request. */
function responseOutlet(events: Pick<EventQueue<ConversationEvent>, 'push'>): Outlet {
  let passed = 0;
  const text = (piece: string) => {
    passed += piece.length;
    events.push({ type: 'text_chunk', text: piece });
  };
  return {
    leaves: 'in_response',
    started: (session_id) => events.push({ type: 'started', session_id }),
    text,
    tool: (progress) => events.push({ type: 'tool_call', ...progress }),
    close: async () => ({}),
    complete(reply) {
      const { turn_id, session_id, response, question, receipts, replayed } = reply;
      const rest = restOfReply(reply, passed);
      if (rest !== '') text(rest);
      events.push({
        type: 'complete',
        session_id,
        response,
        replayed,
        ...(turn_id === null ? {} : { message_id: turn_id }),
        ...(question === null ? {} : { confirmation: question.confirmation }),
        ...(receipts === null ? {} : { receipts }),
      });
    },
  };
}

/**
 * A queue of events from a run to its only reader. The run never waits for the reader. The queue is limited by the
 * maximum length of a reply. If the reader stops reading, the queue is garbage-collected after the run.
 */
export class EventQueue<T> implements AsyncIterable<T> {
  readonly #events: T[] = [];
  #end: { error?: unknown } | null = null;
  #wake: (() => void) | null = null;

  push(event: T): void {
    this.#events.push(event);
    this.#wake?.();
  }

  end(): void {
    this.#end = {};
    this.#wake?.();
  }

  /** Makes the reader's iteration throw this error after the events that are already in the queue. */
  fail(error: unknown): void {
    this.#end = { error };
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      const event = this.#events.shift();
      if (event !== undefined) yield event;
      else if (this.#end === null) await new Promise<void>((resolve) => (this.#wake = resolve));
      else if ('error' in this.#end) throw this.#end.error;
      else return;
    }
  }
}
