/** How long a value may be in a trace, in characters. */
const VALUE_MAX = 160;

/** The events of a run, line by line. Empty unless a trace is requested. */
export class RunTrace {
  readonly lines: string[] = [];
  readonly #isWanted: boolean;
  readonly #now: () => number;
  readonly #began: number;
  readonly #names = new Map<string, string>();

  constructor(isWanted: boolean, now: () => number) {
    this.#isWanted = isWanted;
    this.#now = now;
    this.#began = now();
  }

  note(who: string, words: () => string): void {
    if (!this.#isWanted) return;
    const at = ((this.#now() - this.#began) / 1000).toFixed(3).padStart(8);
    this.lines.push(`${at} ${who.padEnd(4)} ${this.#short(words())}`);
  }

  /** Replaces long random ids with short names, which are numbered in the order in which they appear. */
  #short(text: string): string {
    return text.replaceAll(RANDOM_ID, (id) => {
      const known = this.#names.get(id) ?? `~${this.#names.size + 1}`;
      this.#names.set(id, known);
      return known;
    });
  }
}

const RANDOM_ID =
  /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|eyJ[\w-]+\.[\w-]+\.[\w-]+|(?<![\w-])[A-Za-z0-9_-]{43}(?![\w-])|(?<=_)[A-Za-z0-9_-]{22}(?![\w-])|(?<![\w-])[A-Za-z0-9_-]{22}(?![\w-])/g;

/** Formats a value for a line of a trace. */
export function brief(value: unknown): string {
  if (value === undefined) return '';
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  const json = JSON.stringify(value) ?? String(value);
  return json.length > VALUE_MAX ? `${json.slice(0, VALUE_MAX)}…` : json;
}
