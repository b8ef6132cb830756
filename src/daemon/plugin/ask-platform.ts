import type { ChannelCheck } from '../../channel/index.ts';
import { systemClock } from '../clock.ts';
import { channelProblems } from './check-channel.ts';
import type { ConfiguredChannel } from './configured-channel.ts';
import { idleScope } from './idle-scope.ts';
import { isStandInAddress } from './stand-in-address.ts';

/** What the platform says of a channel's credentials; `skipped`: it was not asked, or need not be there. */
export type PlatformAnswer = ChannelCheck | { outcome: 'skipped'; detail: string };

export interface AskOptions {
  /** The channel calls its platform with it. */
  fetch: typeof fetch;
  /** Has anybody answered these calls? */
  isAnswered(): boolean;
  /** `NODE_ENV`: except in production, a stand-in for a platform need not be there. */
  environment: string;
}

/** How long a channel may take to ask its platform, ms; several calls, each with its own time-out. */
const CHECK_MS = 30_000;

/** Asks the platform of a channel whether it takes the channel's credentials. */
export function askPlatform(configured: ConfiguredChannel, options: AskOptions): Promise<PlatformAnswer> {
  return ask(configured, 'check', options);
}

/** Asks it whether it delivers to the channel. */
export function askRegistration(configured: ConfiguredChannel, options: AskOptions): Promise<PlatformAnswer> {
  return ask(configured, 'checkRegistration', options);
}

/**
 * The channel asks, in an instance that is made for it and not started. Never rejects: what a channel throws is an
 * outcome.
 */
async function ask(
  configured: ConfiguredChannel,
  question: 'check' | 'checkRegistration',
  { fetch, isAnswered, environment }: AskOptions,
): Promise<PlatformAnswer> {
  const { plugin, settings } = configured;
  try {
    const channel = plugin.create(idleScope(plugin, settings, fetch, () => systemClock.now()));
    const [misfit] = channelProblems(plugin, channel);
    if (misfit) return failed(misfit.problem, `Right: ${misfit.right}.`);
    if (!channel[question])
      return {
        outcome: 'skipped',
        detail: 'there is nothing to ask: the channel has no check of its platform',
      };
    try {
      const found = read(await withinTime(channel[question]()));
      const place = environment === 'production' ? null : standInPlace(configured);
      if (found.outcome !== 'failed' || place === null || isAnswered()) return found;
      const detail = `its platform is simulated at ${place}, which answers only while \`agentd simulate\` runs`;
      return { outcome: 'skipped', detail };
    } finally {
      await channel.stop?.();
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return failed(
      `it could not be asked: ${why}`,
      'This is a defect of the channel; report it to whoever maintains it.',
    );
  }
}

/** The address of this machine that a setting names instead of the platform's; null: none does. */
function standInPlace({ plugin, settings }: ConfiguredChannel): string | null {
  const urls = plugin.settings.flatMap(({ name, kind }) => (kind === 'url' ? [String(settings[name])] : []));
  const place = urls.map((url) => URL.parse(url)).find((url) => url !== null && isStandInAddress(url));
  return plugin.simulator && place ? place.origin : null;
}

/** The answer of a channel may have any shape, so it is looked at before it is used. */
function read(found: ChannelCheck): ChannelCheck {
  const { outcome, detail, advice } = (found ?? {}) as {
    outcome: unknown;
    detail: unknown;
    advice?: unknown;
  };
  const words = typeof detail === 'string' ? detail : 'it said nothing';
  if (outcome === 'ok') return { outcome, detail: words };
  const more = typeof advice === 'string' ? advice : 'See the documentation of the channel.';
  return { outcome: outcome === 'warning' ? outcome : 'failed', detail: words, advice: more };
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

function failed(detail: string, advice: string): ChannelCheck {
  return { outcome: 'failed', detail, advice };
}
