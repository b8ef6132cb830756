import type { IncomingMessage } from 'node:http';
import type { Route } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';

/** Bodies beyond BODY_LIMIT_BYTES that are dealt with at once: whoever sends them may be anybody. */
export const LARGE_AT_ONCE = 16;
/** When to come again where there is no room, seconds. */
const AGAIN_SECONDS = 5;

/** How much of a body may be read. */
export interface BodyRoom {
  /** Bytes. */
  limit: number;
  /** Called once, when the request has been answered. */
  leave(): void;
}

/** Room for the large bodies of routes that say so (`Route.bodyLimit`), a bounded number of them at a time. */
export class LargeBodies {
  readonly #usual: number;
  #inside = 0;

  /** @param usual BODY_LIMIT_BYTES */
  constructor(usual: number) {
    this.#usual = usual;
  }

  /**
   * How much of this request's body may be read. One that does not tell its length may be a large one, or not: it
   * is not refused where there is no room, but held to the usual limit.
   * @throws `unavailable` where it tells that it is large, and there is no room for it now.
   */
  enter({ headers }: IncomingMessage, { bodyLimit = 0 }: Route): BodyRoom {
    const length = headers['content-length'];
    const isChunked = headers['transfer-encoding'] !== undefined;
    if (bodyLimit <= this.#usual || (!isChunked && Number(length ?? 0) <= this.#usual))
      return { limit: this.#usual, leave };
    // It is refused for what it says of itself, before any of it is read.
    if (!isChunked && Number(length) > bodyLimit) return { limit: bodyLimit, leave };
    if (this.#inside < LARGE_AT_ONCE) {
      this.#inside++;
      return { limit: bodyLimit, leave: () => this.#inside-- };
    }
    if (isChunked) return { limit: this.#usual, leave };
    throw new AgentdError('unavailable', 'Too many large bodies are being dealt with.', {
      retryAfter: AGAIN_SECONDS,
    });
  }
}

function leave(): void {}
