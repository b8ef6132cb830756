import type { AlarmClock } from '../time/clock.ts';
import { within } from '../time/time-limit.ts';

/** Maximum time that a message waits until a question has been sent, ms. */
const WAIT_MS = 100;

/**
 * The questions that this process is sending, by session. A person may answer as soon as the platform has the question,
 * but the daemon learns a little later that it was sent. Therefore a message that arrives in between waits for up to
 * `WAIT_MS` before it is accepted. Otherwise it would count as older than the question, and could not answer it. If the
 * platform takes longer, the message does count as older.
 */
export class QuestionsBeingSent {
  readonly #clock: AlarmClock;
  readonly #sending = new Map<string, Promise<void>>();

  constructor(clock: AlarmClock) {
    this.#clock = clock;
  }

  /** @returns a function to call when the store has recorded whether the question was sent. */
  begin(session_id: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#sending.set(session_id, promise);
    return () => {
      if (this.#sending.get(session_id) === promise) this.#sending.delete(session_id);
      resolve();
    };
  }

  /** Resolves when no question of these sessions is being sent, but after `WAIT_MS` at the latest. */
  async ended(session_ids: readonly (string | null)[]): Promise<void> {
    const sending = session_ids.flatMap((id) => (id === null ? [] : (this.#sending.get(id) ?? [])));
    if (sending.length === 0) return;
    await within(Promise.all(sending), WAIT_MS, () => undefined, this.#clock);
  }
}
