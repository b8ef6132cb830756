import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadPlugins, type PluginSearch } from '../../../src/daemon/channels/load.ts';
import { placeWith } from '../settings/place.ts';
import { pluginSource } from './plugin-source.ts';

/** Creates a folder with these files. @returns a search for plugins in the folder */
function searchIn(
  files: Record<string, string>,
  {
    plugins = [],
    platforms,
  }: { plugins?: (string | { path: string; name: string })[]; platforms?: string[] },
): PluginSearch {
  const { cwd } = placeWith({}, files);
  return {
    entries: plugins.map((plugin, index) => ({
      ...(typeof plugin === 'string' ? { path: plugin } : plugin),
      folder: cwd,
      setting: `plugins[${index}]`,
      source: 'agentd.yaml',
    })),
    platforms: platforms ? { items: platforms, folder: cwd, source: 'environment' } : null,
    folders: [cwd],
  };
}

async function found(search: PluginSearch): Promise<string[]> {
  const { plugins, problems } = await loadPlugins(search);
  expect(problems).toEqual([]);
  return plugins
    .filter(({ from }) => from !== 'bundled')
    .map(({ plugin, from }) => `${plugin.name} from ${from}`);
}

const manifest = (entry: object) => JSON.stringify({ name: 'p', type: 'module', ...entry });

describe('a plugin is found', () => {
  it('among the bundled plugins', async () => {
    const { plugins } = await loadPlugins(searchIn({}, {}));
    expect(plugins.map(({ plugin, from }) => `${plugin.name} ${from}`)).toEqual(
      expect.arrayContaining(['sse bundled', 'webchat bundled']),
    );
  });

  it.each(['./channels/telex.ts', 'channels/telex.ts', './channels'])(
    'by an entry of the configuration file: %s',
    async (path) => {
      const files = { 'channels/telex.ts': pluginSource(), 'channels/index.ts': pluginSource() };
      expect(await found(searchIn(files, { plugins: [path] }))).toEqual([`telex from ${path}`]);
    },
  );

  it('by a path in MESSAGING_PLATFORMS', async () => {
    const search = searchIn({ 'telex.mjs': pluginSource() }, { platforms: ['./telex.mjs'] });
    expect(await found(search)).toEqual(['telex from ./telex.mjs']);
    expect((await loadPlugins(search)).byItem.get('./telex.mjs')?.plugin.name).toBe('telex');
  });

  it.each([
    ['exports', manifest({ exports: './lib/main.js' })],
    ['exports for import', manifest({ exports: { '.': { types: './x.d.ts', import: './lib/main.js' } } })],
    ['main', manifest({ main: 'lib/main.js' })],
  ])('in the installed package with its name, through the %s of the package', async (_what, content) => {
    const at = 'node_modules/agentd-channel-telex';
    const files = { [`${at}/package.json`]: content, [`${at}/lib/main.js`]: pluginSource() };
    expect(await found(searchIn(files, { platforms: ['telex'] }))).toEqual([
      'telex from package agentd-channel-telex',
    ]);
  });

  it('as a package that the configuration file names', async () => {
    const at = 'node_modules/@acme/telex';
    const files = { [`${at}/package.json`]: manifest({}), [`${at}/index.js`]: pluginSource() };
    expect(await found(searchIn(files, { plugins: ['@acme/telex'], platforms: ['telex'] }))).toEqual([
      'telex from package @acme/telex',
    ]);
  });

  it.each<[what: string, folder: string, files: Record<string, string>]>([
    ['its index.ts', 'telex', { 'telex/index.ts': pluginSource() }],
    [
      'its index.ts, even if it has been built',
      'telex',
      {
        'telex/index.ts': pluginSource(),
        'telex/package.json': manifest({ exports: './dist/index.js' }),
        'telex/dist/index.js': pluginSource({ name: `'stale'` }),
      },
    ],
    [
      'the exports of its package.json',
      'telex',
      { 'telex/package.json': manifest({ exports: './lib/main.js' }), 'telex/lib/main.js': pluginSource() },
    ],
    [
      'the main of its package.json',
      'telex',
      { 'telex/package.json': manifest({ main: 'lib/main.js' }), 'telex/lib/main.js': pluginSource() },
    ],
    ['its index.mjs', 'telex', { 'telex/index.mjs': pluginSource() }],
    [
      'the exports of an installed package, not its sources',
      'node_modules/telex',
      {
        'node_modules/telex/index.ts': 'export default {};',
        'node_modules/telex/package.json': manifest({ exports: './main.js' }),
        'node_modules/telex/main.js': pluginSource(),
      },
    ],
  ])('by the path of its folder: %s', async (_what, folder, files) => {
    const path = `./${folder}`;
    expect(await found(searchIn(files, { plugins: [path] }))).toEqual([`telex from ${path}`]);
    expect(await found(searchIn(files, { platforms: [path] }))).toEqual([`telex from ${path}`]);
  });

  it('only once if two places name the same file', async () => {
    const search = searchIn(
      { 'telex.mjs': pluginSource() },
      { plugins: ['./telex.mjs'], platforms: ['./telex.mjs'] },
    );
    expect(await found(search)).toEqual(['telex from ./telex.mjs']);
    expect((await loadPlugins(search)).byItem.get('./telex.mjs')?.plugin.name).toBe('telex');
  });

  it('never by an unknown name, which is reported later, together with the active channels', async () => {
    const { byItem, refused, problems } = await loadPlugins(searchIn({}, { platforms: ['telex'] }));
    expect([byItem.size, refused.size, problems.length]).toEqual([0, 0, 0]);
  });
});

