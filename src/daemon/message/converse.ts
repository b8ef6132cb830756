import type { ChannelPlugin, ConversationEvent, IncomingMessage } from '../../channel/index.ts';
import { arrivalOf, type Origin } from './arrival.ts';
import { EventQueue } from './event-queue.ts';
import type { Outlet } from './outlet.ts';
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
    ...arrivalOf(plugin, message, origin, services),
    outlet: responseOutlet(events),
    stopped: null,
    accepted_at: services.clock.now(),
    lost: new AbortController(),
    patient: false,
    reader: null,
    changes: {},
  };
  const run = runTurn(answerNow, arrival, services).then((end) => {
    if (end.answered) events.end();
    else events.fail(end.error);
    services.running.delete(run);
  });
  services.running.add(run);
  return events;
}

/** The outlet for a message that is answered in the response to its own request. */
function responseOutlet(events: Pick<EventQueue<ConversationEvent>, 'push'>): Outlet {
  return {
    leaves: 'in_response',
    started: (session_id) => events.push({ type: 'started', session_id }),
    text: (text) => events.push({ type: 'text_chunk', text }),
    tool: (progress) => events.push({ type: 'tool_call', ...progress }),
    changes: async () => ({}),
    complete: ({ session_id, response, question, replayed }) =>
      events.push({
        type: 'complete',
        session_id,
        response,
        replayed,
        ...(question === null ? {} : { confirmation: question.confirmation }),
      }),
  };
}
