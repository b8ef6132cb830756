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
    'An unknown name in the file is a problem. In the environment, where the names of other programs live too, only one that looks like a misspelt setting is. Settings of what this version does not have are ignored, with a warning.',
  ),
  '.Pp',
  prose(
    'NODE_ENV stands in the environment or in `.env`. Under `production` and `staging`, what only development needs is refused.',
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
