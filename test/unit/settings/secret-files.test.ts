import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type ConfigLocation,
  configure,
  configureCore,
  inspectConfiguration,
} from '../../../src/daemon/settings/configure/configure.ts';
import type { Secret } from '../../../src/daemon/settings/secret.ts';
import { placeWith, SECRET, VALID } from './place.ts';

const { JWT_SECRET_KEY: _, ...WITHOUT } = VALID;
const FILE = { ...WITHOUT, JWT_SECRET_KEY_FILE: 'secrets/jwt' };

async function problemsOf(place: ConfigLocation): Promise<string[]> {
  const { problems } = await inspectConfiguration(place);
  return problems.map(({ setting, problem }) => `${setting} ${problem}`);
}

async function secretOf(place: ConfigLocation): Promise<string | undefined> {
  return (await configure(place)).settings.JWT_SECRET_KEY?.reveal();
}

describe('a secret in a file', () => {
  it.each([
    ['alone', SECRET, SECRET],
    ['with a line break', `${SECRET}\n`, SECRET],
    ['with the line break of Windows', `${SECRET}\r\n`, SECRET],
    ['with two line breaks, of which the first belongs to the value', `${SECRET}\n\n`, `${SECRET}\n`],
    ['with spaces around it, which belong to the value', ` ${SECRET}\t\n`, ` ${SECRET}\t`],
  ])(
    'is the whole value of the setting, except for one final line break: %s',
    async (_what, content, expected) => {
      expect(await secretOf(placeWith(FILE, { 'secrets/jwt': content }))).toBe(expected);
    },
  );

  it('may be named in .env or in the configuration file, and its path is relative to that file', async () => {
    const files = { 'secrets/jwt': `${SECRET}\n` };
    const line = 'JWT_SECRET_KEY_FILE=secrets/jwt';
    expect(await secretOf(placeWith(WITHOUT, { ...files, '.env': line }))).toBe(SECRET);
    const place = placeWith(WITHOUT, {
      ...files,
      'config/agentd.yaml': 'JWT_SECRET_KEY_FILE: ../secrets/jwt',
    });
    expect(await secretOf({ ...place, configFile: 'config/agentd.yaml' })).toBe(SECRET);
  });

  it('may hold several keys, one per line, like a list in the configuration file', async () => {
    const lines = `${SECRET}\nnext-${SECRET}`;
    expect(await secretOf(placeWith(FILE, { 'secrets/jwt': `${lines}\n` }))).toBe(lines);
    const listed = `JWT_SECRET_KEY:\n  - ${SECRET}\n  - next-${SECRET}\n`;
    const place = placeWith(WITHOUT, { 'agentd.yaml': listed });
    expect(await secretOf(place)).toBe(lines);
    const { effective } = await inspectConfiguration(place);
    expect(effective.find(({ record }) => record.name === 'JWT_SECRET_KEY')?.shown).toBe('[secret]');
  });

  it('is shown as [secret] with both of its sources', async () => {
    const { effective } = await configure(placeWith(FILE, { 'secrets/jwt': SECRET }));
    const setting = effective.find(({ record }) => record.name === 'JWT_SECRET_KEY');
    expect(setting).toMatchObject({ shown: '[secret]', source: 'environment, JWT_SECRET_KEY_FILE' });
    expect(JSON.stringify(effective)).not.toContain(SECRET);
  });

  it('is passed to the channel that has the setting', async () => {
    const channel = `export default { name: 'telex', apiVersion: 1, summary: 'By telex.',
      settings: [{ name: 'TELEX_TOKEN', kind: 'string', secret: true, required: true, sentence: 'Token.' }],
      detect: (settings) => settings.TELEX_TOKEN !== undefined,
      create: () => ({ routes: [], send: async () => {} }),
      delivery: 'push', capabilities: { textLimit: 80, markdown: 'none', typing: false } };`;
    const files = {
      'telex.mjs': channel,
      'agentd.yaml': 'plugins: [./telex.mjs]\nTELEX_TOKEN_FILE: ./token',
    };
    const { channels } = await configure(placeWith(VALID, { ...files, token: 'of the telex\n' }));
    expect(channels.map(({ plugin }) => plugin.name)).toEqual(['webchat', 'telex']);
    const token = channels[1]?.settings.TELEX_TOKEN as Secret | undefined;
    expect(token?.reveal()).toBe('of the telex');
    expect(await problemsOf(placeWith(VALID, files))).toEqual([
      'TELEX_TOKEN_FILE is a file that cannot be read (ENOENT)',
    ]);
  });

  it('is overridden by a source of higher precedence, and the file is then not read', async () => {
    const place = placeWith({ ...VALID }, { '.env': 'JWT_SECRET_KEY_FILE=no/such/file' });
    expect(await secretOf(place)).toBe(SECRET);
    const { effective } = await configure(place);
    expect(effective.find(({ record }) => record.name === 'JWT_SECRET_KEY')?.source).toBe('environment');
  });

  it('overrides a value in a source of lower precedence', async () => {
    const place = placeWith(FILE, { '.env': 'JWT_SECRET_KEY=of-the-env-file', 'secrets/jwt': SECRET });
    expect(await secretOf(place)).toBe(SECRET);
  });

  it('is validated like any other secret', async () => {
    const env = { ...FILE, NODE_ENV: 'production' };
    expect(await problemsOf(placeWith(env, { 'secrets/jwt': 'abc\n' }))).toEqual([
      expect.stringMatching(/^JWT_SECRET_KEY has 24 bits/),
    ]);
  });
});

