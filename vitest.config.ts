import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';
import { E2E, MOCKING, SLOW, UNIT } from './test/support/suites.ts';

const SRC = `${import.meta.dirname}/src`;

export default defineConfig({
  resolve: {
    // The template imports agentd as a package does. In tests that is the source, not the last build.
    alias: [
      { find: /^agentd\/agent$/, replacement: `${SRC}/agent/index.ts` },
      { find: /^agentd\/channel$/, replacement: `${SRC}/channel/index.ts` },
      { find: /^agentd\/channel\/(conformance|markdown)$/, replacement: `${SRC}/channel/$1.ts` },
    ],
  },
  test: {
    environment: 'node',
    globalSetup: './test/support/temporary-files.ts',
    projects: [
      { extends: true, test: { name: 'unit', ...UNIT, isolate: false } },
      { extends: true, test: { name: 'mocking', include: MOCKING } },
      { extends: true, test: { name: 'slow', include: SLOW, isolate: false } },
      { extends: true, test: { name: 'e2e', include: E2E, isolate: false } },
    ],
    // Only for tests that hang: how long a sound test takes is up to the machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', './test/support/closing-line.ts'],
  },
});
