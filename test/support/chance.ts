/** Repeatable random numbers: the same seed makes the same choices in the same order. */
export interface SeededRandom {
  /** 0 ≤ result < 1. */
  next(): number;
  /** A whole number, 0 ≤ result < `below`. */
  below(below: number): number;
  pick<T>(from: readonly T[]): T;
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
