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
