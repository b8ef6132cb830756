import { randomSuffix } from '../../../time/clock.ts';

/** The owners of the claims that this process makes. No other process makes an owner that begins like them. */
export class Owners {
  readonly #process = `${randomSuffix()}.`;
  #made = 0;

  next(): string {
    return `${this.#process}${++this.#made}`;
  }

  hasMade(owner: string): boolean {
    return owner.startsWith(this.#process);
  }
}
