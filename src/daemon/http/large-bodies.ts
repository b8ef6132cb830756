import type { IncomingMessage } from 'node:http';
import type { Route } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';
import type { Clock } from '../time/clock.ts';

/** Maximum number of bodies over BODY_LIMIT_BYTES in memory at the same time, because anybody can send one. */
export const LARGE_AT_ONCE = 16;
/** Seconds after which a sender that found no room may try again. */
const RETRY_AFTER_SECONDS = 5;
/** How long a sender may send before its speed is measured, ms. */
const FIRST_JUDGED_MS = 1000;
/** Bytes per ms (256 KiB per second). A slower sender can lose its place to another sender. */
const SLOWEST = (256 * 1024) / 1000;

/**
 * Maximum size of the body of a webhook, whose route has a `bodyLimit`, bytes. BODY_LIMIT_BYTES does not raise it: the
 * platforms send no larger bodies.
 */
export const WEBHOOK_MAX = 4_194_304;

/** How much of one body may be read. */
export interface BodyRoom {
  /** Bytes. */
  limit: number;
  /** The problem of a body that is longer than `limit`. */
  tooLong(): AgentdError;
  /** Called once, when the request has been answered. */
  leave(): void;
}

/** A request whose large body is in memory or arriving. */
interface Inside {
  readonly request: IncomingMessage;
  readonly since: number;
  /** Bytes that the connection had received at the time `since`. */
  readonly before: number;
}

/**
 * Admits a bounded number of large bodies at a time, for the routes that allow them (`Route.bodyLimit`). Whether a
 * platform signed a body is known only when all of it has arrived, so slow senders could occupy all places for as long
 * as a request may take. Therefore, when all places are taken, the slowest sender loses its place to the next sender.
 */
export class LargeBodies {
  readonly #usual: number;
  readonly #clock: Clock;
  readonly #inside = new Set<Inside>();

  /** @param usual BODY_LIMIT_BYTES */
  constructor(usual: number, clock: Clock) {
    this.#usual = usual;
    this.#clock = clock;
  }

  /**
   * Decides how much of this request's body may be read. A body of unknown length may be small, so if there is no room,
   * it is refused only if it exceeds the usual limit.
   * @throws `unavailable` if the request announces a large body and there is no room for it now.
   */
  enter(request: IncomingMessage, route: Route): BodyRoom {
    const { headers, socket } = request;
    const isChunked = headers['transfer-encoding'] !== undefined;
    const length = isChunked ? Number.POSITIVE_INFINITY : Number(headers['content-length'] ?? 0);
    if (route.bodyLimit === undefined) return roomUpTo(this.#usual);
    const bodyLimit = Math.min(Math.max(route.bodyLimit, this.#usual), WEBHOOK_MAX);
    const usual = Math.min(this.#usual, bodyLimit);
    if (bodyLimit === usual || length <= usual) return roomUpTo(usual);
    // Refused because of its announced length, before any of it is read, so it needs no room.
    if (!isChunked && length > bodyLimit) return roomUpTo(bodyLimit);
    if (this.#inside.size < LARGE_AT_ONCE || this.#dropSlowest()) {
      const inside = { request, since: this.#clock.now(), before: socket.bytesRead };
      this.#inside.add(inside);
      return { ...roomUpTo(bodyLimit), leave: () => this.#inside.delete(inside) };
    }
    if (isChunked) return { limit: this.#usual, tooLong: noRoom, leave };
    throw noRoom();
  }

  /** Disconnects the slowest sender if it is slower than `SLOWEST`. @returns whether there is a place now */
  #dropSlowest(): boolean {
    const now = this.#clock.now();
    let slowest: Inside | null = null;
    let speed = SLOWEST;
    for (const inside of this.#inside) {
      const { request, since, before } = inside;
      if (request.complete || now - since < FIRST_JUDGED_MS) continue;
      const its = (request.socket.bytesRead - before) / (now - since);
      if (its < speed) [slowest, speed] = [inside, its];
    }
    if (slowest === null) return false;
    this.#inside.delete(slowest);
    // The memory of the body is freed only with its connection.
    slowest.request.destroy();
    return true;
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
