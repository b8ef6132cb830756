import { giveUpAfter } from './give-up-after.ts';

/** A message that is not answered within this time counts as lost. */
export const ANSWER_SECONDS = 20;

/** A reply on a platform, as people see it. */
export interface Delivered {
  to: string;
  thread: string | null;
  text: string;
  /** The payloads of its buttons. */
  buttons: readonly string[];
}

/** Everything that people see in a chat, in order. */
export class Chat {
  readonly shown: Delivered[] = [];
  #changed = Promise.withResolvers<void>();

  add(delivered: Delivered): void {
    this.shown.push(delivered);
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /** Waits for the first message from this position that is meant. Null if there is none in time. */
  async next(
    from: number,
    isMeant: (delivered: Delivered) => boolean,
    seconds = ANSWER_SECONDS,
  ): Promise<Delivered | null> {
    let isOver = false;
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const stopWaiting = giveUpAfter(seconds, () => {
      isOver = true;
      resolve();
    });
    try {
      for (;;) {
        const found = this.shown.slice(from).find(isMeant);
        if (found || isOver) return found ?? null;
        await Promise.race([this.#changed.promise, over]);
      }
    } finally {
      stopWaiting();
    }
  }
}
