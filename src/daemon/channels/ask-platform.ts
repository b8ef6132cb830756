import {
  type ChannelCheck,
  type ChannelPlugin,
  type ChannelScope,
  type ChannelSettings,
  fillIn,
  type PushScope,
  type StreamScope,
} from '../../channel/index.ts';
import { readMessage, readToken } from '../../channel/read-message.ts';
import { AgentdError } from '../errors.ts';
import { DeliveryFailed } from '../inbox/outcome.ts';
import { systemClock } from '../time/clock.ts';
import { within } from '../time/time-limit.ts';
import { channelProblems } from './create-channels.ts';
import type { ConfiguredChannel } from './load.ts';
import { isStandInAddress } from './simulator.ts';

/**
 * The platform's answer about a channel's credentials. `skipped`: the platform was not asked, or it does not
 * have to be reachable.
 */
export type PlatformAnswer = ChannelCheck | { outcome: 'skipped'; detail: string };

export interface AskOptions {
  /** The `fetch` that the channel uses to call its platform. */
  fetch: typeof fetch;
  /** Whether any call of `fetch` was answered. */
  isAnswered(): boolean;
  /** `NODE_ENV`. Except in production, a simulated platform does not have to be reachable. */
  environment: string;
}

/** How long a channel may take to query its platform, ms. It may make several calls, each with its own timeout. */
const CHECK_MS = 30_000;

/** Asks the platform of a channel whether it accepts the channel's credentials. */
export function askPlatform(configured: ConfiguredChannel, options: AskOptions): Promise<PlatformAnswer> {
  return ask(configured, 'check', options);
}

/** Asks the platform of a channel whether it delivers messages to the channel. */
export function askRegistration(configured: ConfiguredChannel, options: AskOptions): Promise<PlatformAnswer> {
  return ask(configured, 'checkRegistration', options);
}

/**
 * Asks through an instance of the channel that is created for this purpose and not started. Never rejects: an error
 * that the channel throws becomes an outcome.
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
        detail: 'nothing was checked: the channel has no check of its platform',
      };
    try {
      const late = () => {
        throw new Error(`it took more than ${CHECK_MS / 1000} seconds`);
      };
      const found = read(await within(channel[question](), CHECK_MS, late));
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
      `it could not be queried: ${why}`,
      'This is a defect of the channel; report it to its maintainer.',
    );
  }
}

/**
 * The address on this machine that a setting of the channel names instead of the platform's address. Null if no setting
 * names one, or if the channel has no simulator.
 */
function standInPlace({ plugin, settings }: ConfiguredChannel): string | null {
  const urls = plugin.settings.flatMap(({ name, kind }) => (kind === 'url' ? [String(settings[name])] : []));
  const place = urls.map((url) => URL.parse(url)).find((url) => url !== null && isStandInAddress(url));
  return plugin.simulator && place ? place.origin : null;
}

/** The answer of a channel may have any shape, so it is checked before it is used. */
function read(found: ChannelCheck): ChannelCheck {
  const { outcome, detail, advice } = (found ?? {}) as {
    outcome: unknown;
    detail: unknown;
    advice?: unknown;
  };
  const words = typeof detail === 'string' ? detail : 'it gave no reason';
  if (outcome === 'ok') return { outcome, detail: words };
  const more = typeof advice === 'string' ? advice : 'See the documentation of the channel.';
  return { outcome: outcome === 'warning' ? outcome : 'failed', detail: words, advice: more };
}

function failed(detail: string, advice: string): ChannelCheck {
  return { outcome: 'failed', detail, advice };
}

/**
 * The scope of a channel that is created only to be checked (`Channel.check`), without a daemon. The channel can call
 * its platform, but it can neither receive nor send messages. Nothing is logged: the caller reports the result.
 */
export function idleScope(
  { name }: ChannelPlugin,
  settings: ChannelSettings,
  call: typeof fetch,
  now: () => number,
): PushScope & StreamScope {
  const refuse = () => Promise.reject(new Error(`the channel ${name} is only being checked`));
  const problem: ChannelScope['problem'] = (code, detail, errors) =>
    new AgentdError(code, detail, errors ? { errors } : {});
  const silent = () => {};
  return {
    settings,
    sign_in_url: null,
    simulated: false,
    log: { debug: silent, info: silent, warn: silent, error: silent },
    fetch: call,
    now,
    // biome-ignore lint/correctness/useYield: it refuses before there is anything to yield
    async *converse() {
      await refuse();
    },
    readMessage: (request, sources) => readMessage(name, request, sources, problem),
    readToken,
    streams: { start: refuse, open: refuse, stop: refuse },
    enqueue: refuse,
    press: refuse,
    edit: refuse,
    forget: refuse,
    notify: refuse,
    say: (text, values = {}) => fillIn(text.default, values),
    translations: () => ({ languages: {}, default_locale: 'en' }),
    sendParts: refuse,
    rate: refuse,
    links: { link: refuse, takeCode: refuse, unlink: refuse, unlinkPerson: refuse },
    tokens: { validate: refuse },
    problem,
    deliveryFailed: (reason, options) => new DeliveryFailed(reason, options),
  };
}
