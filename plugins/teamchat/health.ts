import type { ChannelHealth } from '../../src/channel/index.ts';
import type { Refusal } from './refusal.ts';

/** So many calls in a row must fail before it is said: one that fails is tried again. */
const FAILURES = 3;

/** How the platform's API has been answering lately. */
export class Health {
  #failures = 0;
  #refusal: Refusal | null = null;

  answered(): void {
    this.#failures = 0;
    this.#refusal = null;
  }

  /** A refusal of one message says nothing of the others: the platform is there, and knows us. */
  refused(refusal: Refusal): void {
    if (refusal.final && !refusal.credentials) this.answered();
    else {
      this.#failures++;
      this.#refusal = refusal;
    }
  }

  get now(): ChannelHealth {
    const refusal = this.#refusal;
    if (refusal?.credentials)
      return { status: 'degraded', detail: `the platform refuses our credentials: ${refusal.reason}` };
    if (refusal === null || this.#failures < FAILURES) return { status: 'ok' };
    const detail = `the last ${this.#failures} calls to the platform failed: ${refusal.reason}`;
    return { status: 'degraded', detail };
  }
}
