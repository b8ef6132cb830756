import type { ChannelPlugin } from '../channel/index.ts';
import type { EffectiveSetting, Inspection, SettingProblem } from '../daemon/configuration/configure.ts';
import type { Health } from './daemon-health.ts';
import { type SettingView, settingView } from './setting-view.ts';

/** How the answer of a channel leaves. */
export type Answers = 'in the request' | 'on a stream' | 'later';

/** A channel as `channels list` prints it. */
export interface ChannelView {
  /** Null of a plugin that does not load: it has no name yet. */
  name: string | null;
  summary: string | null;
  /** `bundled`, a path, or `package …`. */
  from: string;
  /** Whether a daemon with these settings runs it. */
  active: boolean;
  /** Why it is, or is not. */
  why: string;
  /** Settings that it needs and that are not set. */
  missing: readonly string[];
  answers: Answers | null;
  /** Of the running daemon: `ok`, `degraded`, `off`, or `daemon not running`. Null of a plugin that does not load. */
  state: string | null;
  /** Why it is degraded. */
  detail: string | null;
  settings: readonly SettingView[];
  /** What is wrong with it, or with its settings. */
  problems: readonly { setting: string; problem: string; right: string }[];
}

/**
 * Every channel that there is, in the order in which they are found, and then every plugin that was meant to be
 * one and does not load.
 *
 * @param health what the running daemon says; null: there is none.
 */
export function channelViews(found: Inspection, health: Health | null): ChannelView[] {
  const platforms = found.effective.find(({ record }) => record.name === 'MESSAGING_PLATFORMS');
  const source = platforms?.value === undefined ? null : platforms.source;
  const views = found.loaded.plugins.map(({ plugin, from }): ChannelView => {
    const settings = found.effective.filter(({ record }) => plugin.settings.includes(record));
    const missing = missingOf(settings);
    const problems = problemsOf(plugin, found);
    const chosen = found.channels.some((channel) => channel.plugin === plugin);
    const adapter = health?.adapters[plugin.name];
    return {
      name: plugin.name,
      summary: plugin.summary,
      from,
      active: chosen && problems.length === 0,
      why: whyOf({ chosen, source, missing, problems }),
      missing,
      answers: answersOf(plugin),
      state: health === null ? 'daemon not running' : (adapter?.status ?? 'off'),
      detail: adapter?.detail ?? null,
      settings: settings.map(settingView),
      problems: problems.map(({ setting, problem, right }) => ({ setting, problem, right })),
    };
  });
  return [...views, ...brokenViews(found)];
}

function answersOf({ capabilities, eventStream }: ChannelPlugin): Answers {
  if (capabilities.reply === 'later') return 'later';
  return eventStream === undefined ? 'in the request' : 'on a stream';
}

function missingOf(settings: readonly EffectiveSetting[]): string[] {
  return settings
    .filter(({ record, source }) => record.required === true && source === 'unset')
    .map(({ record }) => record.name);
}

function problemsOf({ name, settings }: ChannelPlugin, { problems }: Inspection): SettingProblem[] {
  const own = [`channel ${name}`, ...settings.map((record) => record.name)];
  return problems.filter(({ setting }) => own.includes(setting));
}

function whyOf({
  chosen,
  source,
  missing,
  problems,
}: {
  chosen: boolean;
  /** Where MESSAGING_PLATFORMS is set; null: it is not. */
  source: string | null;
  missing: readonly string[];
  problems: readonly SettingProblem[];
}): string {
  const named = `named in MESSAGING_PLATFORMS (${source})`;
  const how = source === null ? 'detected by its settings' : named;
  const notSet =
    missing.length === 0 ? '' : `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not set`;
  if (chosen && problems.length === 0) return how;
  if (chosen) return `${how}, but ${notSet || 'its settings are wrong'}: the daemon does not start`;
  if (source !== null) return `not ${named}`;
  return notSet || 'its settings do not turn it on';
}

/** One for each place that names a plugin that is not there, or does not fit, with all that is wrong with it. */
function brokenViews({ loaded, problems }: Inspection): ChannelView[] {
  const unknown = problems.filter(
    (problem) => problem.setting === 'MESSAGING_PLATFORMS' && !loaded.problems.includes(problem),
  );
  const places = Map.groupBy([...loaded.problems, ...unknown], ({ setting, value }) => `${setting} ${value}`);
  return [...places.values()].flatMap((wrong) => {
    const [first] = wrong;
    if (first === undefined) return [];
    return {
      name: null,
      summary: null,
      from: first.value ?? first.setting,
      active: false,
      why: 'it does not load: the daemon does not start',
      missing: [],
      answers: null,
      state: null,
      detail: null,
      settings: [],
      problems: wrong.map(({ setting, problem, right }) => ({ setting, problem, right })),
    };
  });
}
