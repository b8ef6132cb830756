import { StoreUnavailable } from '../../errors.ts';

/**
 * Collects the calls of a tick, and of the time while earlier ones are under way, and makes one call of them. If that
 * fails because of one of them, each is made by itself, so that it alone fails.
 */
export class Batches<Given, Result> {
  readonly #work: (given: readonly Given[]) => Promise<Result[]>;
  readonly #measureShare: (given: Given) => number;
  readonly #isDivisible: boolean;
  #waiting: { given: Given; done: PromiseWithResolvers<Result> }[] = [];
  #isBusy = false;

  /**
   * @param work resolves to one result for each of the calls, in their order
   * @param measureShare the part of a trip that a call takes up; by default, it does not matter
   * @param isDivisible whether a failed call has had no effect, so that its parts can be made again
   */
  constructor(
    work: (given: readonly Given[]) => Promise<Result[]>,
    measureShare: (given: Given) => number = () => 0,
    isDivisible = true,
  ) {
    this.#work = work;
    this.#measureShare = measureShare;
    this.#isDivisible = isDivisible;
  }

  add(given: Given): Promise<Result> {
    const done = Promise.withResolvers<Result>();
    this.#waiting.push({ given, done });
    this.#schedule();
    return done.promise;
  }

  /** One batch is under way at a time, so that the calls keep their order. */
  #schedule(): void {
    if (this.#isBusy || this.#waiting.length === 0) return;
    this.#isBusy = true;
    setImmediate(() => void this.#send(this.#waiting.splice(0, this.#nextSize())));
  }

  /** How many of the waiting calls fit into one trip: at least one. */
  #nextSize(): number {
    let share = 0;
    const full = this.#waiting.findIndex(({ given }, place) => {
      share += this.#measureShare(given);
      return place === BATCH_MAX || (place > 0 && share > 1);
    });
    return full < 0 ? this.#waiting.length : full;
  }

  async #send(batch: readonly { given: Given; done: PromiseWithResolvers<Result> }[]): Promise<void> {
    try {
      const results = await this.#work(batch.map(({ given }) => given));
      for (const [place, { done }] of batch.entries()) done.resolve(results[place] as Result);
    } catch (error) {
      if (batch.length === 1 || !this.#isDivisible || !isDefect(error))
        for (const { done } of batch) done.reject(error);
      else for (const { given, done } of batch) await this.#alone(given).then(done.resolve, done.reject);
    } finally {
      this.#isBusy = false;
      this.#schedule();
    }
  }

  async #alone(given: Given): Promise<Result> {
    const [result] = await this.#work([given]);
    return result as Result;
  }
}

/** Maximum number of calls that one trip makes. */
const BATCH_MAX = 200;

/** Whether one of the calls is to blame; otherwise the database cannot be used. */
function isDefect(error: unknown): boolean {
  return !(error instanceof StoreUnavailable);
}
