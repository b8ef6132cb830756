import { createHash } from 'node:crypto';
import { inspect } from 'node:util';

/**
 * A value that prints as `[secret]` wherever it ends up: template strings, JSON, `util.inspect`, loggers.
 * Only `reveal()` gives it out, so every place where a secret leaves can be found by that word.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  /** What may be shown of a token: its first 8 characters and a short hash (cli.md). */
  hint(): string {
    return `${this.#value.slice(0, 8)}… sha256:${createHash('sha256').update(this.#value).digest('hex').slice(0, 8)}`;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}

/** Anything shaped like a JWT: two base64url JSON objects and a signature, also a truncated or empty one. */
const JWT_SHAPE = /\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?/g;

/** Masks every token in a text; for log lines, for what people type, for what tools answer. */
export function maskTokens(text: string): string {
  return text.includes('eyJ') ? text.replace(JWT_SHAPE, '[token]') : text;
}

/** Longest text that is held back because it may be the beginning of a token, in characters. */
const HELD_BACK_MAX = 16_384;

/** What the end of a text may still become: the beginning of a token, cut off anywhere. */
const BEGINNING = /\be(?:y(?:J[A-Za-z0-9_.-]*)?)?$/;

/** Masks the tokens of a text that comes in pieces, wherever it is cut: what may become one is held back. */
export class StreamMask {
  #held = '';

  /** @returns what can be shown by now. */
  push(piece: string): string {
    const text = this.#held + piece;
    const begin = text.length > HELD_BACK_MAX ? -1 : text.search(BEGINNING);
    this.#held = begin === -1 ? '' : text.slice(begin);
    return maskTokens(begin === -1 ? text : text.slice(0, begin));
  }

  /** @returns the rest, at the end of the text. */
  end(): string {
    const rest = maskTokens(this.#held);
    this.#held = '';
    return rest;
  }
}
