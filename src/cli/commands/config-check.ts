import {
  ConfigurationError,
  checkStart,
  inspectConfiguration,
  type TokenReach,
  tokenReaches,
  unusualPlace,
} from '../../daemon/admin/settings.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { EXIT } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import { configLocation } from '../config-location.ts';

export const command = defineCommand({
  description:
    'Runs the checks that the daemon runs before it starts: values, combinations of values, plugins, channels with their routes, the agent, the sources of tools, misspelled names. For each source of tools, it says whether the token of a person may be sent there, and where requests carry it if not as `Authorization: Bearer`. It reports all problems at once, each with what is wrong, the source of the value and a correct value; the exit code is then 78. It warns of tools that are too many or too large for many models. Warnings do not change the exit code. Nothing is started, and no other machine is contacted.',
  examples: {
    'agentd config check': 'Checks the settings that a daemon started in this directory would use.',
    'agentd config check --config /etc/agentd/agentd.yaml && systemctl restart agentd':
      'Restarts the service only if its configuration is valid.',
  },
  json: true,
  async run({ options, out }) {
    const found = await inspectConfiguration(configLocation(options));
    const { channels, environment } = found;
    const { problems, warnings } = await checkStart(found);
    const sources = await tokenReaches(found);
    const names = channels.map(({ plugin }) => plugin.name);
    if (out.json) {
      const valid = problems.length === 0;
      out.data({ valid, channels: names, sources, environment, warnings, problems }, () => '');
      return valid ? EXIT.ok : EXIT.config;
    }
    for (const warning of warnings) out.note(`warning: ${warning}`);
    if (problems.length > 0) throw new ConfigurationError(problems);
    out.write(`configuration is valid\nchannels: ${names.join(', ') || 'none'}\n`);
    for (const reach of sources) out.write(`${printable(await reachInWords(reach))}\n`);
    return EXIT.ok;
  },
});

const SEES: Readonly<Record<TokenReach['token'], string>> = {
  own: "may see a person's token",
  exchanged: "gets a token that was issued in exchange for a person's token",
  none: "sees no person's token",
};

async function reachInWords({ source, origin, token, credential }: TokenReach): Promise<string> {
  const place = await unusualPlace(credential);
  return `tools of ${source}${origin === null ? '' : ` (${origin})`}: ${SEES[token]}${place === null ? '' : `; tokens are sent ${place}`}`;
}
