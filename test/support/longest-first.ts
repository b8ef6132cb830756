import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Starts the longest files first, so that no long file runs alone at the end. The files of `principals` and
 * `simulation` need a processor each. The files between them in this list mostly wait for time to pass, so they run at
 * the same time.
 */
const LONGEST = [
  /\/principals\//,
  /\/e2e\/(?:redis-fleet|redis-replicas|simulate|later-channel|msgbot|sessions|admin-listener|redis-costs|phonechat|chat)\.test/,
  /\/simulation\//,
  /\/e2e\/(?:hostile-agent|resilience-|bench)/,
  /\/browser\//,
  /\/e2e\//,
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = LONGEST.findIndex((pattern) => pattern.test(moduleId));
  return place < 0 ? LONGEST.length : place;
}
