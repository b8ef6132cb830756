import type { Reporter, TestModule } from 'vitest/node';

/**
 * Ends the run with one plain line that any tool can read: `N passed, N failed, N skipped`. Before it, names the tests
 * that passed only when they were tried again.
 */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const counts = { passed: 0, failed: errors.length, skipped: 0 };
    const retried: string[] = [];
    for (const module of modules) {
      // A file that fails outside of its tests (on import, in a hook) would otherwise not be counted.
      if (module.errors().length > 0) counts.failed++;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state !== 'pending') counts[state]++;
        if (test.diagnostic()?.flaky) retried.push(`${module.relativeModuleId} > ${test.fullName}`);
      }
    }
    for (const name of retried) process.stdout.write(`\npassed only when it was tried again: ${name}\n`);
    process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`);
  }
}
