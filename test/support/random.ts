import { onTestFailed } from 'vitest';
import { randomFrom, type SeededRandom } from './chance.ts';

export type { SeededRandom } from './chance.ts';

/** Called within a test, whose failure then tells the seed; `DANGER_SEED` in the environment takes its place. */
export function seededRandom(seed: number): SeededRandom {
  const used = Number(process.env.DANGER_SEED ?? seed);
  onTestFailed(() => console.error(`seed: DANGER_SEED=${used}`));
  return randomFrom(used);
}
