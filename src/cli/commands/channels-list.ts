import { printable } from '../../daemon/printable.ts';
import { type ChannelView, channelViews } from '../channel-view.ts';
import type { Command } from '../command.ts';
import { daemonAddress, URL_OPTION } from '../daemon-address.ts';
import { askHealth, type Health } from '../daemon-health.ts';
import { EXIT } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import { explainError } from '../report-error.ts';
import { placeOf } from '../settings-place.ts';

export const command: Command = {
  name: 'channels list',
  summary: 'List the channels that are installed, active or not.',
  description:
    'The bundled channels, and those of the configuration file and of MESSAGING_PLATFORMS. For each: whether a daemon with these settings runs it, and why; its state in the running daemon, which is asked at HOST and PORT of the settings, or at --url (`off` where that daemon does not run it); how its answers leave; where it was loaded from; its settings with their source, secrets masked. Where no daemon runs, all but the state is told. A plugin that does not load is listed with what is wrong with it. Exit code 78 where something is wrong with a channel, so that the daemon would not start. With --json an array of {name, summary, from, active, why, missing, answers, state, detail, settings, problems}; name is null of what does not load.',
  options: [URL_OPTION],
  examples: [
    { line: 'agentd channels list', does: 'Shows which channels there are, and what the others lack.' },
    {
      line: `agentd channels list --json | jq -r '.[] | select(.active) | .name'`,
      does: 'Prints the names of the active ones.',
    },
  ],
  json: true,
  async run({ options, out }) {
    const { inspectConfiguration } = await import('../../daemon/configuration/configure.ts');
    const found = await inspectConfiguration(placeOf(options));
    const health = await healthOf(options, out);
    const views = channelViews(found, health);
    out.data(views, () => inWords(views, out));
    const known = views.map(({ name }) => name);
    const others = (health?.platforms ?? []).filter((name) => !known.includes(name));
    if (others.length > 0)
      out.note(`The daemon runs what these settings do not know of: ${others.map(printable).join(', ')}.`);
    return views.some(({ problems }) => problems.length > 0) ? EXIT.config : EXIT.ok;
  },
};

/** Null, with a line that says why, where no daemon answers: the list is worth having without it. */
async function healthOf(options: Readonly<Record<string, unknown>>, out: Output): Promise<Health | null> {
  try {
    return await askHealth(await daemonAddress(options));
  } catch (error) {
    const { exitCode, message } = explainError(error);
    if (exitCode === EXIT.no || (exitCode === EXIT.usage && options.url !== undefined)) throw error;
    out.note(`The state is not known: ${message}`);
    return null;
  }
}

function inWords(views: readonly ChannelView[], out: Output): string {
  const table = out.table(
    ['CHANNEL', 'ACTIVE', 'STATE', 'ANSWERS', 'FROM', 'WHY'],
    views.map(({ name, active, state, answers, from, why }) => [
      name ?? '-',
      active ? 'yes' : 'no',
      state ?? '-',
      answers ?? '-',
      from,
      why,
    ]),
  );
  return [table, ...views.map((view) => details(view, out))].join('\n');
}

/** A channel on its own: what does not fit into a line of the table. */
function details(view: ChannelView, out: Output): string {
  const { name, summary, from, state, detail, settings, problems } = view;
  const degraded = detail === null ? [] : [`${state}: ${detail}`];
  const wrong = problems.flatMap(({ setting, problem, right }) => [
    `wrong: ${name === null ? '' : `${setting} `}${problem}`,
    `right: ${right}`,
  ]);
  const rows = settings.map((setting) => [setting.name, inText(setting.value), setting.source]);
  const table =
    rows.length === 0 ? [] : out.table(['SETTING', 'VALUE', 'SOURCE'], rows).split('\n').slice(0, -1);
  const head = name === null ? `${from} (${problems[0]?.setting})` : `${name}: ${summary}`;
  const lines = [...[...degraded, ...wrong].map(printable), ...table];
  return [printable(head), ...lines.map((line) => `  ${line}`), ''].join('\n');
}

function inText(value: ChannelView['settings'][number]['value']): string {
  if (value === null) return '-';
  return Array.isArray(value) ? value.join(',') : String(value);
}
