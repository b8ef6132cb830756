import type { IncomingMessage } from 'node:http';
import { getRawBody, type RawBodyError } from 'raw-body';
import type { Route } from '../../channel/index.ts';
import { isObject } from '../../channel/json-object.ts';
import { MULTIPART } from '../../channel/payload.ts';
import { BODY_LIMIT_MAX } from '../../channel/route.ts';
import { AgentdError } from '../errors.ts';
import { nestsDeeper } from '../syntax/json.ts';
import type { Clock } from '../time/clock.ts';

/** Deepest nesting of arrays and objects in a JSON body. */
const DEPTH_MAX = 64;

/** Maximum number of bytes of a refused body that are read and discarded, so that its sender receives the refusal. */
const DISCARD_MAX = 8 * 1024 * 1024;

/** How many pieces of a body may be of any size, and how many bytes further pieces must have on average. */
const FREE_PIECES = 1000;
const PIECE_BYTES = 256;

const NOTHING = new Uint8Array();
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The exact bytes of a request's body, read once; empty if the request has none.
 * @param room how much may be read; also limits a body of unknown length
 * @throws `unsupported_media_type`, `body_too_large`, `unavailable` if there is no room for a large body now, or
 * `invalid_request` if the sender disconnected
 */
export async function readBody(
  request: IncomingMessage,
  route: Route,
  room: Pick<BodyRoom, 'limit' | 'tooLong'>,
): Promise<Uint8Array> {
  const { headers } = request;
  const length = headers['content-length'];
  const hasBody = headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
  if (route.method === 'GET') {
    if (hasBody) discard(request);
    return NOTHING;
  }
  if (route.method === 'DELETE' && !hasBody) return NOTHING;
  limitPieces(request, room.limit);
  try {
    const expected = route.body === 'multipart' ? MULTIPART : route.contentType;
    checkMediaType(headers['content-type'], headers['content-encoding'], expected);
    return await getRawBody(request, { limit: room.limit, length: length ?? null });
  } catch (error) {
    discard(request);
    throw error instanceof AgentdError ? error : toError(error as RawBodyError, room);
  }
}

/** @throws `unsupported_media_type` if the body is encoded, or is not of the expected type */
export function checkMediaType(
  type: string | undefined,
  encoding: string | undefined,
  expected: string | undefined,
): void {
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new AgentdError('unsupported_media_type', 'Send the body without a content encoding.');
  }
  if (expected === undefined) return;
  const [essence = '', ...parameters] = (type ?? '').toLowerCase().split(';');
  if (essence.trim() !== expected) {
    throw new AgentdError('unsupported_media_type', `The content type must be ${expected}.`);
  }
  for (const parameter of parameters) {
    const charset = /^\s*charset\s*=\s*"?([^"\s]*)/.exec(parameter)?.[1];
    if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8') {
      throw new AgentdError('unsupported_media_type', 'The body must be encoded as UTF-8.');
    }
  }
}

function toError(error: RawBodyError, { tooLong }: Pick<BodyRoom, 'tooLong'>): AgentdError {
  if (error.type === 'entity.too.large') return tooLong();
  return new AgentdError('invalid_request', 'The body did not arrive completely.', { cause: error });
}

/**
 * Disconnects a sender whose body of at most `bytes` arrives in more pieces than networks and usual clients make. A
 * piece takes hundreds of bytes in memory, however short it is, and so a body would take hundreds of times its length.
 */
function limitPieces(request: IncomingMessage, bytes: number): void {
  let left = FREE_PIECES + bytes / PIECE_BYTES;
  request.on('data', () => {
    if (--left < 0) request.destroy();
  });
}

/**
 * Reads and discards the rest of a body, within limits: if the connection is closed while the sender still sends, the
 * answer may be lost.
 */
export function discard(request: IncomingMessage): void {
  limitPieces(request, DISCARD_MAX);
  let taken = 0;
  request.on('data', (chunk: Buffer) => {
    taken += chunk.length;
    if (taken > DISCARD_MAX) request.destroy();
  });
  request.resume();
}

/**
 * The body as a JSON object.
 * @throws `malformed_json`; `invalid_request` if it is nested too deeply
 */
export function parseJson(body: Uint8Array): Record<string, unknown> {
  const text = decode(body);
  // Checked before it is parsed: parsing 100,000 nested levels would hold up all requests.
  if (nestsDeeper(text, DEPTH_MAX)) throw tooDeep(text);
  const value = parse(text);
  if (!isObject(value)) throw noObject();
  return value;
}

function decode(body: Uint8Array): string {
  try {
    return utf8.decode(body);
  } catch (error) {
    throw noJson(error);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw noJson(error);
  }
}

/** The parser's message quotes the body, so only the log contains it. */
function noJson(cause: unknown): AgentdError {
  return new AgentdError('malformed_json', 'The body is not valid JSON in UTF-8.', { cause });
}

function noObject(): AgentdError {
  return new AgentdError('malformed_json', 'The body must be a JSON object.');
}

function tooDeep(text: string): AgentdError {
  if (!text.trimStart().startsWith('{')) return noObject();
  return new AgentdError('invalid_request', 'The body is nested too deeply.', {
    errors: [{ field: 'body', message: `must be nested at most ${DEPTH_MAX} levels deep` }],
  });
}

/** Maximum number of bodies over BODY_LIMIT_BYTES in memory at the same time, because anybody can send one. */
export const LARGE_AT_ONCE = 16;
/** Seconds after which a sender that found no room may try again. */
const RETRY_AFTER_SECONDS = 5;
/** How long a sender may send before its speed is measured, ms. */
const FIRST_JUDGED_MS = 1000;
/** Bytes per ms (256 KiB per second). A slower sender can lose its place to another sender. */
const SLOWEST = (256 * 1024) / 1000;

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
  readonly #limit: () => number;
  readonly #clock: Clock;
  readonly #inside = new Set<Inside>();

  /** @param limit the current BODY_LIMIT_BYTES */
  constructor(limit: () => number, clock: Clock) {
    this.#limit = limit;
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
    const limit = this.#limit();
    if (route.bodyLimit === undefined) return roomUpTo(limit);
    const bodyLimit = Math.min(Math.max(route.bodyLimit, limit), BODY_LIMIT_MAX);
    const usual = Math.min(limit, bodyLimit);
    if (bodyLimit === usual || length <= usual) return roomUpTo(usual);
    // Refused because of its announced length, before any of it is read, so it needs no room.
    if (!isChunked && length > bodyLimit) return roomUpTo(bodyLimit);
    if (this.#inside.size < LARGE_AT_ONCE || this.#dropSlowest()) {
      const inside = { request, since: this.#clock.now(), before: socket.bytesRead };
      this.#inside.add(inside);
      return { ...roomUpTo(bodyLimit), leave: () => this.#inside.delete(inside) };
    }
    if (isChunked) return { limit, tooLong: noRoom, leave };
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
