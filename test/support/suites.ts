import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isThorough } from './effort.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/**
 * Test files that only `npm run test:thorough` runs. They take long, and `npm test` has a quick test of each of their
 * promises.
 */
export const THOROUGH = [
  'test/contract/kernel-postgres.test.ts',
  'test/contract/redis-cluster.test.ts',
  'test/contract/redis.test.ts',
  'test/e2e/channel-tutorial.test.ts',
  'test/e2e/collecting.test.ts',
  'test/e2e/container.test.ts',
  'test/e2e/load.test.ts',
  'test/e2e/memory-postgres.test.ts',
  'test/e2e/person-erase.test.ts',
  'test/e2e/redis-cluster.test.ts',
  'test/e2e/redis-fleet.test.ts',
  'test/e2e/redis-costs.test.ts',
  'test/e2e/resilience-platforms.test.ts',
  'test/e2e/resilience-writes.test.ts',
  'test/e2e/upgrade.test.ts',
  'test/unit/store/small-disk.test.ts',
  'test/unit/tools/openapi/real-documents.test.ts',
];
const LEFT_OUT = isThorough ? [] : THOROUGH;

/** Tests that run agentd as a program or use a browser, and `principals`. Most of them need `npm run build`. */
export const E2E = { include: ['test/{e2e,browser,principals}/**/*.test.ts'], exclude: LEFT_OUT };

/** Tests that run in the process of the test. They need no build. */
const IN_PROCESS = ['test/unit/**/*.test.ts', 'test/contract/**/*.test.ts', 'test/rules/**/*.test.ts'];

/**
 * Test files that take more than two seconds of CPU time each, for example because they inject every fault into every
 * call, or start many processes. `npm test` runs them, `npm run test:unit` does not.
 */
export const SLOW = [
  'test/contract/interrupted-erase.test.ts',
  'test/contract/kernel-postgres.test.ts',
  'test/contract/postgres.test.ts',
  'test/contract/redis-cluster.test.ts',
  'test/contract/redis-connect.test.ts',
  'test/contract/redis-failures.test.ts',
  'test/contract/redis-slot.test.ts',
  'test/contract/redis.test.ts',
  'test/contract/same-answers.test.ts',
  'test/contract/sqlite.test.ts',
  'test/simulation/simulation.test.ts',
  'test/unit/channel/markdown-limits.test.ts',
  'test/unit/channel/markdown-split.test.ts',
  'test/unit/cli/bin.test.ts',
  'test/unit/cli/completion.test.ts',
  'test/unit/inbox/outage-matrix.test.ts',
  'test/unit/inbox/work.test.ts',
  'test/unit/renewal/issuer.test.ts',
  'test/unit/store/held-lock.test.ts',
  'test/unit/store/killed-writer.test.ts',
  'test/unit/store/limits.test.ts',
  'test/unit/store/postgres-kernel.test.ts',
  'test/unit/store/postgres-store.test.ts',
  'test/unit/store/redis-kernel.test.ts',
  'test/unit/store/sqlite-histories.test.ts',
  'test/unit/store/sqlite-kernel.test.ts',
  'test/unit/store/small-disk.test.ts',
  'test/unit/tools/mcp/everything.test.ts',
  'test/unit/tools/schema/check-limits.test.ts',
  'test/unit/tools/mcp/persons.test.ts',
  'test/unit/tools/mcp/stdio.test.ts',
  'test/unit/tools/mcp/versions.test.ts',
  'test/unit/tools/openapi/real-documents.test.ts',
];

/** A test that examines stack traces. If Node.js loads the modules, these traces contain hooks of the test runner. */
const STACK_TRACES = 'test/unit/channels/modules/import-failure.test.ts';

/**
 * Whether Vite, and not Node.js, must load the modules of this test: it mocks a module. A mocked module must not have
 * been loaded before, so each such file needs a separate worker.
 */
const isMocking = (file: string) =>
  file === STACK_TRACES || readFileSync(resolve(ROOT, file), 'utf8').includes('vi.mock(');

export const MOCKING = globSync(IN_PROCESS, { cwd: ROOT }).filter(
  (file) => !SLOW.includes(file) && isMocking(file),
);
const SLOW_NOW = SLOW.filter((file) => !LEFT_OUT.includes(file));
export const SLOW_MOCKING = SLOW_NOW.filter(isMocking);

/** All other tests. Their files share workers, with the modules that are loaded there. */
export const UNIT = { include: IN_PROCESS, exclude: [...SLOW, ...MOCKING] };
export const SLOW_NATIVE = SLOW_NOW.filter((file) => !isMocking(file));
