import type { ChannelPlugin } from '../../channel/index.ts';
import {
  type EffectiveSetting,
  type Inspection,
  inspectConfiguration,
  type SettingProblem,
} from '../../daemon/admin/settings.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { EXIT } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import { configLocation } from '../config-location.ts';
import { channelInWords } from '../names/channel-titles.ts';
import { type Column, type Output, toJson } from '../output.ts';
import { explainError } from '../report-error.ts';
import { daemonAddress, fetchHealth, type Health, URL_OPTION, type UrlOption } from '../running-daemon.ts';
import { SETTING_COLUMNS } from './config-show.ts';

export const command = defineCommand({
  description: [
    'Lists the bundled channels, and those of the configuration file and of MESSAGING_PLATFORMS. For each channel it shows whether a daemon with these settings runs it, and why; its state in the running daemon (`off` if that daemon does not run it); how it sends its answers; where it was loaded from; and its settings with their sources, secrets masked.',
    'The daemon is asked at HOST and PORT of the settings, or at --url. If no daemon runs, only the state is missing. A plugin that does not load is listed with its problems. Exit code 78 if a channel has problems that prevent the daemon from starting.',
    'With --json, an array of {name, summary, from, active, why, missing, answers, state, detail, settings, problems}; name is null for a plugin that does not load.',
  ].join('\n\n'),
  options: { ...URL_OPTION },
  examples: {
    'agentd channels list': 'Shows all channels, and what inactive ones lack.',
    "agentd channels list --json | jq -r '.[] | select(.active) | .name'":
      'Prints the names of the active channels.',
  },
  json: true,
  async run({ options, out }) {
    const found = await inspectConfiguration(configLocation(options));
    const health = await findHealth(options, out);
    const views = channelViews(found, health);
    out.data(
      views.map((view) => toJson(CHANNEL_COLUMNS, view)),
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
});

/** The health that the daemon reports. Null, with a note, if no daemon answers: the list is useful without it. */
async function findHealth(options: UrlOption, out: Output): Promise<Health | null> {
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
  const table = out.table(SETTING_COLUMNS, settings, width).replace(/^(?=.)/gm, '  ');
  return `${printable(head)}\n${text}${table}`;
}

/** A channel, or a plugin that does not load, as `channels list` shows it. */
export interface ChannelView {
  /** Null for a plugin that does not load: its name is unknown. */
  name: string | null;
  summary: string | null;
  /** `bundled`, a path, or `package …`. */
  from: string;
  /** Whether a daemon with these settings would run the channel. */
  active: boolean;
  /** Why the channel is active or not. */
  why: string;
  /** Required settings that are not set. */
  missing: readonly string[];
  /** How the channel sends its answers. */
  answers: 'in the request' | 'on a stream' | 'later' | null;
  /**
   * The state in the running daemon: `ok`, `degraded`, `off`, or `daemon not running`. Null for a plugin that does not
   * load.
   */
  state: string | null;
  /** Why the channel is degraded. */
  detail: string | null;
  settings: readonly EffectiveSetting[];
  /** Problems of the plugin or of its settings. */
  problems: readonly SettingProblem[];
}

const CHANNEL_COLUMNS: readonly Column<ChannelView>[] = [
  { title: 'CHANNEL', json: 'name', text: ({ name }) => (name === null ? '-' : channelInWords(name)) },
  { json: 'summary' },
  { title: 'ACTIVE', json: 'active', text: ({ active }) => (active ? 'yes' : 'no') },
  { title: 'STATE', json: 'state', text: ({ state }) => state ?? '-' },
  { title: 'ANSWERS', json: 'answers', text: ({ answers }) => answers ?? '-' },
  { title: 'FROM', json: 'from', narrow: 'cut' },
  { title: 'WHY', json: 'why', narrow: 'wrap' },
  { json: 'missing' },
  { json: 'detail' },
  { json: 'settings', value: ({ settings }) => settings.map((setting) => toJson(SETTING_COLUMNS, setting)) },
  {
    json: 'problems',
    value: ({ problems }) => problems.map(({ setting, problem, right }) => ({ setting, problem, right })),
  },
];

/**
 * All channels, in the order in which they are found, and then the plugins that do not load.
 *
 * @param health health of the running daemon; null if no daemon is running
 */
function channelViews(found: Inspection, health: Health | null): ChannelView[] {
  const platforms = found.effective.find(({ record }) => record.name === 'MESSAGING_PLATFORMS');
  const source = platforms?.value === undefined ? null : platforms.source;
  const views = found.loaded.plugins.map(({ plugin, from }): ChannelView => {
    const settings = found.effective.filter(({ record }) => plugin.settings.includes(record));
    const missing = listMissing(settings);
    const problems = listProblems(plugin, found);
    const isChosen = found.channels.some((channel) => channel.plugin === plugin);
    const adapter = health?.adapters[plugin.name];
    return {
      name: plugin.name,
      summary: plugin.summary,
      from,
      active: isChosen && problems.length === 0,
      why: explainChoice({ isChosen, source, missing, hasProblems: problems.length > 0 }),
      missing,
      answers: describeAnswers(plugin),
      state: health === null ? 'daemon not running' : (adapter?.status ?? 'off'),
      detail: adapter?.detail ?? null,
      settings,
      problems,
    };
  });
  return [...views, ...brokenViews(found)];
}

function describeAnswers({ delivery, eventStream }: ChannelPlugin): ChannelView['answers'] {
  if (delivery === 'push') return 'later';
  return eventStream === undefined ? 'in the request' : 'on a stream';
}

function listMissing(settings: readonly EffectiveSetting[]): string[] {
  return settings
    .filter(({ record, source }) => record.required === true && source === 'unset')
    .map(({ record }) => record.name);
}

function listProblems({ name, settings }: ChannelPlugin, { problems }: Inspection): SettingProblem[] {
  const own = [`channel ${name}`, ...settings.map((record) => record.name)];
  return problems.filter(({ setting }) => own.includes(setting));
}

function explainChoice({
  isChosen,
  source,
  missing,
  hasProblems,
}: {
  isChosen: boolean;
  /** Where MESSAGING_PLATFORMS is set; null if it is not. */
  source: string | null;
  missing: readonly string[];
  hasProblems: boolean;
}): string {
  const named = `named in MESSAGING_PLATFORMS (${source})`;
  const how = source === null ? 'detected by its settings' : named;
  const notSet =
    missing.length === 0 ? '' : `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not set`;
  if (isChosen && !hasProblems) return how;
  if (isChosen) return `${how}, but ${notSet || 'its settings are wrong'}: the daemon does not start`;
  if (source !== null) return `not ${named}`;
  return notSet || 'its settings do not turn it on';
}

/** One view for each entry that names a missing or invalid plugin, with all problems of that plugin. */
function brokenViews({ loaded, problems }: Inspection): ChannelView[] {
  const unknown = problems.filter(
    (problem) => problem.setting === 'MESSAGING_PLATFORMS' && !loaded.problems.includes(problem),
  );
  const entries = Map.groupBy(
    [...loaded.problems, ...unknown],
    ({ setting, value }) => `${setting} ${value}`,
  );
  return [...entries.values()].map((problems) => ({
    name: null,
    summary: null,
    from: problems[0]?.value ?? problems[0]?.setting ?? '',
    active: false,
    why: 'it does not load: the daemon does not start',
    missing: [],
    answers: null,
    state: null,
    detail: null,
    settings: [],
    problems,
  }));
}
