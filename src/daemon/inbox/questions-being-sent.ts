import type { AlarmClock } from '../clock.ts';

/** How long a message waits for the end of the sending of a question, ms. */
const WAIT_MS = 100;

/**
 * The questions that this process is sending, by session. A person may answer as soon as the platform has the question,
 * and the daemon learns this a little later. A message that comes in between waits a moment before it is accepted, so
 * that it does not count as earlier than the question that it answers. If the platform takes longer, the message is
 * earlier.
 */
export class QuestionsBeingSent {
  readonly #clock: AlarmClock;
  readonly #sending = new Map<string, Promise<void>>();

  constructor(clock: AlarmClock) {
    this.#clock = clock;
  }

  /** @returns ends it, once it is noted that the question was sent, or was not. */
  begin(session_id: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#sending.set(session_id, promise);
    return () => {
      if (this.#sending.get(session_id) === promise) this.#sending.delete(session_id);
      resolve();
    };
  }

  /** Resolves when no question of these sessions is being sent, or soon. */
  async ended(session_ids: readonly (string | null)[]): Promise<void> {
    const sending = session_ids.flatMap((id) => (id === null ? [] : (this.#sending.get(id) ?? [])));
    if (sending.length === 0) return;
    const { promise: isLate, resolve } = Promise.withResolvers<void>();
    const cancel = this.#clock.after(WAIT_MS, resolve);
    await Promise.race([Promise.all(sending), isLate]);
    cancel();
  }
}
