import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/prepare/longest-first.ts';

export default defineConfig({
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
