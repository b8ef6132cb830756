import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import '../../../src/daemon/store/kernels/postgres/database.ts';

it('the client for Postgres has loaded what it needs for a password, before an upgrade can replace it', () => {
  const loaded = Object.keys(createRequire(import.meta.url).cache);
  expect(loaded.filter((file) => /\/node_modules\/pgpass\/[^/]+\/index\.js$/.test(file))).toHaveLength(1);
});
