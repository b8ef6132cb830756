import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Runs the projects one after the other, in the order of the configuration. Vitest ends a worker, with all modules that
 * it has loaded, when the next file in the queue belongs to another project.
 */
export class ByProject extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const placeOf = ({ project }: TestSpecification) => this.ctx.projects.indexOf(project);
    return sorted.toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}
