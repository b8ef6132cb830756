import type { ChannelCheck } from '../../channel/index.ts';
import { systemClock } from '../../daemon/clock.ts';
import { channelProblems } from '../../daemon/plugin/check-channel.ts';
import { idleScope } from '../../daemon/plugin/idle-scope.ts';
import type { ConfiguredChannel } from '../../daemon/settings/configure.ts';
import { isStandInAddress } from '../simulate/stand-in.ts';
import type { Asking } from './ask.ts';
import type { Finding } from './finding.ts';

/** How long a channel may take to ask its platform, ms; several calls, each with its own time-out. */
const CHECK_MS = 30_000;

/**
 * Does the platform of a channel take its credentials? Asked by the channel, which is made and not started.
 * @param environment `NODE_ENV`: but in production, what stands in for a platform need not be there
 */
export async function checkChannel(
  configured: ConfiguredChannel,
  asking: Asking,
  environment: string,
): Promise<Finding> {
  const { plugin, settings } = configured;
  const check = `channel ${plugin.name}`;
  const platform = `the platform of ${plugin.name}`;
  const call = asking.fetchFor(platform);
  try {
    const channel = plugin.create(idleScope(plugin, settings, call, () => systemClock.now()));
    const [misfit] = channelProblems(plugin, channel);
    if (misfit) return failed(check, misfit.problem, `Right: ${misfit.right}.`);
    if (!channel.check)
      return { check, outcome: 'skipped', detail: 'it has no platform to ask, or does not know how' };
    try {
      const found = read(check, await withinTime(channel.check()));
      const place = environment === 'production' ? null : standInPlace(configured);
      if (found.outcome !== 'failed' || place === null || asking.answered.has(platform)) return found;
      const detail = `nobody stands in for its platform at ${place} now; \`agentd simulate\` does while it runs`;
      return { check, outcome: 'skipped', detail };
    } finally {
      await channel.stop?.();
    }
  } catch (error) {
    // Another's code: what it throws is told, not thrown on.
    const why = error instanceof Error ? error.message : String(error);
    return failed(
      check,
      `it could not be asked: ${why}`,
      'This is a defect of the channel; report it to whom it is from.',
    );
  }
}

/** The address of this machine that a setting names instead of the platform's; null: none does. */
function standInPlace({ plugin, settings }: ConfiguredChannel): string | null {
  const urls = plugin.settings.flatMap(({ name, kind }) => (kind === 'url' ? [String(settings[name])] : []));
  const place = urls.map((url) => URL.parse(url)).find((url) => url !== null && isStandInAddress(url));
  return plugin.simulator && place ? place.origin : null;
}

/** What another's code says is looked at before it is shown. */
function read(check: string, found: ChannelCheck): Finding {
  const { outcome, detail, advice } = (found ?? {}) as {
    outcome: unknown;
    detail: unknown;
    advice?: unknown;
  };
  const words = typeof detail === 'string' ? detail : 'it said nothing';
  if (outcome === 'ok') return { check, outcome, detail: words };
  const more = typeof advice === 'string' ? advice : 'See the documentation of the channel.';
  return { check, outcome: outcome === 'warning' ? outcome : 'failed', detail: words, advice: more };
}

async function withinTime<T>(work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`it took more than ${CHECK_MS / 1000} seconds`)), CHECK_MS);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function failed(check: string, detail: string, advice: string): Finding {
  return { check, outcome: 'failed', detail, advice };
}