describe('a plugin is refused', () => {
  async function refusal(files: Record<string, string>, asked: Parameters<typeof searchIn>[1]) {
    const search = searchIn(files, asked);
    const { plugins, problems } = await loadPlugins(search);
    const told = problems.map(({ setting, problem, right }) =>
      `${setting} ${problem} → ${right}`.replaceAll(search.folders[0] ?? '', 'FOLDER'),
    );
    return { problems: told, plugins };
  }

  async function refusalOf(source: string): Promise<string[]> {
    const { problems, plugins } = await refusal({ 'p.mjs': source }, { plugins: ['./p.mjs'] });
    expect(plugins.filter(({ from }) => from !== 'bundled')).toEqual([]);
    return problems;
  }

  it('if its file or package does not exist', async () => {
    const search = searchIn({}, { plugins: ['./none.ts', 'none-such'] });
    const { problems } = await loadPlugins(search);
    expect(problems).toMatchObject([
      {
        setting: 'plugins[0]',
        value: './none.ts',
        source: 'agentd.yaml',
        problem: `names a file that does not exist: ${join(search.folders[0] ?? '', 'none.ts')}`,
      },
      { setting: 'plugins[1]', problem: 'names the package none-such, which is not installed' },
    ]);
  });

  it.each([
    [
      'an empty folder',
      { 'p/readme': '' },
      'plugins[0] names the folder FOLDER/p, which has no module index.ts, index.js, index.mjs → a folder with the index.ts of a channel, or a package whose `exports` names its module',
    ],
    [
      'a package that was not built',
      { 'p/package.json': manifest({ exports: './dist/index.js' }) },
      'plugins[0] names the package in FOLDER/p, which has no module ./dist/index.js → a folder with the index.ts of a channel, or a package whose `exports` names its module',
    ],
    [
      'a folder whose channel is invalid',
      { 'p/index.ts': pluginSource({ summary: '1' }) },
      'plugins[0] `summary` is 1 (in FOLDER/p/index.ts) → one sentence',
    ],
  ])('if its path is the path of %s', async (_what, files, problem) => {
    expect((await refusal(files, { plugins: ['./p'] })).problems).toEqual([problem]);
  });

  it.each<[string, string, string]>([
    [
      'that throws when it is imported',
      `throw new Error('no luck');`,
      'plugins[0] cannot be loaded: no luck (at FOLDER/p.mjs:1) → a module that loads without errors and side effects',
    ],
    [
      'with no default export',
      'export const plugin = {};',
      'plugins[0] has no default export (it exports only plugin) → a channel plugin as default export',
    ],
    [
      'whose default export is a function',
      'export default () => {};',
      'plugins[0] has a function as default export → a channel plugin (an object) as default export',
    ],
    [
      'for another version of the contract',
      pluginSource({ apiVersion: '2', name: '7' }),
      'plugins[0] has apiVersion 2, but this agentd supports 1 → a version of the plugin for apiVersion 1, or another version of agentd',
    ],
    [
      'for no version of the contract',
      pluginSource({ apiVersion: 'undefined' }),
      'plugins[0] has no apiVersion, but this agentd supports 1 → a version of the plugin for apiVersion 1, or another version of agentd',
    ],
    [
      'with a bad name',
      pluginSource({ name: `'Telex'` }),
      'plugins[0] `name` is "Telex" → at most 32 lower-case letters, digits and single hyphens, beginning with a letter and not ending with a hyphen',
    ],
    [
      'without `create`',
      pluginSource({ create: 'undefined' }),
      'plugins[0] `create` is missing → a function',
    ],
    [
      'with a `detect` that is not a function',
      pluginSource({ detect: 'true' }),
      'plugins[0] `detect` is true → a function',
    ],
    [
      'with a setting without its prefix',
      pluginSource({ settings: `[{ name: 'TOKEN', kind: 'string', sentence: 'It is.' }]` }),
      'plugins[0] the name of a setting is "TOKEN" → upper snake case that begins with TELEX_',
    ],
    [
      'with a setting that has the name for the file of a secret',
      pluginSource({
        settings: `[
          { name: 'TELEX_KEY', kind: 'string', secret: true, sentence: 'It is.' },
          { name: 'TELEX_KEY_FILE', kind: 'string', sentence: 'It is.' }]`,
      }),
      'plugins[0] has a setting with the name TELEX_KEY_FILE, which names the file of the secret TELEX_KEY → another name; the daemon reads secrets from files for every channel',
    ],
    [
      'with a setting of an unknown kind',
      pluginSource({ settings: `[{ name: 'TELEX_X', kind: 'float', sentence: 'It is.' }]` }),
      'plugins[0] `kind` of TELEX_X is "float" → one of string, integer, number, boolean, choice, list, url',
    ],
    [
      'with a default outside its range',
      pluginSource({
        settings: `[{ name: 'TELEX_X', kind: 'integer', min: 1, max: 2, default: 3, sentence: 'It is.' }]`,
      }),
      'plugins[0] `default` of TELEX_X is 3 → a value of the kind integer, within its bounds',
    ],
    [
      'with a name that is reserved',
      pluginSource({ name: `'sse'` }),
      'plugins[0] has the reserved name sse → a name other than webchat, sse, teamchat, phonechat, msgbot',
    ],
    [
      'with a setting that the daemon has',
      pluginSource({
        name: `'agent'`,
        settings: `[{ name: 'AGENT_MODEL', kind: 'string', sentence: 'It is.' }]`,
      }),
      'plugins[0] has the setting AGENT_MODEL, which is taken → another name for it',
    ],
  ])('%s', async (_what, source, problem) => {
    expect(await refusalOf(source)).toEqual([problem]);
  });

  it('with all problems reported at once', async () => {
    const delivery = `'soon'`;
    const capabilities = `{ textLimit: 0, markdown: 'html', typing: false }`;
    expect(await refusalOf(pluginSource({ delivery, capabilities, summary: '1' }))).toEqual([
      'plugins[0] `summary` is 1 → one sentence',
      `plugins[0] \`delivery\` is "soon" → 'response', 'stream' or 'push'`,
      'plugins[0] `capabilities.textLimit` is 0 → a number above 0, or null',
      `plugins[0] \`capabilities.markdown\` is "html" → 'commonmark', 'platform' or 'none'`,
    ]);
  });

  it('if it shares a namespace with web clients although its platform identifies the sender', async () => {
    const capabilities = `{ namespace: 'web', textLimit: null, markdown: 'none', typing: false }`;
    expect(await refusalOf(pluginSource({ capabilities }))).toEqual([
      'plugins[0] `capabilities.namespace` is "web" → absent with `delivery: \'push\'`',
    ]);
  });

  it('if its `capabilities.groups` is neither true nor false', async () => {
    const capabilities = `{ textLimit: null, markdown: 'none', typing: false, groups: 0 }`;
    expect(await refusalOf(pluginSource({ capabilities }))).toEqual([
      'plugins[0] `capabilities.groups` is 0 → true or false, or absent',
    ]);
  });

  it.each([`''`, `' '`, `'a\\nb'`, `'x'.repeat(33)`, '1'])('if its title is %s', async (title) => {
    const [refusal, ...others] = await refusalOf(pluginSource({ title }));
    expect(refusal).toMatch(/^plugins\[0\] `title` is .* → a text of at most 32 characters, or absent$/);
    expect(others).toEqual([]);
  });

  it('if the paths of its event stream are invalid', async () => {
    const eventStream = `{ start: '', stream: '/telex/stream' }`;
    expect(await refusalOf(pluginSource({ eventStream }))).toEqual([
      'plugins[0] `eventStream.start` is "" → a path',
      'plugins[0] `eventStream.stream` is "/telex/stream" → a path that contains :stream_id',
    ]);
  });

  it.each([
    ['is not an object', `'phone'`, '`linking` is "phone" → an object, or absent'],
    [
      'has invalid members',
      `{ word: 'Phone!', argument: '', form: 7, idsOf: [] }`,
      '`linking.word` is "Phone!" → a name other than list and remove',
      '`linking.argument` is "" → a word',
      '`linking.form` is 7 → a text, or absent',
      '`linking.idsOf` is a list → a function',
    ],
    [
      'has a reserved word for `agentd link`',
      `{ word: 'list', argument: 'ID', idsOf: (id) => [id] }`,
      '`linking.word` is "list" → a name other than list and remove',
    ],
  ])('if its `linking` %s', async (_what, linking, ...told) => {
    expect(await refusalOf(pluginSource({ linking }))).toEqual(told.map((one) => `plugins[0] ${one}`));
  });

  it('for a wrong version before anything else is read', async () => {
    const source = `export default {
      apiVersion: 2,
      get name() { throw new Error('it was read'); },
      get settings() { throw new Error('it was read'); },
    };`;
    expect(await refusalOf(source)).toEqual([expect.stringContaining('has apiVersion 2')]);
  });

  it('if another plugin already has its name', async () => {
    const files = { 'a.mjs': pluginSource(), 'b.mjs': pluginSource() };
    const { problems } = await refusal(files, { plugins: ['./a.mjs', './b.mjs'] });
    expect(problems).toEqual([
      'plugins[1] has the name telex, which is taken (./a.mjs) → a plugin with another name',
    ]);
  });

  it('if its name differs from the entry of the configuration file', async () => {
    const { problems } = await refusal(
      { 'a.mjs': pluginSource() },
      { plugins: [{ path: './a.mjs', name: 'fax' }] },
    );
    expect(problems).toEqual(['plugins[0] is the channel telex, not fax → a plugin whose `name` is fax']);
  });

  it('if its package contains TypeScript', async () => {
    const at = 'node_modules/agentd-channel-telex';
    const files = {
      [`${at}/package.json`]: manifest({ main: 'index.ts' }),
      [`${at}/index.ts`]: pluginSource(),
    };
    const { problems } = await refusal(files, { platforms: ['telex'] });
    expect(problems).toEqual([
      `MESSAGING_PLATFORMS is TypeScript under node_modules, which Node does not run (in FOLDER/${at}/index.ts) → a package that ships .js`,
    ]);
  });
});
