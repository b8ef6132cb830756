import type { ConformanceCase, ConformanceOptions } from '../../../src/channel/conformance/options.ts';
import { channelConformance } from '../../../src/channel/conformance.ts';
import { hostileCases } from './hostile-cases.ts';

/** The cases of the published suite, and the cases that only the bundled channels and the template must pass. */
export function allCases(options: ConformanceOptions): ConformanceCase[] {
  return [...channelConformance(options), ...hostileCases(options)];
}
