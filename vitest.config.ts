import { defineConfig } from 'vitest/config';
import { MOCKING, SHARING } from './test/support/isolated.ts';
import { LongestFirst } from './test/support/longest-first.ts';

const CHANNEL = `${import.meta.dirname}/src/channel`;

export default defineConfig({
  resolve: {
    // The template imports agentd as a package does; in tests that is the source, not the last build.
    alias: [
      { find: /^agentd\/channel$/, replacement: `${CHANNEL}/index.ts` },
      { find: /^agentd\/channel\/(conformance|markdown)$/, replacement: `${CHANNEL}/$1.ts` },
    ],
  },
  test: {
    environment: 'node',
    globalSetup: './test/support/temporary-files.ts',
    projects: [
      {
        extends: true,
        test: { name: 'shared', include: SHARING, exclude: MOCKING, isolate: false },
      },
      {
        extends: true,
        test: {
          name: 'isolated',
          include: ['test/{e2e,browser,principals,simulation}/**/*.test.ts', ...MOCKING],
        },
      },
    ],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', './test/support/closing-line.ts'],
  },
});
