/** Hints that one reader gets within a minute, and within an hour, at most. */
const MINUTE = { ms: 60_000, max: 10 } as const;
const HOUR = { ms: 3_600_000, max: 30 } as const;
/** The same words again within this time are one hint: ten pictures at once are one album, ms. */
const SAME_MS = 3000;
/** Readers that are remembered; beyond it those that were told longest ago are forgotten. */
const READERS_MAX = 10_000;

interface Told {
  text: string;
  at: number;
}

/**
 * Bounds the texts that nobody waits for (`ChannelScope.say`, `hint`): the loop guard looks at messages that are
 * run, so two programs could tell each other for ever that they read words only. Counted in this process.
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

  /** One was given. */
  note(reader: string, text: string): void {
    const now = this.#now();
    const told = this.#lately(reader, now);
    this.#readers.delete(reader);
    this.#readers.set(reader, [...told, { text, at: now }]);
    const [longest] = this.#readers.keys();
    if (this.#readers.size > READERS_MAX && longest !== undefined) this.#readers.delete(longest);
  }

  #lately(reader: string, now: number): readonly Told[] {
    // A hint of the future was given before the clock was set back.
    return (this.#readers.get(reader) ?? []).filter(({ at }) => at <= now && now - at < HOUR.ms);
  }
}
