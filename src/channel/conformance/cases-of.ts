import { Evidence } from './evidence.ts';
import type { ConformanceCase, ConformanceOptions, Trial } from './options.ts';

/** The cases that a test runner gets. The error of a failed case shows the latest deliveries and calls. */
export function casesOf(
  options: ConformanceOptions,
  trials: readonly (readonly [name: string, trial: Trial])[],
): ConformanceCase[] {
  return trials.map(([name, trial]) => ({
    name: `${options.plugin.name}: ${name}`,
    async run() {
      const evidence = new Evidence();
      try {
        await trial({ ...options, evidence });
      } catch (error) {
        throw evidence.shownWith(error);
      }
    },
  }));
}
