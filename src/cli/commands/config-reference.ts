import { inspectConfiguration, settingsReference } from '../../daemon/admin/settings.ts';
import { nearest, printable } from '../../daemon/admin/texts.ts';
import { type CliError, failed } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import { configLocation } from '../config-location.ts';

export const command = defineCommand({
  ignoresDev: true,
  description:
    'Describes each setting of the daemon, of all channels, and of the plugins that the configuration file names: effect, allowed values and default. Then lists the texts that people see, with their defaults. With NAME, describes only this setting. With --json, a JSON Schema of the configuration file (draft 2020-12) for editors and other programs. With --example, a configuration file that has every setting at its default, commented out. It also works with a broken configuration.',
  args: { '[name]': { sentence: 'a setting, in upper or lower case', values: settingNames } },
  options: { '--example': 'print an example configuration file instead' },
  examples: {
    'agentd config reference JWT_SECRET_KEY': 'Describes one setting.',
    'agentd config reference | less': 'Shows the reference page by page.',
    'agentd config reference --example > agentd.yaml': 'Creates a configuration file.',
    'agentd config reference --json > agentd.schema.json':
      'Stores the schema, so that an editor can complete and check agentd.yaml.',
  },
  json: true,
  async run({ args: [word], options, out }) {
    const { plugins } = await inspectConfiguration(configLocation(options));
    const reference = await settingsReference(plugins);
    if (word === undefined)
      return void out.data(reference.schema(), () =>
        options.example ? reference.example() : reference.text(),
      );
    const records = reference.groups.flatMap((group) => group.records);
    const record = records.find(({ name }) => name === word.toUpperCase());
    if (record === undefined)
      throw Object.hasOwn(reference.schema().properties as object, word)
        ? noSetting(word)
        : unknownSetting(word, records);
    out.data(reference.one.schema(record), () => reference.one.text(record, out.width));
  },
});

async function settingNames(): Promise<string[]> {
  const { groups } = await settingsReference([]);
  return groups.flatMap(({ records }) => records.map(({ name }) => name));
}

/** A key whose entries are described in a section of the manual with its name. */
function noSetting(key: string): CliError {
  const section = key.charAt(0).toUpperCase() + key.slice(1);
  return failed(
    `'${printable(key)}' is not a setting, but a key of the configuration file`,
    `The section "${section}" of agentd-settings(5) describes it.`,
  );
}

function unknownSetting(word: string, records: readonly { name: string }[]): CliError {
  const near = nearest(
    word.toUpperCase(),
    records.map(({ name }) => name),
    3,
  );
  return failed(
    `there is no setting '${printable(word)}'`,
    near === undefined ? '`agentd config reference` lists all.' : `Did you mean ${near.name}?`,
  );
}
