import { defineConfig } from 'vitest/config';
import { ByProject } from './test/support/by-project.ts';
import { E2E, MOCKING, SLOW_MOCKING, SLOW_NATIVE, UNIT } from './test/support/suites.ts';

const SRC = `${import.meta.dirname}/src`;

const CLOSE_OPENED = './test/support/close-opened.ts';

/** Node.js loads the modules itself. If Vite transformed them, the tests would need a quarter more CPU time. */
const NATIVE = {
  isolate: false,
  experimental: { viteModuleRunner: false, nodeLoader: false },
  setupFiles: ['./test/support/prepare-worker.ts', CLOSE_OPENED],
  // Fewer garbage collections of young objects.
  execArgv: ['--max-semi-space-size=64'],
};

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
    // In this order: the longest first.
    projects: [
      // A loaded server of continuous integration stretches times between processes that no test expects. The last
      // lines of the run name each test that needed its second attempt.
      { extends: true, test: { name: 'e2e', ...E2E, ...NATIVE, retry: process.env.CI ? 1 : 0 } },
      { extends: true, test: { name: 'slow', include: SLOW_NATIVE, ...NATIVE } },
      { extends: true, test: { name: 'slow-mocking', include: SLOW_MOCKING, setupFiles: CLOSE_OPENED } },
      { extends: true, test: { name: 'unit', ...UNIT, ...NATIVE } },
      { extends: true, test: { name: 'mocking', include: MOCKING, setupFiles: CLOSE_OPENED } },
    ],
    // Only for tests that hang: how long a sound test takes is up to the machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    maxWorkers: 4,
    sequence: { sequencer: ByProject },
    reporters: ['default', './test/support/closing-line.ts'],
  },
});
