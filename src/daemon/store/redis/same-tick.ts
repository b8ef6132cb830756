/** Collects requests within one tick of the event loop into one call. */
export class SameTick<Asked, Answer> {
  readonly #work: (asked: readonly Asked[]) => Promise<readonly Answer[]>;
  #waiting: Asked[] = [];
  #answers: Promise<readonly Answer[]> | null = null;

  /** @param work returns an answer for each request, in their order. */
  constructor(work: (asked: readonly Asked[]) => Promise<readonly Answer[]>) {
    this.#work = work;
  }

  async ask(asked: Asked): Promise<Answer> {
    const place = this.#waiting.push(asked) - 1;
    this.#answers ??= Promise.resolve().then(() => {
      const all = this.#waiting;
      this.#waiting = [];
      this.#answers = null;
      return this.#work(all);
    });
    return (await this.#answers)[place] as Answer;
  }
}
