import { inspectConfiguration, settingsReference } from '../../daemon/admin/settings.ts';
import { EXIT } from '../cli-error.ts';
import type { Command } from '../command.ts';
import { configLocation } from '../config-location.ts';

export const command: Command = {
  name: 'config reference',
  summary: 'Print the reference of all settings and texts.',
  ignoresDev: true,
  description:
    'Describes each setting of the daemon, of all channels, and of the plugins that the configuration file names: effect, allowed values and default. Then lists the texts that people see, with their defaults. With --json, a JSON Schema of the configuration file (draft 2020-12) for editors and other programs. With --example, a configuration file that has every setting at its default, commented out. It also works with a broken configuration.',
  options: [{ flags: '--example', sentence: 'print an example configuration file instead' }],
  examples: [
    { line: 'agentd config reference | less', does: 'Shows the reference page by page.' },
    { line: 'agentd config reference --example > agentd.yaml', does: 'Creates a configuration file.' },
    {
      line: 'agentd config reference --json > agentd.schema.json',
      does: 'Stores the schema, so that an editor can complete and check agentd.yaml.',
    },
  ],
  json: true,
  async run({ options, out }) {
    const { plugins } = await inspectConfiguration(configLocation(options));
    const reference = await settingsReference(plugins);
    out.data(reference.schema(), () => (options.example === true ? reference.example() : reference.text()));
    return EXIT.ok;
  },
};
