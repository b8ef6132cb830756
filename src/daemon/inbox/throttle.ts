/** Maximum number of hints for one reader within a minute; `HOUR` is the maximum within an hour. */
const MINUTE = { ms: 60_000, max: 10 } as const;
const HOUR = { ms: 3_600_000, max: 30 } as const;
/**
 * Within this time, the same text is sent only once, ms. A person may send ten pictures at once, and each would cause
 * the same hint.
 */
const SAME_MS = 3000;
/**
 * Maximum number of readers that are remembered. Beyond that, the reader whose last hint is the oldest is forgotten.
 */
const READERS_MAX = 10_000;

interface Told {
  text: string;
  at: number;
}

/**
 * Limits hints: texts that are not an answer (`ChannelScope.notify` with a `throttle_key`). The loop guard checks only
 * messages that lead to a run, so without this limit two programs could notify each other forever. Each process counts
 * only its own hints.
 */
export class Throttle {
  readonly #now: () => number;
  readonly #readers = new Map<string, readonly Told[]>();

  constructor(now: () => number) {
    this.#now = now;
  }

  allows(reader: string, text: string): boolean {
    const now = this.#now();
    const told = this.#lately(reader, now);
    return (
      told.length < HOUR.max &&
      told.filter(({ at }) => now - at < MINUTE.ms).length < MINUTE.max &&
      !told.some((hint) => hint.text === text && now - hint.at < SAME_MS)
    );
  }

  /** Records that a hint was sent. */
  note(reader: string, text: string): void {
    const now = this.#now();
    const told = this.#lately(reader, now);
    this.#readers.delete(reader);
    this.#readers.set(reader, [...told, { text, at: now }]);
    const [longest] = this.#readers.keys();
    if (this.#readers.size > READERS_MAX && longest !== undefined) this.#readers.delete(longest);
  }

  #lately(reader: string, now: number): readonly Told[] {
    // A hint with a time in the future is ignored: the clock was set back after it was sent.
    return (this.#readers.get(reader) ?? []).filter(({ at }) => at <= now && now - at < HOUR.ms);
  }
}
