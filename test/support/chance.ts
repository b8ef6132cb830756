/** Repeatable random numbers: the same seed makes the same choices in the same order. */
export interface SeededRandom {
  /** 0 ≤ result < 1. */
  next(): number;
  /** A whole number, 0 ≤ result < `below`. */
  below(below: number): number;
  pick<T>(from: readonly T[]): T;
  /** One of these, each with its weight. */
  weighted<T>(from: readonly (readonly [T, number])[]): T;
  /** True with this probability, 0 to 1. */
  chance(probability: number): boolean;
  bytes(length: number): Buffer;
  shuffled<T>(items: readonly T[]): T[];
}

export function randomFrom(seed: number): SeededRandom {
  const next = mulberry32(seed);
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    next,
    below,
    pick: <T>(from: readonly T[]) => from[below(from.length)] as T,
    weighted<T>(from: readonly (readonly [T, number])[]) {
      let left = next() * from.reduce((sum, [, weight]) => sum + weight, 0);
      for (const [one, weight] of from) {
        left -= weight;
        if (left < 0) return one;
      }
      return from.at(-1)?.[0] as T;
    },
    chance: (probability) => next() < probability,
    bytes: (length) => Buffer.from(Uint8Array.from({ length }, () => below(256))),
    shuffled<T>(items: readonly T[]) {
      const left = [...items];
      for (let last = left.length - 1; last > 0; last--) {
        const other = below(last + 1);
        [left[last], left[other]] = [left[other] as T, left[last] as T];
      }
      return left;
    },
  };
}

/** The random numbers of the history with this index: other numbers for each, also for adjacent seeds. */
export function randomOf(seed: number, index: number): SeededRandom {
  const random = randomFrom(Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(index + 1, 0xc2b2ae35));
  // The first numbers are skipped, because they are similar for adjacent seeds.
  for (let skipped = 0; skipped < 3; skipped++) random.next();
  return random;
}

/** Mulberry32: small, fast, good enough for choosing test cases. */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
