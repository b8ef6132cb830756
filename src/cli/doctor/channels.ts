import type { ConfiguredChannel } from '../../daemon/configuration/configure.ts';
import { askPlatform } from '../../daemon/plugin/ask-platform.ts';
import type { Finding } from './finding.ts';
import type { ProbeClient } from './probe-client.ts';

/**
 * Does the platform of a channel accept its credentials?
 * @param environment `NODE_ENV`
 */
export async function checkChannel(
  configured: ConfiguredChannel,
  client: ProbeClient,
  environment: string,
): Promise<Finding> {
  const { name } = configured.plugin;
  const platform = `the platform of ${name}`;
  const answer = await askPlatform(configured, {
    fetch: client.fetchFor(platform),
    isAnswered: () => client.answered.has(platform),
    environment,
  });
  return { check: `channel ${name}`, ...answer };
}
