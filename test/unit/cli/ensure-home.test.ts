import { expect, it } from 'vitest';
import { ensureHome } from '../../../src/cli/ensure-home.ts';

it('a user without a home gets one', () => {
  const env: NodeJS.ProcessEnv = {};
  ensureHome(env, () => {
    throw new Error('uv_os_homedir returned ENOENT');
  });
  expect(env).toEqual({ HOME: '/' });
});

it('a user with a home keeps it', () => {
  const env: NodeJS.ProcessEnv = {};
  ensureHome(env, () => '/home/ada');
  expect(env).toEqual({});
});
