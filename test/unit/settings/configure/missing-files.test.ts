import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configure } from '../../../../src/daemon/settings/configure/configure.ts';
import { placeWith, VALID } from '../place.ts';

describe('a file with settings that is missing or empty when a running daemon reads it again', () => {
  const written = {
    'agentd.yaml': 'JWT_ISSUER: https://site.example\ntools: []\n',
    '.env': 'JWT_AUDIENCE=agentd\n',
  };

  it.each([
    ['agentd.yaml', null],
    ['agentd.yaml', ''],
    ['.env', null],
    ['.env', '\n'],
  ] as const)(
    'is a problem, because the daemon would check less than before: %s, now %o',
    async (file, now) => {
      const place = placeWith(VALID, written);
      const running = await configure(place);
      const path = join(place.cwd, file);
      if (now === null) rmSync(path);
      else writeFileSync(path, now);
      await expect(configure(place, running)).rejects.toMatchObject({
        problems: [{ setting: file, problem: 'is missing or empty, but the daemon runs with its settings' }],
      });
      // A daemon that starts knows of no such file.
      expect(await configure(place)).toMatchObject({ environment: '' });
    },
  );

  it('is no problem if another file has taken its place, or if it had no setting', async () => {
    const place = placeWith(VALID, { 'agentd.yaml': '# nothing yet', '.env': '' });
    const first = await configure(place);
    rmSync(join(place.cwd, '.env'));
    rmSync(join(place.cwd, 'agentd.yaml'));
    const second = await configure(place, first);
    writeFileSync(join(place.cwd, 'agentd.yaml'), written['agentd.yaml']);
    const third = await configure(place, second);
    renameSync(join(place.cwd, 'agentd.yaml'), join(place.cwd, 'agentd.yml'));
    expect(await configure(place, third)).toMatchObject({ compared: { changed: [], fixed: [] } });
  });
});
