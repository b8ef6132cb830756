import { type AskOptions, askPlatform, askRegistration } from '../../daemon/admin/probes.ts';
import type { ConfiguredChannel, Inspection, Settings } from '../../daemon/admin/settings.ts';
import { checkBusinessApi } from './business-api.ts';
import { checkSecrets } from './configuration.ts';
import type { Finding } from './finding.ts';
import { checkModel } from './model.ts';
import { checkClock, ProbeClient } from './probe-client.ts';
import { checkSealing } from './sealing.ts';
import { checkStateDirectory } from './state-directory.ts';
import { checkMemory, checkStore } from './store.ts';
import { checkTools } from './tools.ts';

/** All checks of a valid configuration, in the order in which they are shown. */
export async function checkAll(
  settings: Settings,
  { channels, environment, tools }: Pick<Inspection, 'channels' | 'environment' | 'tools'>,
): Promise<Finding[]> {
  // The local checks run first: reading the whole store blocks this process, and would make other machines seem slow.
  const local = [
    checkSecrets(settings),
    ...(await checkStateDirectory(settings.STATE_DIR)),
    ...(await checkStore(settings)),
    ...(await checkSealing(settings)),
  ];
  const client = new ProbeClient();
  const remote = await Promise.all([
    checkBusinessApi(settings, client),
    checkMemory(settings),
    checkTools({ settings, tools }, client),
    checkModel(settings, client),
    ...channels.map((channel) => checkChannel(channel, client, environment)),
  ]);
  return [...local, ...remote.flat(), ...checkClock(client.readings)];
}

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
