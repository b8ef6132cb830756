import { isOnlyProvider } from '../agent/llm/provider-needs.ts';
import { loadAgent, runtimeName } from '../agent/load.ts';
import { NOTHING_OF_A_PROVIDER, splitModelName } from '../agent/model-servers.ts';
import type { RecordedRun } from '../agent/recording.ts';
import type { AgentEntry } from '../agents/agent-entry.ts';
import type { Log } from '../process/log.ts';
import type { Configuration } from '../settings/configure/configure.ts';
import { knownSecrets } from '../settings/known-secrets.ts';
import type { Settings } from '../settings/settings.ts';
import type { Recording } from '../store/recordings.ts';
import { systemClock } from '../time/clock.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import { lazy } from './lazy.ts';
import type { Who } from './who.ts';

/** A recording, and the agent that runs again on it. */
export type { ReplayedCall } from '../replay/replay.ts';
export type { RecordedRun, Recording };

/** Opens a recording with the keys of the daemon. Null if none of them opens it. */
export const openRecording = lazy(() => import('../agent/recording.ts'), 'openRecording');

/** Whom a recording is about, for the audit log: the person for whom the run acted, or the user of the channel. */
export function recordedWho({ platform, users, persons }: Recording, { given }: RecordedRun): Who {
  const [person] = persons;
  if (given.principal !== null && person !== undefined) return { person };
  return { platform, user_id: users[0] ?? '' };
}

export interface ReplayChanges {
  /** Replaces AGENT_MODEL. */
  model?: string | undefined;
  /** A file with instructions that replace AGENT_INSTRUCTIONS. */
  instructions?: string | undefined;
}

/** The provider of OpenAI-compatible servers, as recordings name it. */
const COMPATIBLE = 'openai';

/**
 * The settings of a replayed run. The fallback model is not used: it would answer for another model than the one that
 * is tried. A model of another provider than that of AGENT_MODEL gets neither its address nor its key, options and headers.
 */
export function replaySettings(settings: Settings, { model, instructions }: ReplayChanges): Settings {
  const changed = {
    ...settings,
    ...(instructions === undefined ? {} : { AGENT_INSTRUCTIONS: instructions }),
    AGENT_FALLBACK_MODEL: undefined,
  };
  if (model === undefined) return changed;
  const before = settings.AGENT_BASE_URL === undefined ? parseProvider(settings.AGENT_MODEL) : null;
  const own = parseProvider(model);
  // A name with a colon may also be a model of the server at AGENT_BASE_URL.
  const isElsewhere = settings.AGENT_BASE_URL === undefined || isOnlyProvider(own ?? '');
  const leaves = own !== null && own !== before && isElsewhere;
  return {
    ...changed,
    ...(leaves ? { ...NOTHING_OF_A_PROVIDER, AGENT_BASE_URL: undefined } : {}),
    AGENT_MODEL: model,
    AGENT_RUNTIME: 'llm',
  };
}

function findProvider(model: string | undefined, base_url: string | undefined): string | null {
  return base_url !== undefined && model !== undefined ? COMPATIBLE : parseProvider(model);
}

function parseProvider(model: string | undefined): string | null {
  return splitModelName(model)?.provider ?? null;
}

/** The name that recordings use for a provider: that of its vendor, which is the scope of a package that it publishes. */
function nameInRecordings(provider: string | null): string | null {
  const [, scope, name] = /^@([^/]+)\/(.+)$/.exec(provider ?? '') ?? [];
  return (scope === 'ai-sdk' ? name : scope) ?? provider;
}

/**
 * The provider that a replay would send the recording to, if the recorded run has not used it. Null if there is no such
 * provider. The provider of an OpenAI-compatible server counts as another one than OpenAI itself.
 * @param configured the settings without the changes of the replay
 */
export function newProvider(
  settings: Settings,
  configured: Settings,
  { model_calls }: Pick<RecordedRun, 'model_calls'>,
): string | null {
  if (runtimeName(settings) !== 'llm') return null;
  const provider = findProvider(settings.AGENT_MODEL, settings.AGENT_BASE_URL);
  const isKnown =
    settings.AGENT_BASE_URL === configured.AGENT_BASE_URL &&
    model_calls.some((call) => call.provider === nameInRecordings(provider));
  return isKnown ? null : provider;
}

/** The provider to which a model would send texts that the configured agent does not send there. Null if there is none. */
export function providerChange(configured: Settings, model: string | undefined): string | null {
  const changed = replaySettings(configured, { model });
  const provider = findProvider(changed.AGENT_MODEL, changed.AGENT_BASE_URL);
  const own =
    runtimeName(configured) === 'llm'
      ? findProvider(configured.AGENT_MODEL, configured.AGENT_BASE_URL)
      : null;
  const isSame = provider === own && changed.AGENT_BASE_URL === configured.AGENT_BASE_URL;
  return isSame ? null : provider;
}

/** The settings with which an agent of the configuration answers. */
export async function settingsOfAgent(entry: AgentEntry, settings: Settings): Promise<Settings> {
  const { mergeSettings } = await import('../agents/load-agents.ts');
  return mergeSettings(entry, settings);
}

/** Runs the agent again on a recording, as often as asked, one run after the other. */
export async function replayTimes(
  recorded: RecordedRun,
  times: number,
  {
    configuration,
    entry,
    settings,
    registry,
    live_reads,
    log,
  }: {
    configuration: Pick<Configuration, 'effective' | 'settings'>;
    /** The agent that runs. */
    entry: AgentEntry;
    /** Those of the agent, from `replaySettings`. */
    settings: Settings;
    registry: ToolRegistry;
    live_reads: boolean;
    log: Log;
  },
) {
  const [{ createAgent }, replay] = await Promise.all([
    import('../agents/agents.ts'),
    import('../replay/replay.ts'),
  ]);
  const { differences, recordedCalls, replayRun } = replay;
  const { runtime, instructions } = await loadAgent(settings, log);
  // A replay has no fallback, but that is no change of the agent.
  const { AGENT_FALLBACK_MODEL } = configuration.settings;
  const parts = { entry, runtime, instructions, settings: { ...settings, AGENT_FALLBACK_MODEL } };
  const { tools, digest } = createAgent(parts, registry);
  const agent_digest = digest();
  const secrets = knownSecrets(configuration.effective.map(({ value }) => value));
  const runs = [];
  try {
    for (let run = 0; run < times; run++) {
      const parts = { runtime, registry: tools, settings, secrets, live_reads, clock: systemClock, log };
      const replayed = await replayRun(
        { ...recorded, given: { ...recorded.given, agent: entry.name } },
        parts,
      );
      runs.push({ ...replayed, differs: differences(recorded, replayed) });
    }
  } finally {
    await runtime.stop?.();
  }
  return { calls: recordedCalls(recorded), runs, agent_digest };
}

export type Replayed = Awaited<ReturnType<typeof replayTimes>>;
