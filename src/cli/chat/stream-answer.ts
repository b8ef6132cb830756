import type { Conversation, Interrupts } from './conversation.ts';
import type { Screen } from './screen.ts';

const WAITING = 'Waiting for the answer…';

/**
 * Sends a message and shows its answer while it arrives.
 * @throws the errors of `Conversation.send`, after the text that has arrived is shown
 */
export async function streamAnswer(
  conversation: Conversation,
  message: string,
  screen: Screen,
  interrupts: Interrupts,
): Promise<{ stopped: boolean }> {
  let shown = '';
  let status = WAITING;
  let isAsked = false;
  screen.status(status);
  try {
    const { response, stopped } = await conversation.send(
      message,
      {
        started: () => undefined,
        text(piece) {
          shown += piece;
          screen.text(piece);
        },
        tool(name, state) {
          status = state === 'started' ? `${name}…` : WAITING;
          if (state === 'failed') screen.note(`${name} failed`);
          screen.status(status);
        },
        confirmation() {
          isAsked = true;
        },
        connected: (yes) => screen.status(yes ? status : 'Connection lost. Trying again…'),
      },
      interrupts,
    );
    // If the message had been answered before, the whole answer arrives in one piece, with the last event.
    if (response.startsWith(shown)) screen.text(response.slice(shown.length));
    return { stopped };
  } finally {
    screen.endAnswer();
    if (isAsked) screen.note('You can also answer with y or n.');
  }
}
