import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/prepare/longest-first.ts';

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
    include: ['test/**/*.test.ts'],
    environment: 'node',
    globalSetup: './test/prepare/temporary-files.ts',
    testTimeout: 30_000,
    hookTimeout: 30_000,
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', './test/prepare/closing-line.ts'],
  },
});