describe('a secret in a file is refused', () => {
  it('if the same source also has the value itself', async () => {
    const both = placeWith({ ...VALID, JWT_SECRET_KEY_FILE: 'secrets/jwt' }, { 'secrets/jwt': SECRET });
    expect(await problemsOf(both)).toEqual([
      'JWT_SECRET_KEY_FILE is set together with JWT_SECRET_KEY in the same source',
    ]);
    const below = placeWith(VALID, { '.env': `JWT_SECRET_KEY=x\nJWT_SECRET_KEY_FILE=secrets/jwt` });
    expect(await problemsOf(below)).toHaveLength(1);
  });

  it.each<[string, Record<string, string>, string]>([
    ['if it does not exist', {}, 'is a file that cannot be read (ENOENT)'],
    ['if it is a directory', { 'secrets/jwt/inner': '' }, 'is not the path of a regular file'],
    ['if it is empty', { 'secrets/jwt': '\n' }, 'is an empty file'],
    ['if it is far too long', { 'secrets/jwt': 'x'.repeat(65_537) }, 'is a file of more than 64 KiB'],
  ])('%s, and no other problem is reported', async (_what, files, problem) => {
    expect(await problemsOf(placeWith(FILE, files))).toEqual([`JWT_SECRET_KEY_FILE ${problem}`]);
  });

  it('if it is not text', async () => {
    const place = placeWith(FILE, { 'secrets/other': '' });
    writeFileSync(join(place.cwd, 'secrets/jwt'), Buffer.from([0xff, 0xfe, 0x00]));
    expect(await problemsOf(place)).toEqual(['JWT_SECRET_KEY_FILE is a file that is not UTF-8 text']);
  });

  it('only by commands that need the secret', async () => {
    const place = placeWith(FILE);
    await expect(configureCore(place, 'tokens')).rejects.toThrow('JWT_SECRET_KEY_FILE');
    expect((await configureCore(place, 'store')).PORT).toBe(8080);
  });

  it('without revealing a secret that was set instead of the path', async () => {
    const { problems } = await inspectConfiguration(placeWith({ ...WITHOUT, JWT_SECRET_KEY_FILE: SECRET }));
    expect(problems).toMatchObject([{ setting: 'JWT_SECRET_KEY_FILE', value: null, source: 'environment' }]);
    expect(JSON.stringify(problems)).not.toContain(SECRET);
    const path = await inspectConfiguration(placeWith({ ...WITHOUT, JWT_SECRET_KEY_FILE: '/run/no' }));
    expect(path.problems).toMatchObject([{ value: '/run/no' }]);
  });
});

describe('a file of settings that others can read', () => {
  const modes = async (file: string, content: string, mode: number, env: Record<string, string> = VALID) => {
    const place = placeWith(env, { [file]: content });
    chmodSync(join(place.cwd, file), mode);
    return { warnings: (await configure(place)).warnings, path: join(place.cwd, file) };
  };

  it.each([
    ['.env', `API_PASSWORD=p\nAPI_EMAIL=a@example.com\nAPI_BASE_URL=http://127.0.0.1:9\n`, 0o644, '0644'],
    [
      'agentd.yaml',
      `API_PASSWORD: p\nAPI_EMAIL: a@example.com\nAPI_BASE_URL: http://127.0.0.1:9\n`,
      0o640,
      '0640',
    ],
  ])('causes a warning if it contains a secret: %s', async (file, content, mode, shown) => {
    const { warnings, path } = await modes(file, content, mode);
    expect(warnings).toEqual([
      `${file} contains API_PASSWORD, and other users of this machine can read it (mode ${shown}); run: chmod 600 ${path}`,
    ]);
    expect((await modes(file, content, 0o600)).warnings).toEqual([]);
  });

  it('causes no warning if it contains no secret, or only the path of a file with a secret', async () => {
    expect((await modes('.env', 'PORT=1\nJWT_ISSUER=x\n', 0o644)).warnings).toEqual([]);
    const place = placeWith(WITHOUT, { '.env': 'JWT_SECRET_KEY_FILE=jwt\n', jwt: SECRET });
    chmodSync(join(place.cwd, '.env'), 0o644);
    expect((await configure(place)).warnings).toEqual([]);
  });

  it('causes a warning if it contains the secret of a channel', async () => {
    const { warnings } = await modes('.env', 'TEAMCHAT_SIGNING_SECRET=s\n', 0o604);
    expect(warnings[0]).toContain('.env contains TEAMCHAT_SIGNING_SECRET');
  });
});
