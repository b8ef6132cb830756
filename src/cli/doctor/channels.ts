import { type AskOptions, askPlatform, askRegistration } from '../../daemon/admin/probes.ts';
import type { ConfiguredChannel } from '../../daemon/admin/settings.ts';
import type { Finding } from './finding.ts';
import type { ProbeClient } from './probe-client.ts';

/**
 * Checks whether the platform of a channel accepts the channel's credentials, and whether it delivers to the daemon.
 * @param environment `NODE_ENV`
 */
export async function checkChannel(
  configured: ConfiguredChannel,
  client: ProbeClient,
  environment: string,
): Promise<Finding[]> {
  const { name } = configured.plugin;
  const platform = `the platform of ${name}`;
  const options: AskOptions = {
    fetch: client.fetchFor(platform),
    isAnswered: () => client.answered.has(platform),
    environment,
  };
  const credentials = { check: `channel ${name}`, ...(await askPlatform(configured, options)) };
  // If the platform does not accept the credentials, it answers no other question. A channel without a platform has no
  // registration.
  if (credentials.outcome === 'failed' || credentials.outcome === 'skipped') return [credentials];
  const registration = await askRegistration(configured, options);
  if (registration.outcome === 'skipped') return [credentials];
  return [credentials, { check: `registration ${name}`, ...registration }];
}
