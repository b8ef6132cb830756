import { EXAMPLE } from '../../../plugins/names.ts';
import type { ChannelPlugin, SetupOutcome } from '../../channel/index.ts';
import { hasOwnConnection } from '../../channel/simulator.ts';
import { idleScope } from '../../daemon/admin/channels.ts';
import {
  type Inspection,
  inspectConfiguration,
  knownSecrets,
  maskSecrets,
} from '../../daemon/admin/settings.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { channelSettings } from '../channel-settings.ts';
import { EXIT, failed, usageError } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import { configLocation } from '../config-location.ts';
import { ProbeClient } from '../doctor/finding.ts';
import { brokenInWords, channelNames } from '../names/channel-words.ts';
import { jsonText } from '../output.ts';

export const command = defineCommand({
  description: [
    'Registers the address of the daemon with the platform of a channel, and checks that the platform delivers there. Some platforms immediately send a request to the address to verify it, so the daemon should be running. Some platforms must be set up by hand; the manual page of a channel says if that is so. For those, the command prints the document to enter there, with the addresses filled in.',
    'Give the public address of the daemon, with the path prefix of a proxy if there is one; the command appends the path of the webhook. The channel need not be active. Secrets are sent to the platform and never printed. `agentd doctor` checks the registration later.',
    'The exit code is 1 if the platform refuses, or if the channel has no setup. It is 78 if a setting is missing that the setup needs.',
    'With --json, the command prints `{channel, detail, url, …}`; for a platform that must be set up by hand, it prints only the document.',
  ].join('\n\n'),
  args: { '<name>': { sentence: 'name of the channel', values: channelNames, isChannel: true } },
  options: { '--url <url>': 'public address of the daemon, https' },
  examples: {
    [`agentd channels setup ${EXAMPLE.channel} --url https://chat.example.com`]:
      'Registers the webhook of a channel, or prints what its platform needs.',
  },
  json: true,
  async run({ args: [name = ''], options, out }) {
    const found = await inspectConfiguration(configLocation(options));
    const plugin = findPlugin(found, name);
    const address = readAddress(options.url, name);
    const secrets = knownSecrets(found.effective.map(({ value }) => value));
    const mask = (text: string) => printable(maskSecrets(text, secrets));
    const done = await runSetup(plugin, address, found);
    if (done.outcome === 'failed') throw failed(`${name}: ${mask(done.detail)}`, mask(done.advice));
    if (done.outcome === 'document') {
      out.write(`${jsonText(done.document)}\n`);
      out.note(mask(done.detail));
      return EXIT.ok;
    }
    out.data(
      { channel: name, detail: mask(done.detail), ...done.facts },
      () => `${name}: ${mask(done.detail)}`,
    );
    return EXIT.ok;
  },
});

function findPlugin({ plugins, loaded }: Inspection, name: string): ChannelPlugin {
  const plugin = plugins.find((one) => one.name === name);
  if (plugin) return plugin;
  const known = plugins.map((one) => one.name).sort();
  throw usageError(
    `there is no channel '${printable(name)}'`,
    `The channels are ${known.join(', ')}.${brokenInWords(loaded.problems)}`,
  );
}

/** The public address without a slash at the end. If the address of the webhook is given, its path is removed. */
function readAddress(given: string | undefined, name: string): string {
  if (given === undefined)
    throw usageError(
      '--url is missing',
      'Give the public address of the daemon: --url https://chat.example.com',
    );
  const url = URL.parse(given);
  const isPlain =
    url !== null && url.search === '' && url.hash === '' && url.username === '' && url.password === '';
  if (url?.protocol !== 'https:' || !isPlain)
    throw usageError(
      `--url: '${printable(given)}' is not an https address`,
      'Platforms deliver to https only. Give the public address without a query: --url https://chat.example.com',
    );
  const path = url.pathname.replace(/\/+$/, '').replace(new RegExp(`/webhook/${name}(?:/[a-z]+)?$`), '');
  return url.origin + path;
}

/** @throws ConfigurationError if a setting that the setup needs is missing, or if a setting of the channel is wrong */
async function runSetup(plugin: ChannelPlugin, address: string, found: Inspection): Promise<SetupOutcome> {
  const { name, setup } = plugin;
  if (setup === undefined)
    throw failed(
      `the channel ${name} has no setup`,
      hasOwnConnection(plugin)
        ? 'It connects to its platform itself, so there is nothing to register.'
        : plugin.delivery === 'push'
          ? 'Register its webhook at its platform yourself, as the documentation of the channel says.'
          : 'Its clients call the daemon themselves, so there is nothing to register.',
    );
  const isNeeded = (record: { name: string }) => setup.settings.includes(record.name);
  const why = `is not set, and the setup of ${name} needs it`;
  const settings = await channelSettings(plugin, found, isNeeded, why);
  const call = new ProbeClient().fetchFor(`the platform of ${name}`);
  return setup.run(address, await idleScope(plugin, settings, call, Date.now));
}
