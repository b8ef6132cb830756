import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findGiven, readSources } from '../../../src/daemon/settings/sources.ts';
import { placeWith } from './place.ts';

async function givenIn(place: Parameters<typeof readSources>[0], name: string) {
  const sources = await readSources(place);
  expect(sources.problems).toEqual([]);
  const came = findGiven(sources, name);
  return came && [came.value, came.layer.source];
}

describe('the source of a setting', () => {
  const files = { '.env': 'PORT=2\nHOST=two', 'agentd.yaml': 'PORT: 3\nHOST: three\nAPP_NAME: three' };

  it('is the environment first, then .env, then the configuration file, then the defaults of --dev', async () => {
    const place = { ...placeWith({ PORT: '1' }, files), defaults: { APP_NAME: 'dev', LOG_FILE: 'dev.log' } };
    expect(await givenIn(place, 'PORT')).toEqual(['1', 'environment']);
    expect(await givenIn(place, 'HOST')).toEqual(['two', '.env']);
    expect(await givenIn(place, 'APP_NAME')).toEqual(['three', 'agentd.yaml']);
    expect(await givenIn(place, 'LOG_FILE')).toEqual(['dev.log', 'serve --dev']);
    expect(await givenIn(place, 'JWT_ISSUER')).toBeUndefined();
  });

  it.each(['', '  '])('is the next source if the value is %j', async (blank) => {
    expect(await givenIn(placeWith({ PORT: blank }, files), 'PORT')).toEqual(['2', '.env']);
  });

  it('is the named file of variables instead of .env', async () => {
    const place = placeWith({}, { ...files, 'other.env': 'PORT=9' });
    expect(await givenIn({ ...place, envFile: 'other.env' }, 'PORT')).toEqual(['9', 'other.env']);
    expect(await givenIn({ ...place, envFile: 'other.env' }, 'HOST')).toEqual(['three', 'agentd.yaml']);
  });

  it.each([
    ['agentd.json', '{"PORT": 7}'],
    ['agentd.config.yaml', 'PORT: 7'],
    ['agentd.config.json', '{"PORT": 7}'],
    ['agentd.config.ts', 'const port: number = 7;\nexport default { PORT: port };'],
    ['agentd.config.mjs', 'export default { PORT: 7 };'],
    ['.agentdrc', 'PORT: 7'],
    ['package.json', '{"agentd": {"PORT": 7}}'],
  ])('may be %s', async (name, content) => {
    expect(await givenIn(placeWith({}, { [name]: content }), 'PORT')).toEqual([7, name]);
  });

  it('is the named configuration file instead of a file that would be found', async () => {
    const place = placeWith({}, { ...files, 'etc/my.yaml': 'PORT: 9\nplugins: [./x.ts]' });
    const named = { ...place, configFile: 'etc/my.yaml' };
    expect(await givenIn(named, 'PORT')).toEqual(['2', '.env']);
    expect(await givenIn(named, 'APP_NAME')).toBeUndefined();
    const { plugins, folder } = await readSources(named);
    expect(folder).toBe(join(place.cwd, 'etc'));
    expect(plugins).toEqual([{ path: './x.ts', folder, setting: 'plugins[0]', source: 'etc/my.yaml' }]);
  });
});

/** Values that a few lines of YAML multiply: each line has ten times the values of the line before. */
const MULTIPLIED = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]']
  .concat(Array.from({ length: 30 }, (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n}, `.repeat(9)}*a${n}]`))
  .join('\n');

describe('a configuration file with aliases', () => {
  const refusalOf = async (content: string) => {
    const { problems, layers } = await readSources(placeWith({}, { 'agentd.yaml': content }));
    return [
      problems.map(({ setting, problem }) => `${setting} ${problem}`),
      layers.map(({ source }) => source),
    ];
  };

  it.each([
    [
      'multiply their values',
      `${MULTIPLIED}\ntools: *a30`,
      'agentd.yaml has more than 100000 values, with those that aliases repeat',
    ],
    [
      'refer to themselves',
      'tools: &t [{ name: a, x: *t }]',
      'agentd.yaml contains a value that refers to itself',
    ],
    [
      'are nested too deeply',
      `a0: &a0 [x]\n${Array.from({ length: 600 }, (_, n) => `a${n + 1}: &a${n + 1} [*a${n}]`).join('\n')}`,
      'agentd.yaml is nested more than 500 levels deep',
    ],
  ])('is refused if they %s', async (_, content, problem) => {
    expect(await refusalOf(content)).toEqual([[problem], expect.not.arrayContaining(['agentd.yaml'])]);
  });

  it('is read if they repeat a few values', async () => {
    const content = 'base: &b { X: 1 }\ntools: [*b, *b]\nPORT: 7';
    expect(await givenIn(placeWith({}, { 'agentd.yaml': content }), 'PORT')).toEqual([7, 'agentd.yaml']);
  });
});

describe('a file that cannot be read', () => {
  async function problemsOf(
    files: Record<string, string>,
    named: { envFile?: string; configFile?: string } = {},
  ) {
    const { problems } = await readSources({ ...placeWith({}, files), ...named });
    return problems.map(({ setting, problem }) => `${setting} ${problem}`);
  }

  it('is reported if it was named and does not exist', async () => {
    expect(await problemsOf({}, { envFile: 'no.env', configFile: 'no.yaml' })).toEqual([
      'no.env cannot be read (ENOENT)',
      'no.yaml does not exist',
    ]);
  });

  it('is reported with the line number of the error, and without quoting the line', async () => {
    expect(await problemsOf({ 'agentd.yaml': 'PORT: 1\nAPI_PASSWORD: "hunter2\n' })).toEqual([
      expect.stringMatching(/^agentd\.yaml cannot be read: there is a mistake in line \d: (?!.*hunter2)/),
    ]);
    expect(await problemsOf({ 'agentd.json': '{\n"API_PASSWORD": hunter2 }' })).toEqual([
      expect.stringMatching(/^agentd\.json cannot be read: there is a mistake(?!.*hunter2)/),
    ]);
  });

  it('is reported if a module throws', async () => {
    expect(await problemsOf({ 'agentd.config.mjs': 'throw new Error("no luck");' })).toEqual([
      expect.stringContaining('no luck'),
    ]);
  });

  it('is reported if it is not an object at its top level', async () => {
    expect(await problemsOf({ 'agentd.yaml': '- PORT' })).toEqual([
      'agentd.yaml is not an object at its top level',
    ]);
  });

  it('is reported with each line of .env that is invalid', async () => {
    const text = '# note\n\nexport PORT=1\nPORT 2\nJWT_PUBLIC_KEY="line\nline\n"\n: 3\nHOST=\r\n';
    expect(await problemsOf({ '.env': text })).toEqual([
      '.env:4 is neither NAME=value, nor a comment, nor blank',
      '.env:8 is neither NAME=value, nor a comment, nor blank',
    ]);
  });

  it.each([
    ['telex', 'plugins is not a list'],
    ['[{ name: telex }]', 'plugins[0] has no `path`'],
    ['[{ path: x, name: 1 }]', 'plugins[0] has a `name` that is not a string'],
    ['[{ path: x, from: y }]', 'plugins[0] has the unknown member `from`'],
  ])('is reported if `plugins` is %s', async (plugins, problem) => {
    expect(await problemsOf({ 'agentd.yaml': `plugins: ${plugins}` })).toEqual([problem]);
  });
});
