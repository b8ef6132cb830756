import type { Command } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { placeOf } from '../settings-place.ts';

export const command: Command = {
  name: 'config reference',
  summary: 'Print the reference of all settings.',
  ignoresDev: true,
  description:
    'Each setting of the daemon and of every channel that there is, those of the plugins of the configuration file included: what it does, what may be written, its default. With --json a JSON Schema of the configuration file (draft 2020-12), for editors and other programs. With --example a configuration file with every setting at its default, commented out. It works with a broken configuration too.',
  options: [{ flags: '--example', sentence: 'an example configuration file instead' }],
  examples: [
    { line: 'agentd config reference | less', does: 'Reads it.' },
    { line: 'agentd config reference --example > agentd.yaml', does: 'Begins a configuration file.' },
    {
      line: 'agentd config reference --json > agentd.schema.json',
      does: 'Keeps the schema, so that an editor completes and checks agentd.yaml.',
    },
  ],
  json: true,
  async run({ options, out }) {
    const [
      { inspectConfiguration },
      { settingGroups, settingsReference },
      { settingsSchema },
      { exampleFile },
    ] = await Promise.all([
      import('../../daemon/configuration/configure.ts'),
      import('../../daemon/settings/reference.ts'),
      import('../../daemon/settings/json-schema.ts'),
      import('../../daemon/settings/example-file.ts'),
    ]);
    const { plugins } = await inspectConfiguration(placeOf(options));
    const groups = settingGroups(plugins);
    const text = options.example === true ? exampleFile : settingsReference;
    out.data(settingsSchema(groups), () => text(groups));
    return EXIT.ok;
  },
};
