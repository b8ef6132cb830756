import { onTestFailed } from 'vitest';
import { randomFrom, type SeededRandom } from './chance.ts';

export type { SeededRandom } from './chance.ts';

/** Call this within a test: its failure then shows the seed. `DANGER_SEED` in the environment sets the seed. */
export function seededRandom(seed: number): SeededRandom {
  const used = Number(process.env.DANGER_SEED ?? seed);
  onTestFailed(() => console.error(`seed: DANGER_SEED=${used}`));
  return randomFrom(used);
}
