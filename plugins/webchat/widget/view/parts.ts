import type * as card from '../card/card.ts';
import type * as chats from '../continue/main.ts';
import type * as qr from '../continue/qr.ts';
import type * as feedback from '../feedback/feedback.ts';
import type * as tab from '../tab/tab-memory.ts';

/** The parts of the widget that not every conversation needs. Each is a script of its own. */
interface Parts {
  card: typeof card;
  continue: typeof chats;
  feedback: typeof feedback;
  qr: typeof qr;
  tab: typeof tab;
}

/** Loads a part once. A part that could not be loaded is requested again. */
export type LoadPart = <Name extends keyof Parts>(name: Name) => Promise<Parts[Name]>;

/**
 * When the service serves the script, it replaces `agentd-parts` by the version of the parts: the parts of another build
 * may not fit the script.
 * @param base the address of the service
 */
export function createLoader(base: string): LoadPart {
  const loaded = new Map<string, Promise<unknown>>();
  let failures = 0;
  return (name) => {
    const part =
      loaded.get(name) ??
      // Browsers remember that an address failed, so the next attempt needs another one.
      import(`${base}/webchat/${name}.js?v=agentd-parts&${failures}`).catch((error: unknown) => {
        failures++;
        loaded.delete(name);
        throw error;
      });
    loaded.set(name, part);
    return part as ReturnType<LoadPart> as never;
  };
}
