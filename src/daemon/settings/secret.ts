import { hash } from 'node:crypto';
import { inspect } from 'node:util';
import { percentDecoded } from '../syntax/percent.ts';

/**
 * A value that prints as `[secret]` everywhere: in template strings, JSON, `util.inspect` and loggers. Only `reveal()`
 * returns it, so a search for that name finds every place that uses the value.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  /** The part of a token that may be shown: its first 8 characters and a short hash (agentd(1), "Description"). */
  hint(): string {
    return `${this.#value.slice(0, 8)}… sha256:${hash('sha256', this.#value, 'hex').slice(0, 8)}`;
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

/** Headers as they are sent. */
export function revealAll(headers: Readonly<Record<string, Secret>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.reveal()]));
}

/**
 * A whole sequence of characters that can occur in a token. Matching whole sequences means that a long text is searched
 * only once.
 */
const RUN = /(?<![A-Za-z0-9_.-])[A-Za-z0-9_.-]+/g;
const LAST_RUN = /(?<![A-Za-z0-9_.-])[A-Za-z0-9_.-]+$/;
/** How a JSON object begins in base64url: `{"`. */
const HEADER = /eyJ[A-Za-z0-9_-]{5,}/;
/** `{` and white space, as some libraries write it. Words may begin like that, too, so the rest must be long. */
const SPACED_HEADER = /(?:eyA|ewo|ew0|ewk)[A-Za-z0-9_-]{10,}/;
const SPACED_PAYLOAD_MIN = 10;

/**
 * Masks everything shaped like a JWT in a text, even if it is truncated, unsigned, or directly after other characters
 * (`Bearer%20eyJ…`), and a JWT in an encoding that everybody can undo: dots that are escaped or at a line break, base64,
 * percent-encoding. For log lines, for messages of people, and for results of tools.
 */
export function maskTokens(text: string): string {
  // A token with one of its dots at a line break is a chain as a whole, and without it only partly.
  const whole = maskPlain(/eyJ/.test(text) ? text.replace(CHAIN, maskChain) : text);
  return MAY_BE_ENCODED.test(whole) ? whole.replace(ENCODED, maskEncoded) : whole;
}

function maskPlain(text: string): string {
  return /e[yw][JAo0k]/.test(text) ? text.replace(RUN, maskRun) : text;
}

/** A dot as it may be written between the parts of a token: with space around it, percent-encoded, or escaped. */
const DOT = String.raw`[\s\p{Cf}]*(?:\.|%(?:25)*2[Ee]|&(?:#46|#x2[Ee]|period);|\\+u002[Ee])[\s\p{Cf}]*`;
/** Parts with dots between them. Each character is read once, because a part ends only where a dot must begin. */
const CHAIN = new RegExp(`(?<![\\w-])[\\w-]+(?:${DOT}[\\w-]+)+`, 'gu');
const DOTS = new RegExp(`(${DOT})`, 'u');

/** Both parts of a token must be recognized, because sentences have such dots, too. */
function maskChain(chain: string): string {
  // Every second one is a dot.
  const parts = chain.split(DOTS);
  for (let index = 0; index + 2 < parts.length; index += 2) {
    const begins = (parts[index] ?? '').search(HEADER);
    if (begins < 0 || !HEADER.test(parts[index + 2] ?? '')) continue;
    parts.splice(index, 5, `${parts[index]?.slice(0, begins)}[token]`);
  }
  return parts.join('');
}

/** `eyJ` in base64, at each of its three positions, and percent-encoded. */
const MAY_BE_ENCODED = /ZXlK|V5S|leU|%65%79%4[Aa]/;
/** A long sequence of the characters of base64, base64url and percent-encoding. */
const ENCODED = /(?<![\w+/%=-])[\w+/%-]{60,}/g;

/** The rest of an escape of JSON, after its backslash: `\n` before a token looks like the begin of the sequence. */
const ESCAPED = /^(?:u[0-9A-Fa-f]{4}|[bfnrt/])/;

function maskEncoded(run: string, at: number, text: string): string {
  if (!MAY_BE_ENCODED.test(run)) return run;
  // JSON without the rest of an escape could not be parsed.
  const escaped = text[at - 1] === '\\' ? (ESCAPED.exec(run)?.[0] ?? '') : '';
  const rest = run.slice(escaped.length);
  const decoded = [run, rest].flatMap((one) => [
    Buffer.from(one, 'base64').toString('latin1'),
    percentDecoded(one),
  ]);
  return decoded.some((one) => maskPlain(one) !== one) ? `${escaped}[token]` : run;
}

function maskRun(run: string): string {
  const parts = run.split('.');
  const shown: string[] = [];
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index] ?? '';
    const begins = tokenStart(part, parts[index + 1], parts[index + 2]);
    if (begins < 0) shown.push(part);
    else {
      shown.push(`${part.slice(0, begins)}[token]`);
      index += 2;
    }
  }
  return shown.join('.');
}

/** The index in `header` at which a token begins, or -1. */
function tokenStart(header: string, payload: string | undefined, signature: string | undefined): number {
  if (!payload) return -1;
  const begins = header.search(HEADER);
  if (begins >= 0) return begins;
  return payload.length >= SPACED_PAYLOAD_MIN && signature !== undefined ? header.search(SPACED_HEADER) : -1;
}

/** Longest text that is held back because it may be the beginning of a token, in characters. */
const HELD_BACK_MAX = 16_384;

/**
 * Matches the beginning of a token in the last sequence of token characters of a text, however little of the token has
 * arrived.
 */
const BEGINNING = /e(?:$|[yw](?:$|[JAo0k]))/;

/** Where an end begins that may be the beginning of a token, or is half of a character; -1 if there is none. */
function unfinishedEnd(text: string): number {
  const run = text.search(LAST_RUN);
  const begin = run === -1 ? -1 : text.slice(run).search(BEGINNING);
  return begin === -1 ? text.search(/[\ud800-\udbff]$/) : run + begin;
}

/**
 * Masks the tokens of a text that arrives in pieces, wherever it is cut: the possible beginning of a token is held
 * back, and so is half of a character.
 */
export class StreamMask {
  #held = '';

  /** @returns the text that can be shown so far. */
  push(piece: string): string {
    const text = this.#held + piece;
    const begin = text.length > HELD_BACK_MAX ? -1 : unfinishedEnd(text);
    this.#held = begin === -1 ? '' : text.slice(begin);
    return maskPlain(begin === -1 ? text : text.slice(0, begin));
  }

  /** @returns the rest, at the end of the text. */
  end(): string {
    const rest = maskPlain(this.#held);
    this.#held = '';
    return rest;
  }
}
