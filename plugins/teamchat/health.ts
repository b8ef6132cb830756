import type { ChannelHealth } from '../../src/channel/index.ts';
import type { Refusal } from './refusal.ts';

/** Failed calls in a row after which the channel is degraded. A single failure is retried. */
const FAILURES = 3;

/** How the platform's API has answered recently. */
export class Health {
  #failures = 0;
  #refusal: Refusal | null = null;

  answered(): void {
    this.#failures = 0;
    this.#refusal = null;
  }

  /** A platform that refuses one message counts as healthy, because it answered and knows the bot. */
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
      return { status: 'degraded', detail: `the platform refuses the credentials: ${refusal.reason}` };
    if (refusal === null || this.#failures < FAILURES) return { status: 'ok' };
    const detail = `the last ${this.#failures} calls to the platform failed: ${refusal.reason}`;
    return { status: 'degraded', detail };
  }
}
