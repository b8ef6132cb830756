import { expect, it } from 'vitest';
import { differingSettings, settingsDigests } from '../../../src/daemon/replica/settings-digests.ts';
import { configure } from '../../../src/daemon/settings/configure/configure.ts';
import { placeWith, VALID } from '../settings/place.ts';

const KEY = { TOKEN_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64') };
const digestsOf = async (env: Record<string, string>) =>
  settingsDigests((await configure(placeWith({ ...VALID, ...env }))).settings);

it('a comparison names the settings that differ between daemons on one store', async () => {
  const mine = await digestsOf({ ...KEY, LOOP_GUARD_MAX_MESSAGES: '5' });
  expect(differingSettings(mine, await digestsOf({ ...KEY, PORT: '9000' }))).toEqual([]);
  const other = { ...KEY, LOOP_GUARD_MAX_MESSAGES: '6', JWT_ISSUER: 'x', JWT_SECRET_KEY: 's'.repeat(40) };
  expect(differingSettings(mine, await digestsOf(other)).toSorted()).toEqual([
    'JWT_ISSUER',
    'JWT_SECRET_KEY',
    'LOOP_GUARD_MAX_MESSAGES',
  ]);
});

it('if the sealing key differs, a comparison names no other secret, because the digests of secrets cannot be compared', async () => {
  const mine = await digestsOf(KEY);
  const other = await digestsOf({ TOKEN_ENCRYPTION_KEY: Buffer.alloc(32, 2).toString('base64') });
  // Without the key, nobody can compare guessed secrets with a digest.
  expect(other.JWT_SECRET_KEY).not.toBe(mine.JWT_SECRET_KEY);
  expect(differingSettings(mine, other)).toEqual(['TOKEN_ENCRYPTION_KEY']);
  expect(differingSettings(mine, await digestsOf({}))).toEqual(['TOKEN_ENCRYPTION_KEY']);
});

it('there is no digest of a secret without the key that seals tokens', async () => {
  expect(await digestsOf({})).not.toHaveProperty('JWT_SECRET_KEY');
  expect(await digestsOf({ TOKEN_ENCRYPTION_KEY: 'off' })).not.toHaveProperty('JWT_SECRET_KEY');
  expect(await digestsOf(KEY)).toHaveProperty('JWT_SECRET_KEY');
  expect(await digestsOf({})).toHaveProperty('JWT_ALGORITHM');
});

it('keys have one digest for each order, however their lines end', async () => {
  const [a, b] = ['a'.repeat(40), 'b'.repeat(40)];
  const differing = async (mine: string, other: string) =>
    differingSettings(
      await digestsOf({ ...KEY, JWT_SECRET_KEY: mine }),
      await digestsOf({ ...KEY, JWT_SECRET_KEY: other }),
    );
  expect(await differing(`${a}\n${b}`, `${a}\r\n\n${b}\n`)).toEqual([]);
  for (const other of [`${b}\n${a}`, a, b, `${a}${b}`])
    expect(await differing(`${a}\n${b}`, other)).toEqual(['JWT_SECRET_KEY']);
});
