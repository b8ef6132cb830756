/** Replies whose beginning is remembered; of more, the oldest are forgotten. */
const REMEMBERED_MAX = 1000;

/**
 * How many parts of a reply went out in this process: a reply that is sent again goes on where it broke off,
 * so that nobody reads its beginning twice. After a restart it begins anew.
 */
export class SentParts {
  readonly #parts = new Map<string, number>();
  readonly #running = new Map<string, Promise<void>>();

  of(reply_id: string): number {
    return this.#parts.get(reply_id) ?? 0;
  }

  /** One more has gone out. */
  add(reply_id: string): void {
    const sent = this.of(reply_id) + 1;
    this.#parts.delete(reply_id);
    this.#parts.set(reply_id, sent);
    for (const [oldest] of this.#parts) {
      if (this.#parts.size <= REMEMBERED_MAX) break;
      this.#parts.delete(oldest);
    }
  }

  /** All of it has. */
  forget(reply_id: string): void {
    this.#parts.delete(reply_id);
  }

  /** A reply is sent by one at a time: who comes while it is being sent waits for that. */
  alone(reply_id: string, send: () => Promise<void>): Promise<void> {
    const running = this.#running.get(reply_id);
    if (running) return running;
    const sending = send().finally(() => this.#running.delete(reply_id));
    this.#running.set(reply_id, sending);
    return sending;
  }
}
