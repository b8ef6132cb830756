import type { Clock } from '../../time/clock.ts';
import { McpFailure } from './mcp-failure.ts';

const WINDOW_MS = 60_000;
/**
 * Maximum number of messages per minute that answer no request: notifications, requests of the server, and answers that
 * no call waits for.
 */
export const MAX_UNASKED = 600;
const MAX_UNASKED_BYTES = 8_388_608;

/** Limits how many messages and bytes a server may send per minute without being asked. */
export class InboundMeter {
  readonly #clock: Clock;
  #since: number;
  #messages = 0;
  #bytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.now();
  }

  /**
   * Counts a message that answers no request.
   * @throws McpFailure if there were too many of these messages.
   */
  message(): void {
    this.#begin();
    this.#messages++;
    this.#check();
  }

  /**
   * Counts bytes that belong to no answer.
   * @throws McpFailure if there were too many of these bytes.
   */
  bytes(count: number): void {
    this.#begin();
    this.#bytes += count;
    this.#check();
  }

  #begin(): void {
    const now = this.#clock.now();
    if (Math.abs(now - this.#since) < WINDOW_MS) return;
    this.#since = now;
    this.#messages = 0;
    this.#bytes = 0;
  }

  #check(): void {
    if (this.#messages > MAX_UNASKED || this.#bytes > MAX_UNASKED_BYTES)
      throw new McpFailure('mcp_flood', 'The server sent too many unsolicited messages.');
  }
}
