import type { ConfiguredChannel } from '../../daemon/configuration/configure.ts';
import { askPlatform } from '../../daemon/plugin/ask-platform.ts';
import type { Asking } from './ask.ts';
import type { Finding } from './finding.ts';

/**
 * Does the platform of a channel take its credentials?
 * @param environment `NODE_ENV`
 */
export async function checkChannel(
  configured: ConfiguredChannel,
  asking: Asking,
  environment: string,
): Promise<Finding> {
  const { name } = configured.plugin;
  const platform = `the platform of ${name}`;
  const answer = await askPlatform(configured, {
    fetch: asking.fetchFor(platform),
    isAnswered: () => asking.answered.has(platform),
    environment,
  });
  return { check: `channel ${name}`, ...answer };
}
