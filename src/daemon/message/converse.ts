import type { ChannelPlugin, ConversationEvent, IncomingMessage } from '../../channel/index.ts';
import { Cancellation } from '../time/time-limit.ts';
import { type Arrival, createArrival, type Origin, withoutLinkCodes } from './arrival.ts';
import type { Outlet } from './outlet.ts';
import { runTurn } from './run-turn.ts';
import type { Services } from './services.ts';
import { answerNow } from './steps.ts';
import type { Answering } from './turn.ts';

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
    lost: new Cancellation(),
    patient: false,
    reader: null,
    changes: {},
  };
  const run = answer(arrival, services, events);
  services.running.add(run);
  void run.then(() => services.running.delete(run));
  return events;
}

/** Never rejects. */
async function answer(
  arrival: Arrival<Answering>,
  services: Services,
  events: EventQueue<ConversationEvent>,
): Promise<void> {
  try {
    const masking = withoutLinkCodes(arrival, services);
    const masked = masking instanceof Promise ? await masking : masking;
    const end = await runTurn(answerNow, masked, services);
    if (end.answered) events.end();
    else events.fail(end.error);
  } catch (error) {
    events.fail(error);
  }
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
    progress: (progress) => events.push({ type: 'tool_call', ...progress }),
    close: () => ({}),
    complete({ turn_id, session_id, response, question, receipts, replayed }) {
      const rest = response.slice(passed);
      if (rest !== '' && !replayed) text(rest);
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
export class EventQueue<T> implements AsyncIterable<T, undefined> {
  readonly #events: T[] = [];
  #end: { error?: unknown } | null = null;
  /** Wakes the reader, if it waits. */
  #wake = () => {};

  push(event: T): void {
    this.#events.push(event);
    this.#wake();
  }

  end(): void {
    this.#end = {};
    this.#wake();
  }

  /** Makes the reader's iteration throw this error after the events that are already in the queue. */
  fail(error: unknown): void {
    this.#end = { error };
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, undefined> {
    for (;;) {
      for (let event = this.#events.shift(); event !== undefined; event = this.#events.shift()) yield event;
      if (this.#end !== null) break;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if ('error' in this.#end) throw this.#end.error;
  }
}
