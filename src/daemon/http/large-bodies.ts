import type { IncomingMessage } from 'node:http';
import type { Route } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';

/** Bodies over BODY_LIMIT_BYTES that are in memory at the same time: anybody can send one. */
export const LARGE_AT_ONCE = 16;
/** When a sender that found no room may try again, seconds. */
const RETRY_AFTER_SECONDS = 5;

/** How much of one body may be read. */
export interface BodyRoom {
  /** Bytes. */
  limit: number;
  /** The problem of a body that is longer than `limit`. */
  tooLong(): AgentdError;
  /** Called once, when the request has been answered. */
  leave(): void;
}

/** Room for the large bodies of routes that ask for it (`Route.bodyLimit`): a bounded number at a time. */
export class LargeBodies {
  readonly #usual: number;
  #inside = 0;

  /** @param usual BODY_LIMIT_BYTES */
  constructor(usual: number) {
    this.#usual = usual;
  }

  /**
   * Decides how much of this request's body may be read. A body of unknown length may be small, so it is not
   * refused when there is no room: it is refused only if it exceeds the usual limit.
   * @throws `unavailable` if the request announces a large body and there is no room for it now.
   */
  enter({ headers }: IncomingMessage, { bodyLimit = 0 }: Route): BodyRoom {
    const isChunked = headers['transfer-encoding'] !== undefined;
    const length = isChunked ? Number.POSITIVE_INFINITY : Number(headers['content-length'] ?? 0);
    if (bodyLimit <= this.#usual || length <= this.#usual) return roomUpTo(this.#usual);
    // Refused by its announced length, before any of it is read: it needs no room.
    if (!isChunked && length > bodyLimit) return roomUpTo(bodyLimit);
    if (this.#inside < LARGE_AT_ONCE) {
      this.#inside++;
      return { ...roomUpTo(bodyLimit), leave: () => this.#inside-- };
    }
    if (isChunked) return { limit: this.#usual, tooLong: noRoom, leave };
    throw noRoom();
  }
}

function roomUpTo(limit: number): BodyRoom {
  return {
    limit,
    tooLong: () => new AgentdError('body_too_large', `The body is larger than ${limit} bytes.`),
    leave,
  };
}

function noRoom(): AgentdError {
  return new AgentdError('unavailable', 'Too many large bodies are being processed.', {
    retryAfter: RETRY_AFTER_SECONDS,
  });
}

function leave(): void {}
