import { providerWords } from '../agent/llm/model-failure.ts';
import { runtimeName } from '../agent/load.ts';
import { type ModelServer, modelServers } from '../agent/model-servers.ts';
import { type AskOptions, askPlatform, askRegistration } from '../channels/ask-platform.ts';
import { isSampleApi } from '../dev/sample.ts';
import { keySetUrl } from '../identity/keys.ts';
import { UNSEALED } from '../settings/configure/cross-checks.ts';
import { SEALING_OFF, weakSecrets } from '../settings/configure/token-settings.ts';
import type { Settings } from '../settings/settings.ts';
import { systemClock } from '../time/clock.ts';
import { createDownstream, DownstreamFailure } from '../tools/downstream/client.ts';
import { createDefaultToken } from '../tools/downstream/default-token.ts';
import { TokenFailure } from '../tools/downstream/token-cache.ts';

/** What `agentd doctor` asks about the settings, and asks of the machines that they name. Only it loads this module. */
export type { AskOptions, ModelServer };
export {
  askPlatform,
  askRegistration,
  isSampleApi,
  modelServers,
  providerWords,
  runtimeName,
  SEALING_OFF,
  UNSEALED,
  weakSecrets,
};

/**
 * Asks the business API for a token with the default credentials.
 * @returns null if it issued one; otherwise why not: the reason of the failed call, which says more than the missing
 *   token, and the error in words
 */
export async function askDefaultToken(
  { API_TIMEOUT_SECONDS }: Settings,
  baseUrl: string,
  account: { email: string; password: NonNullable<Settings['API_PASSWORD']> },
): Promise<{ reason: string; message: string } | null> {
  const downstream = createDownstream({ baseUrl, timeoutMs: API_TIMEOUT_SECONDS * 1000 });
  try {
    await createDefaultToken({ downstream, ...account, clock: systemClock }).get();
    return null;
  } catch (error) {
    if (!(error instanceof TokenFailure)) throw error;
    const { cause, message } = error;
    return { reason: cause instanceof DownstreamFailure ? cause.reason : error.reason, message };
  }
}

/**
 * Asks for the key set of the settings.
 * @returns how many of its keys can check a signature; null if the settings use no key set
 * @throws Error that says why the set cannot be fetched or read
 */
export async function askKeySet(settings: Settings, send: typeof fetch): Promise<number | null> {
  const url = keySetUrl(settings);
  if (!url) return null;
  const { countKeys } = await import('../identity/jose.ts');
  return countKeys(url, send);
}
