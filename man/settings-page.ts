/**
 * The two files that are made from the records of the settings: agentd-settings(5) and the example
 * configuration. `npm run man` writes them; test/unit/settings/reference.test.ts holds them fresh.
 */
import type { SettingRecord } from '../src/channel/index.ts';
import { loadPlugins } from '../src/daemon/plugin/load.ts';
import { exampleFile } from '../src/daemon/settings/example-file.ts';
import { formOf, type SettingGroup, settingGroups } from '../src/daemon/settings/reference.ts';
import { list, type Page, prose, render, text } from './mdoc.ts';

/** Path from the root of the repository → content, for the daemon and the bundled channels. */
export async function settingsFiles(): Promise<Map<string, string>> {
  const { plugins } = await loadPlugins({ entries: [], platforms: null, folders: [] });
  const groups = settingGroups(plugins.map(({ plugin }) => plugin));
  return new Map([
    ['man/agentd-settings.5', render(settingsPage(groups))],
    ['config/agentd.example.yaml', exampleFile(groups)],
  ]);
}

/** agentd-settings(5), from the records of the settings. */
export function settingsPage(groups: readonly SettingGroup[]): Page {
  return {
    name: 'agentd-settings',
    section: '5',
    summary: 'settings of agentd',
    sections: [
      { title: 'DESCRIPTION', body: DESCRIPTION },
      {
        title: 'SETTINGS',
        body: groups
          .map(({ title, records }) => [`.Ss ${text(title)}`, list(records.map(item))].join('\n'))
          .join('\n'),
      },
      { title: 'PLUGINS', body: PLUGINS },
      { title: 'FILES', body: FILES },
      { title: 'EXAMPLES', body: EXAMPLES },
      { title: 'SEE ALSO', body: '.Xr agentd 1 ,\n.Xr agentd-config 1 ,\n.Xr agentd-channel 7' },
    ],
  };
}

const DESCRIPTION = [
  prose(
    'A setting has the same name in the environment, in `.env`, and in the configuration file. The environment wins over `.env`, and that over the file. An empty value counts as not set. Every problem is reported at once, each with what is wrong, where it came from and what would be right; the exit status is 78 then.',
  ),
  '.Pp',
  prose(
    'In the file a number, a boolean or a list may be written as such; lists may also be one text with commas, as in the environment. A text that looks like a number or a boolean must stand in quotes there. Relative paths are seen from the working directory; STATE_DIR and LOG_FILE may begin with a tilde, and under systemd the default of STATE_DIR is STATE_DIRECTORY. Secrets are shown as `[secret]` everywhere.',
  ),
  '.Pp',
  prose(
    'Every secret can also be given as a file, as container secrets and systemd credentials are: the setting with `_FILE` after its name holds the path, and the content of the file, without one line break at its end, is the value. Both in one source is a problem, and so is a file that cannot be read. In the configuration file the path is seen from that file. The daemon warns when `.env` or the configuration file holds a secret and other users of the machine can read it.',
  ),
  '.Pp',
  prose(
    'An unknown name in the file is a problem. In the environment, where the names of other programs live too, only one that looks like a misspelt setting is. REDIS_URL, DATABASE_URL and MEMORY_BACKEND set what this version does not have: the daemon does not start with them, unless MEMORY_BACKEND is `none`.',
  ),
  '.Pp',
  prose(
    'NODE_ENV is read from the environment and from `.env`. Under `production` and `staging`, settings that only development needs are refused. JWT_VERIFY_SIGNATURE=false and JWT_VERIFY_EXP=false need NODE_ENV=development or NODE_ENV=test, or `agentd serve --dev`.',
  ),
].join('\n');

const PLUGINS = [
  prose(
    'The key `plugins` of the configuration file lists channels beyond the bundled ones. An entry is the path of a module or of its folder, relative to the file (it begins with a dot, a slash or a tilde, or ends like a module), or the name of an installed package; or an object with `path`, and with `name`, which the channel must then have.',
  ),
  '.Pp',
  prose(
    'A name in MESSAGING_PLATFORMS is looked for among these, then among the bundled channels, then as the installed package `agentd-channel-NAME`. It may also be the path of a module. A module may be TypeScript, but not in a package. A plugin that does not fit the contract stops the start.',
  ),
].join('\n');

const FILES = list([
  {
    term: 'Pa .env',
    body: prose('Lines of the form NAME=value, in the working directory, or where `--env-file` says.'),
  },
  {
    term: 'Pa agentd.yaml , agentd.yml , agentd.json',
    body: prose(
      'The configuration file, in the working directory, or where `--config` says. It is also found as `agentd.config.js` or `agentd.config.ts`, as `.agentdrc` with or without an ending, there or in `.config`, and under `agentd` in `package.json`.',
    ),
  },
  {
    term: 'Pa STATE_DIR/encryption-key',
    body: prose(
      'The key that seals stored tokens, in the form of TOKEN_ENCRYPTION_KEY, unless that is set. The first start makes it with mode 0600. It still opens what it has sealed after TOKEN_ENCRYPTION_KEY was set. The daemon does not start if the file is broken, or if it is gone and the store needs it. Back it up with the database.',
    ),
  },
]);

const EXAMPLES = [
  '.Bd -literal -offset indent',
  'JWT_ALGORITHM: HS256',
  'PORT: 8080',
  'WEBCHAT_ENABLED: true',
  'WEBCHAT_ALLOWED_ORIGINS:',
  '  - https://www.example.com',
  'plugins:',
  '  - ./channels/telex.ts',
  '.Ed',
].join('\n');

function item(record: SettingRecord): { term: string; body: string } {
  const form = `${formOf(record).replace(/^./, (first) => first.toUpperCase())}.`;
  const example = record.example === undefined ? [] : [`Example: ${text(record.example)}`];
  return {
    term: `Ev ${record.name}`,
    body: [prose(record.sentence), '.Pp', prose(form), ...example].join('\n'),
  };
}
