import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What takes longest begins first, so that no long file is left for the end, when it would run alone. */
const LONGEST = [/\/principals\//, /\/e2e\/resilience-/, /\/e2e\/bench/, /\/e2e\//, /\/browser\//];

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
