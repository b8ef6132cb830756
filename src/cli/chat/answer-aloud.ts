import type { Conversation, Interrupts } from './conversation.ts';
import type { Screen } from './screen.ts';

const WAITING = 'Waiting for the answer…';

/**
 * Says something in a conversation and shows its answer while it comes.
 * @throws as `Conversation.say`; what had come by then has been shown
 */
export async function answerAloud(
  conversation: Conversation,
  message: string,
  screen: Screen,
  interrupts: Interrupts,
): Promise<{ stopped: boolean }> {
  let shown = '';
  let doing = WAITING;
  screen.status(doing);
  try {
    const { response, stopped } = await conversation.say(
      message,
      {
        started: () => undefined,
        text(piece) {
          shown += piece;
          screen.text(piece);
        },
        tool(name, status) {
          doing = status === 'started' ? `${name}…` : WAITING;
          if (status === 'failed') screen.note(`${name}: that did not work`);
          screen.status(doing);
        },
        connected: (yes) => screen.status(yes ? doing : 'Connection lost. Trying again…'),
      },
      interrupts,
    );
    // An answer that was given before comes in one piece, at its end.
    if (response.startsWith(shown)) screen.text(response.slice(shown.length));
    return { stopped };
  } finally {
    screen.endAnswer();
  }
}
