import type { Command } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { placeOf } from '../settings-place.ts';

export const command: Command = {
  name: 'config check',
  summary: 'Validate all settings.',
  description:
    'Looks at everything that the daemon looks at before it starts: the values, whether they fit together, the plugins, the channels with their routes, the agent, misspelt names. Every problem is told at once, each with what is wrong, where it came from and what would be right; the exit code is 78 then. Warnings do not change the exit code. Nothing is started, and nothing outside of this machine is asked.',
  examples: [
    { line: 'agentd config check', does: 'Checks the settings that a daemon started here would have.' },
    {
      line: 'agentd config check --config /etc/agentd/agentd.yaml && systemctl restart agentd',
      does: 'Restarts the service only with a configuration that it can run with.',
    },
  ],
  json: true,
  async run({ options, out }) {
    const { ConfigurationError, inspectConfiguration } = await import(
      '../../daemon/configuration/configure.ts'
    );
    const found = await inspectConfiguration(placeOf(options));
    const { warnings, channels, environment } = found;
    const { checkParts } = await import('../../daemon/check-parts.ts');
    const problems = await checkParts(found);
    const names = channels.map(({ plugin }) => plugin.name);
    if (out.json) {
      const valid = problems.length === 0;
      out.data({ valid, channels: names, environment, warnings, problems }, () => '');
      return valid ? EXIT.ok : EXIT.config;
    }
    for (const warning of warnings) out.note(`warning: ${warning}`);
    if (problems.length > 0) throw new ConfigurationError(problems);
    out.write(`configuration is valid\nchannels: ${names.join(', ') || 'none'}\n`);
    return EXIT.ok;
  },
};
