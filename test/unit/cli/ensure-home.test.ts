import { expect, it } from 'vitest';
import { ensureHome } from '../../../src/cli/ensure-home.ts';

it('ensureHome sets HOME for a user without a home directory', () => {
  const env: NodeJS.ProcessEnv = {};
  ensureHome(env, () => {
    throw new Error('uv_os_homedir returned ENOENT');
  });
  expect(env).toEqual({ HOME: '/' });
});

it('ensureHome changes nothing for a user with a home directory', () => {
  const env: NodeJS.ProcessEnv = {};
  ensureHome(env, () => '/home/ada');
  expect(env).toEqual({});
});
