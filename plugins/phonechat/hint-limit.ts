/** Hints that one person gets within an hour at most: two programs must not tell each other for ever. */
const HINTS_MAX = 20;
const WINDOW_MS = 60 * 60 * 1000;
/** The same words again within this time are one hint: ten pictures at once are one album, ms. */
const SAME_MS = 10_000;
/** People that are remembered; beyond it those that were told longest ago are forgotten. */
const PEOPLE_MAX = 10_000;

interface Told {
  text: string;
  at: number;
}

/**
 * Hints stand outside of the loop guard, which looks at messages that are run. So they have a bound of their own,
 * for each person, in this process.
 */
export class HintLimit {
  readonly #now: () => number;
  readonly #people = new Map<string, Told[]>();

  constructor(now: () => number) {
    this.#now = now;
  }

  allows(user_id: string, text: string): boolean {
    const now = this.#now();
    const told = this.#within(user_id, now);
    return told.length < HINTS_MAX && !told.some((hint) => hint.text === text && now - hint.at < SAME_MS);
  }

  note(user_id: string, text: string): void {
    const now = this.#now();
    const told = this.#within(user_id, now);
    this.#people.delete(user_id);
    this.#people.set(user_id, [...told, { text, at: now }]);
    const [longest] = this.#people.keys();
    if (this.#people.size > PEOPLE_MAX && longest !== undefined) this.#people.delete(longest);
  }

  #within(user_id: string, now: number): Told[] {
    return (this.#people.get(user_id) ?? []).filter(({ at }) => now - at < WINDOW_MS);
  }
}
