import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

/** Tests that run in the process of the test, so that files of them can share a worker with its loaded modules. */
export const SHARING = ['test/unit/**/*.test.ts', 'test/contract/**/*.test.ts', 'test/rules/**/*.test.ts'];

/** Of these the files that mock a module, which must not be loaded yet: they have a worker each. */
export const MOCKING = globSync(SHARING, { cwd: ROOT }).filter((file) =>
  readFileSync(resolve(ROOT, file), 'utf8').includes('vi.mock('),
);
