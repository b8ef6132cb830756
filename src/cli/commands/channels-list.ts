import { inspectConfiguration } from '../../daemon/admin/settings.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { CHANNEL_COLUMNS, type ChannelView, channelViews } from '../channel-view.ts';
import { jsonOf } from '../column.ts';
import type { Command, OptionValues } from '../command.ts';
import { configLocation } from '../config-location.ts';
import { daemonAddress, URL_OPTION } from '../daemon-address.ts';
import { fetchHealth, type Health } from '../daemon-health.ts';
import { EXIT } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import { explainError } from '../report-error.ts';
import { SETTING_COLUMNS } from '../setting-view.ts';

export const command: Command = {
  name: 'channels list',
  summary: 'List the installed channels, active or not.',
  description: [
    'Lists the bundled channels, and those of the configuration file and of MESSAGING_PLATFORMS. For each channel it shows whether a daemon with these settings runs it, and why; its state in the running daemon (`off` if that daemon does not run it); how it sends its answers; where it was loaded from; and its settings with their sources, secrets masked.',
    'The daemon is asked at HOST and PORT of the settings, or at --url. If no daemon runs, only the state is missing. A plugin that does not load is listed with its problems. Exit code 78 if a channel has problems that prevent the daemon from starting.',
    'With --json, an array of {name, summary, from, active, why, missing, answers, state, detail, settings, problems}; name is null for a plugin that does not load.',
  ].join('\n\n'),
  options: [URL_OPTION],
  examples: [
    { line: 'agentd channels list', does: 'Shows all channels, and what inactive ones lack.' },
    {
      line: `agentd channels list --json | jq -r '.[] | select(.active) | .name'`,
      does: 'Prints the names of the active channels.',
    },
  ],
  json: true,
  async run({ options, out }) {
    const found = await inspectConfiguration(configLocation(options));
    const health = await healthOf(options, out);
    const views = channelViews(found, health);
    out.data(
      views.map((view) => jsonOf(CHANNEL_COLUMNS, view)),
      () => [out.table(CHANNEL_COLUMNS, views), ...views.map((view) => details(view, out))].join('\n'),
    );
    const known = views.map(({ name }) => name);
    const others = (health?.platforms ?? []).filter((name) => !known.includes(name));
    if (others.length > 0)
      out.note(
        `The daemon runs channels that these settings do not name: ${others.map(printable).join(', ')}.`,
      );
    return views.some(({ problems }) => problems.length > 0) ? EXIT.config : EXIT.ok;
  },
};

/** The health that the daemon reports. Null, with a note, if no daemon answers: the list is useful without it. */
async function healthOf(options: OptionValues, out: Output): Promise<Health | null> {
  try {
    return await fetchHealth(await daemonAddress(options));
  } catch (error) {
    const { exitCode, message } = explainError(error);
    if (exitCode === EXIT.no || (exitCode === EXIT.usage && options.url !== undefined)) throw error;
    out.note(`The state is unknown: ${message}`);
    return null;
  }
}

/** Details that do not fit into a line of the table. */
function details(
  { name, summary, from, state, detail, settings, problems }: ChannelView,
  out: Output,
): string {
  const head = name === null ? `${from} (${problems[0]?.setting})` : `${name}: ${summary}`;
  const lines = [
    ...(detail === null ? [] : [`${state}: ${detail}`]),
    ...problems.flatMap(({ setting, problem, right }) => [
      `wrong: ${name === null ? '' : `${setting} `}${problem}`,
      `right: ${right}`,
    ]),
  ];
  const text = lines.map((line) => `  ${printable(line)}\n`).join('');
  const width = out.width - 2;
  const table =
    settings.length === 0 ? '' : out.table(SETTING_COLUMNS, settings, width).replace(/^(?=.)/gm, '  ');
  return `${printable(head)}\n${text}${table}`;
}
