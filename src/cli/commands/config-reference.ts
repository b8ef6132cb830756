import { inspectConfiguration, settingsReference } from '../../daemon/admin/settings.ts';
import { defineCommand } from '../command.ts';
import { configLocation } from '../config-location.ts';

export const command = defineCommand({
  ignoresDev: true,
  description:
    'Describes each setting of the daemon, of all channels, and of the plugins that the configuration file names: effect, allowed values and default. Then lists the texts that people see, with their defaults. With --json, a JSON Schema of the configuration file (draft 2020-12) for editors and other programs. With --example, a configuration file that has every setting at its default, commented out. It also works with a broken configuration.',
  options: { '--example': 'print an example configuration file instead' },
  examples: {
    'agentd config reference | less': 'Shows the reference page by page.',
    'agentd config reference --example > agentd.yaml': 'Creates a configuration file.',
    'agentd config reference --json > agentd.schema.json':
      'Stores the schema, so that an editor can complete and check agentd.yaml.',
  },
  json: true,
  async run({ options, out }) {
    const { plugins } = await inspectConfiguration(configLocation(options));
    const reference = await settingsReference(plugins);
    out.data(reference.schema(), () => (options.example ? reference.example() : reference.text()));
  },
});
