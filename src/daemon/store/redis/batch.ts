/**
 * Collects requests that arrive during a batch into the next batch, so that callers do not compete with each other, and
 * a busy process sends one command for many requests.
 */
export class Batch<Asked, Answer> {
  readonly #work: (asked: readonly Asked[]) => Promise<Answer[]>;
  readonly #max: number;
  #waiting: { asked: Asked; resolve: (answer: Answer) => void; reject: (error: unknown) => void }[] = [];
  #isWorking = false;

  /**
   * @param max the maximum size of a batch.
   * @param work returns an answer for each request, in their order.
   */
  constructor(max: number, work: (asked: readonly Asked[]) => Promise<Answer[]>) {
    this.#max = max;
    this.#work = work;
  }

  ask(asked: Asked): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ asked, resolve, reject });
      if (!this.#isWorking) void this.#workOff();
    });
  }

  async #workOff(): Promise<void> {
    this.#isWorking = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#max);
      try {
        const answers = await this.#work(batch.map(({ asked }) => asked));
        for (const [place, { resolve }] of batch.entries()) resolve(answers[place] as Answer);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#isWorking = false;
  }
}
